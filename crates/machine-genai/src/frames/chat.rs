//! OpenAI's chat completions, and all that speak like them. Each entry of a call has its position.
use machine_core::usage::Usage;
use serde_json::Value;

use super::{Args, Seen, more, number, whole, words};

pub(super) fn read(seen: &mut Seen, frame: &Value) {
    seen.name(frame.get("id"));
    if let Some(choice) = frame.pointer("/choices/0") {
        seen.fail(choice.get("error"));
        seen.read_choice(choice);
    }
    let usage = ["/usage", "/x_groq/usage"].iter().find_map(|path| tokens(frame.pointer(path)?));
    seen.usage = usage.or(seen.usage);
}

impl Seen {
    fn read_choice(&mut self, choice: &Value) {
        if number(choice.get("index")).is_some_and(|index| index > 0) {
            self.lose_always("a second answer: ask for one");
        }
        let delta = |name: &str| choice.get("delta")?.get(name).filter(|value| !value.is_null());
        if delta("refusal").is_some_and(|text| text != "") {
            self.withheld = Some("refusal".to_owned());
        }
        for (name, what) in
            [("function_call", "a call in the old shape, `function_call`"), ("images", "images")]
        {
            if delta(name).is_some() {
                self.lose_always(what);
            }
        }
        self.think(["reasoning_content", "reasoning"].iter().find_map(|name| words(delta(name))));
        match delta("content") {
            None | Some(Value::String(_)) => self.say(words(delta("content"))),
            Some(Value::Array(parts)) => parts.iter().for_each(|part| self.read_part(part)),
            Some(_) => self.lose_always("content that is neither text nor a list"),
        }
        for entry in delta("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let of = |path| words(entry.pointer(path));
            match number(entry.get("index")).filter(|_| entry.get("function").is_some()) {
                Some(index) => {
                    let args = args(entry.pointer("/function/arguments"));
                    self.call(index, of("/id"), of("/function/name"), args);
                }
                None => self.lose_always("a piece of a call without its position"),
            }
        }
        self.stop = words(choice.get("finish_reason")).or(self.stop.take());
    }

    /// Mistral lists parts, and texts in its thinking.
    fn read_part(&mut self, part: &Value) {
        match part.get("type").and_then(Value::as_str) {
            Some("text") => self.say(words(part.get("text"))),
            Some("thinking") => match part.get("thinking") {
                Some(Value::Array(texts)) => {
                    texts.iter().for_each(|text| self.think(words(text.get("text"))))
                }
                text => self.think(words(text)),
            },
            other => self.lose_always(format!("a part of the type `{}`", other.unwrap_or_default())),
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

/// Some servers send zeros until they know.
fn tokens(usage: &Value) -> Option<Usage> {
    let count = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    let input = count("/prompt_tokens").unwrap_or(0);
    let output = count("/completion_tokens").unwrap_or(0);
    // xAI leaves the tokens of thinking out of the output, which the sum shows.
    let thought = count("/completion_tokens_details/reasoning_tokens").unwrap_or(0);
    let all = input.saturating_add(output).saturating_add(thought);
    let output = if thought > 0 && count("/total_tokens") == Some(all) {
        output.saturating_add(thought)
    } else {
        output
    };
    let cached = ["/prompt_tokens_details/cached_tokens", "/prompt_cache_hit_tokens"]
        .iter()
        .find_map(|path| count(path));
    (input > 0 || output > 0).then(|| Usage { input, output, cached: cached.unwrap_or(0) })
}
