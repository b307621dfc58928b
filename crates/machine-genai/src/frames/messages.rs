//! Anthropic's messages: blocks with a position each.
use machine_core::usage::Usage;
use serde_json::{Value, json};

use super::{Piece, Seen, Untold, more, number, string, whole};
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
                        // It is empty where pieces follow.
                        let input =
                            frame.pointer("/content_block/input").filter(|input| **input != json!({}));
                        self.pieces.push_back(Piece { index, id, tool, args: whole(input) });
                    }
                    Some("text") => {
                        let text = string(frame.pointer("/content_block/text"));
                        self.untold.extend(text.filter(|text| !text.is_empty()).map(Untold::Text));
                    }
                    // What it begins with the library tells.
                    Some("thinking") => {}
                    Some("redacted_thinking") => {
                        let data = string(frame.pointer("/content_block/data"));
                        self.prove(data.map(|data| redacted(&data)));
                    }
                    other => self.lose(format!("a block of the type `{}`", other.unwrap_or_default())),
                }
            }
            ("content_block_delta", Some(index)) => {
                if self.block != Some(index) {
                    self.lose("the block of a piece: blocks are mixed");
                }
                match of("/delta/type") {
                    Some("input_json_delta") => {
                        let args = more(frame.pointer("/delta/partial_json"));
                        self.pieces.push_back(Piece { index, id: None, tool: None, args });
                    }
                    Some("text_delta" | "thinking_delta" | "signature_delta") => {}
                    other => self.lose(format!("a piece of the type `{}`", other.unwrap_or_default())),
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
