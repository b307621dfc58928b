//! Anthropic's messages: blocks with a position each.
use machine_core::usage::Usage;
use serde_json::{Value, json};

use super::{Seen, more, number, whole, words};
use crate::content::redacted;

/// The block at hand.
#[derive(Clone, Debug, Default)]
pub struct Block {
    index: Option<u32>,
    /// Its signature comes in pieces, and stands behind its text.
    proof: String,
    /// Tokens of the input that were written to a cache, where they are told apart.
    written: u64,
}

impl Seen {
    pub(super) fn read_messages(&mut self, kind: &str, frame: &Value) {
        let index = number(frame.get("index"));
        match (kind, index) {
            ("content_block_start", Some(index)) => {
                self.end_block();
                self.block.index = Some(index);
                self.read_block(index, frame.get("content_block").unwrap_or(&Value::Null));
            }
            ("content_block_delta", Some(index)) => {
                if self.block.index != Some(index) {
                    self.lose("the block of a piece: blocks are mixed");
                }
                self.read_delta(index, frame.get("delta").unwrap_or(&Value::Null));
            }
            ("message_start", _) => self.add_usage(frame.pointer("/message/usage")),
            ("message_delta", _) => {
                self.stop = words(frame.pointer("/delta/stop_reason")).or(self.stop.take());
                self.add_usage(frame.get("usage"));
            }
            ("message_stop", _) => {
                self.end_block();
                self.has_end = true;
            }
            _ => {}
        }
    }

    /// A block may have all of it in its head.
    fn read_block(&mut self, index: u32, block: &Value) {
        let of = |name: &str| words(block.get(name));
        match block.get("type").and_then(Value::as_str) {
            Some("text") => self.say(of("text")),
            Some("thinking") => {
                self.think(of("thinking"));
                self.block.proof = of("signature").unwrap_or_default();
            }
            Some("redacted_thinking") => self.prove(of("data").map(|data| redacted(&data))),
            Some("tool_use") => {
                // It is empty where pieces follow.
                let input = block.get("input").filter(|input| **input != json!({}));
                self.call(index, of("id"), of("name"), whole(input));
            }
            other => self.lose(format!("a block of the type `{}`", other.unwrap_or_default())),
        }
    }

    fn read_delta(&mut self, index: u32, delta: &Value) {
        let of = |name: &str| words(delta.get(name));
        match delta.get("type").and_then(Value::as_str) {
            Some("text_delta") => self.say(of("text")),
            Some("thinking_delta") => self.think(of("thinking")),
            Some("signature_delta") => self.block.proof.extend(of("signature")),
            Some("input_json_delta") => self.call(index, None, None, more(delta.get("partial_json"))),
            other => self.lose(format!("a piece of the type `{}`", other.unwrap_or_default())),
        }
    }

    fn end_block(&mut self) {
        let proof = std::mem::take(&mut self.block.proof);
        self.prove(Some(proof).filter(|proof| !proof.is_empty()));
    }

    fn add_usage(&mut self, usage: Option<&Value>) {
        let count = |name: &str| usage?.get(name)?.as_u64();
        let known = self.usage.unwrap_or_default();
        let cached = count("cache_read_input_tokens").unwrap_or(known.cached);
        self.block.written = count("cache_creation_input_tokens").unwrap_or(self.block.written);
        let all = |input: u64| input.saturating_add(cached).saturating_add(self.block.written);
        let input = count("input_tokens").map(all);
        if input.is_some() || count("output_tokens").is_some() {
            let output = count("output_tokens").unwrap_or(known.output);
            self.usage = Some(Usage { input: input.unwrap_or(known.input), output, cached });
        }
    }
}
