//! OpenAI's chat completions, and all that speak like them. Each entry of a call has its position; the library makes up an
//! id where there is none, and leaves out an entry without a position.
use serde_json::Value;

use super::{Args, Piece, Seen, more, number, string, whole};

impl Seen {
    pub(super) fn read_chat(&mut self, frame: &Value) {
        let delta = frame.pointer("/choices/0/delta");
        let refusal = delta.and_then(|delta| delta.get("refusal")).and_then(Value::as_str);
        if refusal.is_some_and(|text| !text.is_empty()) {
            self.withheld = Some("refusal".to_owned());
        }
        let entries = delta.and_then(|delta| delta.get("tool_calls")).and_then(Value::as_array);
        for entry in entries.into_iter().flatten() {
            match number(entry.get("index")).filter(|_| entry.get("function").is_some()) {
                Some(index) => self.pieces.push_back(Piece {
                    index,
                    id: string(entry.get("id")),
                    tool: string(entry.pointer("/function/name")),
                    args: args(entry.pointer("/function/arguments")),
                }),
                None => self.lose("a piece of a call without its position"),
            }
        }
    }
}

/// A text is a piece. Some servers give an object, which is all of them.
fn args(value: Option<&Value>) -> Args {
    match value {
        None | Some(Value::Null | Value::String(_)) => more(value),
        Some(_) => whole(value),
    }
}
