//! Anthropic's messages: blocks with a position each.
use machine_core::usage::Usage;
use serde_json::{Value, json};

use super::{Seen, more, number, whole, words};
use crate::content::redacted;

/// What one frame says of another.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The block at hand.
    block: Option<u32>,
    /// Its signature, which comes in pieces and stands behind its text.
    signature: String,
    /// Tokens of the input that were written to a cache, where they are told apart.
    written: u64,
}

impl Reading {
    pub(super) fn read(&mut self, seen: &mut Seen, frame: &Value) {
        let part = |name: &str| frame.get(name).unwrap_or(&Value::Null);
        match (part("type").as_str().unwrap_or_default(), number(frame.get("index"))) {
            ("content_block_start", Some(index)) => {
                self.end_block(seen);
                self.block = Some(index);
                self.read_block(seen, index, part("content_block"));
            }
            ("content_block_delta", Some(index)) => {
                if self.block != Some(index) {
                    seen.lose_always("the block of a piece: blocks are mixed");
                }
                self.read_delta(seen, index, part("delta"));
            }
            ("content_block_start" | "content_block_delta", None) => {
                seen.lose_always("a block without its position");
            }
            ("message_start", _) => {
                seen.name(frame.pointer("/message/id"));
                self.add_usage(seen, frame.pointer("/message/usage"));
            }
            ("message_delta", _) => {
                seen.stop = words(frame.pointer("/delta/stop_reason")).or(seen.stop.take());
                self.add_usage(seen, frame.get("usage"));
            }
            ("message_stop", _) => {
                self.end_block(seen);
                seen.has_end = true;
            }
            _ => {}
        }
    }

    /// A block may have all of it in its head.
    fn read_block(&mut self, seen: &mut Seen, index: u32, block: &Value) {
        let of = |name: &str| words(block.get(name));
        match block.get("type").and_then(Value::as_str) {
            Some("text") => seen.say(of("text")),
            Some("thinking") => {
                seen.think(of("thinking"));
                self.signature = of("signature").unwrap_or_default();
            }
            Some("redacted_thinking") => seen.sign(of("data").map(|data| redacted(&data))),
            Some("tool_use") => {
                // It is empty where pieces follow.
                let input = block.get("input").filter(|input| **input != json!({}));
                seen.call(index, of("id"), of("name"), whole(input));
            }
            other => seen.lose_always(format!("a block of the type `{}`", other.unwrap_or_default())),
        }
    }

    fn read_delta(&mut self, seen: &mut Seen, index: u32, delta: &Value) {
        let of = |name: &str| words(delta.get(name));
        match delta.get("type").and_then(Value::as_str) {
            Some("text_delta") => seen.say(of("text")),
            Some("thinking_delta") => seen.think(of("thinking")),
            Some("signature_delta") => self.signature.extend(of("signature")),
            Some("input_json_delta") => seen.call(index, None, None, more(delta.get("partial_json"))),
            other => seen.lose_always(format!("a piece of the type `{}`", other.unwrap_or_default())),
        }
    }

    fn end_block(&mut self, seen: &mut Seen) {
        let signature = std::mem::take(&mut self.signature);
        seen.sign(Some(signature).filter(|signature| !signature.is_empty()));
    }

    fn add_usage(&mut self, seen: &mut Seen, usage: Option<&Value>) {
        let count = |name: &str| usage?.get(name)?.as_u64();
        let known = seen.usage.unwrap_or_default();
        let cached = count("cache_read_input_tokens").unwrap_or(known.cached);
        self.written = count("cache_creation_input_tokens").unwrap_or(self.written);
        let all = |input: u64| input.saturating_add(cached).saturating_add(self.written);
        let input = count("input_tokens").map(all);
        if input.is_some() || count("output_tokens").is_some() {
            let output = count("output_tokens").unwrap_or(known.output);
            seen.usage = Some(Usage { input: input.unwrap_or(known.input), output, cached });
        }
    }
}
