//! OpenAI's responses. The head of a call has its id; its pieces have its position alone. Much is said more than once: in pieces, with
//! the end of an item, and with the end of all. What is said for the first time counts.
use std::collections::{BTreeMap, BTreeSet};

use machine_core::usage::Usage;
use serde_json::Value;

use super::{Said, Seen, more, number, whole, words};

/// What one frame says of another.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The calls whose head came: the id of each.
    heads: BTreeMap<u32, Option<String>>,
    /// What was told of the other items, by their position.
    told: BTreeMap<(Part, u32), String>,
    /// The items whose image was told.
    images: BTreeSet<u32>,
}

/// A part of an item that may come in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Text,
    Thinking,
    Signature,
}

impl Reading {
    pub(super) fn read(&mut self, seen: &mut Seen, frame: &Value) {
        let part = |name: &str| frame.get(name).unwrap_or(&Value::Null);
        let kind = part("type").as_str().unwrap_or_default();
        // Some servers leave it out where there is one item.
        let index = frame.get("output_index").map_or(Some(0), |index| number(Some(index)));
        let Some(index) = index else {
            let is_piece = kind.ends_with(".delta") && kind.contains("_call");
            let what = if is_piece { "a piece of a call" } else { "an item" };
            return seen.lose_always(format!("{what} without its position"));
        };
        match kind {
            "response.output_text.delta" => self.tell(seen, Part::Text, index, words(frame.get("delta"))),
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                self.tell(seen, Part::Thinking, index, words(frame.get("delta")));
            }
            "response.refusal.delta" => seen.withheld = Some("refusal".to_owned()),
            "response.output_item.added" => self.read_head(seen, index, part("item")),
            "response.output_item.done" => self.read_item(seen, index, part("item")),
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                seen.call(index, None, None, more(frame.get("delta")));
            }
            "response.function_call_arguments.done" => {
                seen.call(index, None, None, whole(frame.get("arguments")));
            }
            "response.completed" | "response.incomplete" => self.read_end(seen, kind, part("response")),
            "response.failed" => {
                let response = part("response");
                seen.fail(Some(response));
                self.read_end(seen, kind, response);
            }
            _ => seen.name(frame.pointer("/response/id")),
        }
    }

    /// In the head of a call stands nothing of its arguments yet.
    fn read_head(&mut self, seen: &mut Seen, index: u32, item: &Value) {
        if is_call(item) {
            let id = words(item.get("call_id"));
            self.heads.insert(index, id.clone());
            seen.call(index, id, words(item.get("name")), more(None));
        }
    }

    /// A whole item. Those of the provider's own tools are no part of the answer, but for what they made.
    fn read_item(&mut self, seen: &mut Seen, index: u32, item: &Value) {
        match item.get("type").and_then(Value::as_str) {
            Some("reasoning") => {
                let texts = ["summary", "content"].iter().map(|name| texts(item.get(name)));
                self.tell_whole(seen, Part::Thinking, index, texts.collect());
                let signature = words(item.get("encrypted_content")).unwrap_or_default();
                self.tell_whole(seen, Part::Signature, index, signature);
            }
            Some("message") => {
                let parts = item.get("content").and_then(Value::as_array);
                if parts.is_some_and(|parts| parts.iter().any(|part| part["type"] == "refusal")) {
                    seen.withheld = Some("refusal".to_owned());
                }
                self.tell_whole(seen, Part::Text, index, texts(item.get("content")));
            }
            Some("image_generation_call") => {
                let made = words(item.get("result")).filter(|_| self.images.insert(index));
                let format = words(item.get("output_format")).unwrap_or_else(|| "png".to_owned());
                seen.said.extend(made.map(|data| Said::Media(format!("image/{format}"), data)));
            }
            _ if is_call(item) => {
                let (id, tool) = (words(item.get("call_id")), words(item.get("name")));
                self.heads.insert(index, id.clone());
                seen.call(index, id, tool, whole(item.get("arguments").or_else(|| item.get("input"))));
            }
            _ => {}
        }
    }

    /// All items again. Some servers list here alone what others told before.
    fn read_end(&mut self, seen: &mut Seen, kind: &str, response: &Value) {
        seen.name(response.get("id"));
        let mut heads = self.heads.clone();
        let items = response.get("output").and_then(Value::as_array);
        for (position, item) in (0..).zip(items.into_iter().flatten()) {
            if !is_call(item) {
                self.read_item(seen, position, item);
                continue;
            }
            let id = words(item.get("call_id"));
            let told = heads.iter().find(|(_, head)| **head == id).map(|(index, _)| *index);
            let behind = self.heads.keys().next_back().map_or(0, |last| last.saturating_add(1));
            self.read_item(seen, told.unwrap_or(behind), item);
            heads.retain(|index, _| Some(*index) != told);
        }
        let count = |path: &str| response.pointer(path).and_then(Value::as_u64);
        let (input, output) = (count("/usage/input_tokens"), count("/usage/output_tokens"));
        if input.is_some() || output.is_some() {
            let cached = count("/usage/input_tokens_details/cached_tokens").unwrap_or(0);
            seen.usage = Some(Usage { input: input.unwrap_or(0), output: output.unwrap_or(0), cached });
        }
        let why = words(response.pointer("/incomplete_details/reason"));
        seen.withheld = why.or(seen.withheld.take());
        let word = kind.trim_start_matches("response.");
        (seen.stop, seen.has_end) = (words(response.get("status")).or(Some(word.to_owned())), true);
    }

    fn tell(&mut self, seen: &mut Seen, part: Part, index: u32, text: Option<String>) {
        let Some(text) = text else { return };
        self.told.entry((part, index)).or_default().push_str(&text);
        seen.said.push_back(match part {
            Part::Text => Said::Text(text),
            Part::Thinking => Said::Thinking(text),
            Part::Signature => Said::Signature(text),
        });
    }

    /// What was told counts, also where some server counts positions otherwise.
    fn tell_whole(&mut self, seen: &mut Seen, part: Part, index: u32, text: String) {
        let is_told = self.told.contains_key(&(part, index))
            || self.told.iter().any(|((of, _), told)| *of == part && *told == text);
        self.tell(seen, part, index, Some(text).filter(|text| !text.is_empty() && !is_told));
    }
}

/// The texts of a list of parts.
fn texts(parts: Option<&Value>) -> String {
    let parts = parts.and_then(Value::as_array).into_iter().flatten();
    parts.filter_map(|part| words(part.get("text"))).collect()
}

fn is_call(item: &Value) -> bool {
    matches!(item.get("type").and_then(Value::as_str), Some("function_call" | "custom_tool_call"))
}
