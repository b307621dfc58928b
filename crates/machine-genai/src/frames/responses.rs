//! OpenAI's responses. The head of a call has its id; its pieces have its position alone. Much is said more than once: in pieces, with
//! the end of an item, and with the end of all.
use machine_core::usage::Usage;
use serde_json::Value;

use super::{Seen, more, number, whole, words};

impl Seen {
    pub(super) fn read_responses(&mut self, kind: &str, frame: &Value) {
        // Some servers leave it out where there is one item.
        let index = frame.get("output_index").map_or(Some(0), |index| number(Some(index)));
        let item = frame.get("item").unwrap_or(&Value::Null);
        match (kind, index) {
            ("response.output_text.delta", _) => {
                (self.has_text, self.in_pieces) = (true, true);
                self.say(words(frame.get("delta")));
            }
            ("response.reasoning_text.delta" | "response.reasoning_summary_text.delta", _) => {
                self.think(words(frame.get("delta")));
            }
            ("response.refusal.delta", _) => self.withheld = Some("refusal".to_owned()),
            ("response.output_item.added", Some(index)) => self.read_head(index, item),
            ("response.output_item.done", Some(index)) => self.read_item(index, item),
            ("response.function_call_arguments.delta" | "response.custom_tool_call_input.delta", index) => {
                match index {
                    Some(index) => self.call(index, None, None, more(frame.get("delta"))),
                    None => self.lose("a piece of a call without its position"),
                }
            }
            ("response.function_call_arguments.done", Some(index)) => {
                self.call(index, None, None, whole(frame.get("arguments")));
            }
            ("response.completed" | "response.incomplete" | "response.failed", _) => {
                self.read_end(frame.get("response").unwrap_or(&Value::Null));
                self.has_end = true;
                let status = words(frame.pointer("/response/status"));
                self.stop = status.or_else(|| kind.split_once('.').map(|(_, word)| word.to_owned()));
            }
            _ => {}
        }
    }

    /// In the head of a call stands nothing of its arguments yet.
    fn read_head(&mut self, index: u32, item: &Value) {
        if is_call(item) {
            let id = words(item.get("call_id"));
            self.heads.insert(index, id.clone());
            self.call(index, id, words(item.get("name")), more(None));
        }
    }

    /// A whole item: what it says for the first time counts, and what it says again must be the same.
    fn read_item(&mut self, index: u32, item: &Value) {
        match item.get("type").and_then(Value::as_str) {
            Some("reasoning") => {
                let proof = words(item.get("encrypted_content"));
                self.has_proofs |= proof.is_some();
                self.prove(proof);
            }
            Some("message") if !self.in_pieces => {
                let parts = item.get("content").and_then(Value::as_array);
                let texts: Vec<_> =
                    parts.into_iter().flatten().filter_map(|part| words(part.get("text"))).collect();
                self.has_text |= !texts.is_empty();
                texts.into_iter().for_each(|text| self.say(Some(text)));
            }
            _ if is_call(item) => {
                let (id, tool) = (words(item.get("call_id")), words(item.get("name")));
                self.heads.insert(index, id.clone());
                self.call(index, id, tool, whole(item.get("arguments").or_else(|| item.get("input"))));
            }
            _ => {}
        }
    }

    /// All items again. Some servers list here alone what others told before.
    fn read_end(&mut self, response: &Value) {
        let (has_text, has_proofs, mut heads) = (self.has_text, self.has_proofs, self.heads.clone());
        let items = response.get("output").and_then(Value::as_array);
        for (position, item) in (0..).zip(items.into_iter().flatten()) {
            match item.get("type").and_then(Value::as_str) {
                Some("reasoning") if has_proofs => {}
                Some("message") if has_text => {}
                _ if is_call(item) => {
                    let id = words(item.get("call_id"));
                    // At its position, else one that was told at another position.
                    let told = heads.iter().find(|(_, head)| **head == id).map(|(index, _)| *index);
                    let told = Some(position).filter(|at| heads.get(at) == Some(&id)).or(told);
                    let behind = self.heads.keys().next_back().map_or(0, |last| last.saturating_add(1));
                    self.read_item(told.unwrap_or(behind), item);
                    heads.retain(|index, _| Some(*index) != told);
                }
                _ => self.read_item(position, item),
            }
        }
        let count = |path: &str| response.pointer(path).and_then(Value::as_u64);
        let (input, output) = (count("/usage/input_tokens"), count("/usage/output_tokens"));
        if input.is_some() || output.is_some() {
            let cached = count("/usage/input_tokens_details/cached_tokens").unwrap_or(0);
            self.usage = Some(Usage { input: input.unwrap_or(0), output: output.unwrap_or(0), cached });
        }
    }
}

fn is_call(item: &Value) -> bool {
    matches!(item.get("type").and_then(Value::as_str), Some("function_call" | "custom_tool_call"))
}
