//! Gemini's candidates: a call comes whole, and may be signed.
use machine_core::usage::Usage;
use serde_json::Value;

use super::{Seen, Untold, string};

impl Seen {
    pub(super) fn read_candidate(&mut self, frame: &Value) {
        let parts = frame.pointer("/candidates/0/content/parts").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            if let Some(call) = part.get("functionCall") {
                self.add_whole(call.get("id"), call.get("name"), call.get("args"));
                self.signed_calls.extend(string(part.get("thoughtSignature")));
            }
            let of = |name: &str| string(part.get("inlineData")?.get(name));
            self.untold.extend(of("mimeType").zip(of("data")).map(|(kind, data)| Untold::Media(kind, data)));
        }
        let count = |name: &str| frame.get("usageMetadata")?.get(name)?.as_u64();
        if let Some(input) = count("promptTokenCount") {
            let output = count("candidatesTokenCount")
                .unwrap_or(0)
                .saturating_add(count("thoughtsTokenCount").unwrap_or(0));
            let cached = count("cachedContentTokenCount").unwrap_or(0);
            self.usage = Some(Usage { input, output, cached });
        }
    }
}
