//! OpenAI's responses. The head of a call has its id; its pieces have its position alone. The library tells the pieces, and
//! the rest with the end, so that a call without pieces would stand behind those that came after it (B04).
use serde_json::Value;

use super::{Piece, Seen, Untold, more, number, string, whole};

impl Seen {
    pub(super) fn read_responses(&mut self, kind: &str, frame: &Value) {
        self.has_late_proofs = true;
        // As the library takes it where it is left out.
        let index = frame.get("output_index").map_or(Some(0), |index| number(Some(index)));
        match (kind, index) {
            ("response.completed" | "response.incomplete", _) => {
                self.has_end = true;
                let items = frame.pointer("/response/output").and_then(Value::as_array);
                let items = items.filter(|_| self.heads.is_empty());
                for (index, item) in (0..).zip(items.into_iter().flatten()) {
                    self.read_item(index, item, true);
                }
            }
            ("response.output_item.added", Some(index)) => {
                self.read_item(index, frame.get("item").unwrap_or(&Value::Null), false);
            }
            ("response.output_item.done", Some(index)) => {
                self.read_item(index, frame.get("item").unwrap_or(&Value::Null), true);
                self.prove(string(frame.pointer("/item/encrypted_content")));
            }
            ("response.function_call_arguments.delta" | "response.custom_tool_call_input.delta", index) => {
                match index.filter(|index| self.heads.contains(index)) {
                    Some(index) => {
                        let args = more(frame.get("delta"));
                        self.pieces.push_back(Piece { index, id: None, tool: None, args });
                    }
                    None => self.lose("a piece of a call before its head"),
                }
            }
            ("response.refusal.delta", _) => self.withheld = Some("refusal".to_owned()),
            _ => {}
        }
    }

    /// An item that may be a call. In its head stands nothing of the arguments yet.
    fn read_item(&mut self, index: u32, item: &Value, is_whole: bool) {
        let name = match item.get("type").and_then(Value::as_str) {
            Some("function_call") => "arguments",
            Some("custom_tool_call") => "input",
            _ => return,
        };
        let args = if is_whole { whole(item.get(name)) } else { more(None) };
        self.heads.insert(index);
        let (id, tool) = (string(item.get("call_id")), string(item.get("name")));
        self.untold.push_back(Untold::Piece(Piece { index, id, tool, args }));
    }
}
