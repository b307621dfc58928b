//! Gemini's candidates: a call comes whole, and each part may be signed.
use machine_core::usage::Usage;
use serde_json::Value;

use super::{Said, Seen, words};

pub(super) fn read(seen: &mut Seen, frame: &Value) {
    seen.name(frame.get("responseId"));
    let parts = frame.pointer("/candidates/0/content/parts").and_then(Value::as_array);
    parts.into_iter().flatten().for_each(|part| seen.read_gemini_part(part));
    if let Some(blocked) = words(frame.pointer("/promptFeedback/blockReason")) {
        // Nothing else comes then.
        (seen.withheld, seen.has_end) = (Some(blocked), true);
    }
    if let Some(stop) = words(frame.pointer("/candidates/0/finishReason")) {
        (seen.stop, seen.has_end) = (Some(stop), true);
    }
    let count = |name: &str| frame.get("usageMetadata")?.get(name)?.as_u64();
    if let Some(input) = count("promptTokenCount") {
        let output = count("candidatesTokenCount")
            .unwrap_or(0)
            .saturating_add(count("thoughtsTokenCount").unwrap_or(0));
        let cached = count("cachedContentTokenCount").unwrap_or(0);
        seen.usage = Some(Usage { input, output, cached });
    }
}

impl Seen {
    /// A signature goes back with the part that comes next.
    fn read_gemini_part(&mut self, part: &Value) {
        self.sign(words(part.get("thoughtSignature")));
        if let Some(call) = part.get("functionCall") {
            self.call_whole(call.get("id"), call.get("name"), call.get("args"));
        }
        let text = words(part.get("text"));
        match part.get("thought") {
            Some(Value::Bool(true)) => self.think(text),
            _ => self.say(text),
        }
        let of = |name: &str| words(part.get("inlineData")?.get(name));
        self.said.extend(of("mimeType").zip(of("data")).map(|(kind, data)| Said::Media(kind, data)));
        let mut names = part.as_object().into_iter().flat_map(|part| part.keys());
        let is_known = ["text", "functionCall", "inlineData"].iter().any(|name| part.get(name).is_some());
        if let Some(name) = names.find(|name| !is_known && !name.starts_with("thought")) {
            self.lose_always(format!("a part of the type `{name}`"));
        }
    }
}
