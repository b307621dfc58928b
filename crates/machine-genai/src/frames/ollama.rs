//! Ollama's own shape: a call comes whole.
use machine_core::usage::Usage;
use serde_json::Value;

use super::{Seen, words};

impl Seen {
    pub(super) fn read_ollama(&mut self, frame: &Value) {
        let of = |name: &str| frame.get("message")?.get(name);
        self.think(words(of("thinking")).or_else(|| words(of("reasoning_content"))));
        self.say(words(of("content")));
        for call in of("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let of = |path| call.pointer(path);
            self.call_whole(call.get("id"), of("/function/name"), of("/function/arguments"));
        }
        if frame.get("done").and_then(Value::as_bool) == Some(true) {
            self.has_end = true;
            self.stop = words(frame.get("done_reason"));
            let count = |name: &str| frame.get(name).and_then(Value::as_u64);
            let (input, output) = (count("prompt_eval_count"), count("eval_count"));
            let cached = count("prompt_eval_cached_count").unwrap_or(0);
            self.usage = (input.is_some() || output.is_some()).then(|| Usage {
                input: input.unwrap_or(0),
                output: output.unwrap_or(0),
                cached,
            });
        }
    }
}
