//! OpenAI's chat completions, and all that speak like them. Each entry of a call has its position; the library makes up an
//! id where there is none, and leaves out an entry without a position.
use serde_json::Value;

use super::{Args, Piece, Seen, more, number, string, whole};

impl Seen {
    pub(super) fn read_chat(&mut self, frame: &Value) {
        let choice = frame.pointer("/choices/0");
        if choice.and_then(|choice| choice.get("index")?.as_u64()).is_some_and(|index| index > 0) {
            self.lose("a second answer: ask for one");
        }
        let delta = choice.and_then(|choice| choice.get("delta"));
        if delta.and_then(|delta| delta.get("function_call")).is_some_and(|call| !call.is_null()) {
            self.lose("a call in the old shape, `function_call`");
        }
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
