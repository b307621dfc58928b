//! Anthropic's messages: blocks with a position each.
use machine_core::response::Failure;
use machine_core::usage::Usage;
use serde_json::Value;

use super::{Piece, Seen, more, number, string};
use crate::content::redacted;

impl Seen {
    pub(super) fn read_messages(&mut self, kind: &str, frame: &Value) {
        let index = number(frame.get("index"));
        let of = |path: &str| frame.pointer(path).and_then(Value::as_str);
        match (kind, index) {
            ("content_block_start", Some(index)) => {
                self.block = Some(index);
                match of("/content_block/type") {
                    Some("tool_use") => {
                        let of = |path| string(frame.pointer(path));
                        let (id, tool) = (of("/content_block/id"), of("/content_block/name"));
                        self.pieces.push_back(Piece { index, id, tool, args: more(None) });
                        let input = frame.pointer("/content_block/input").and_then(Value::as_object);
                        if input.is_some_and(|input| !input.is_empty()) {
                            self.lost = Some((Failure::Unknown, "arguments in the head of a call"));
                        }
                    }
                    Some("redacted_thinking") => {
                        let data = string(frame.pointer("/content_block/data"));
                        self.prove(data.map(|data| redacted(&data)));
                    }
                    _ => {}
                }
            }
            ("content_block_delta", Some(index)) => {
                if self.block != Some(index) {
                    self.lost = Some((Failure::Unknown, "the block of a piece: blocks are mixed"));
                }
                if of("/delta/type") == Some("input_json_delta") {
                    let args = more(frame.pointer("/delta/partial_json"));
                    self.pieces.push_back(Piece { index, id: None, tool: None, args });
                }
            }
            ("message_start", _) => self.add_usage(frame.pointer("/message/usage")),
            ("message_delta", _) => self.add_usage(frame.get("usage")),
            _ => {}
        }
    }

    fn add_usage(&mut self, usage: Option<&Value>) {
        let count = |name: &str| usage?.get(name)?.as_u64();
        let known = self.usage.unwrap_or_default();
        let cached = count("cache_read_input_tokens").unwrap_or(known.cached);
        self.written = count("cache_creation_input_tokens").unwrap_or(self.written);
        let all = |input: u64| input.saturating_add(cached).saturating_add(self.written);
        let input = count("input_tokens").map(all);
        if input.is_some() || count("output_tokens").is_some() {
            let output = count("output_tokens").unwrap_or(known.output);
            self.usage = Some(Usage { input: input.unwrap_or(known.input), output, cached });
        }
    }
}
