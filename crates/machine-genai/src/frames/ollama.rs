//! Ollama's own shape: a call comes whole.
use serde_json::Value;

use super::Seen;

impl Seen {
    pub(super) fn read_ollama(&mut self, frame: &Value) {
        let calls = frame.pointer("/message/tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            let of = |path| call.pointer(path);
            self.add_whole(call.get("id"), of("/function/name"), of("/function/arguments"));
        }
    }
}
