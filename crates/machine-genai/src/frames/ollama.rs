//! Ollama's own shape: a call comes whole.
use machine_core::usage::Usage;
use serde_json::Value;

use super::{Seen, words};

pub(super) fn read(seen: &mut Seen, frame: &Value) {
    let of = |name: &str| frame.get("message")?.get(name);
    seen.think(words(of("thinking")).or_else(|| words(of("reasoning_content"))));
    seen.say(words(of("content")));
    for call in of("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        let of = |path| call.pointer(path);
        seen.call_whole(call.get("id"), of("/function/name"), of("/function/arguments"));
    }
    if frame.get("done").and_then(Value::as_bool) == Some(true) {
        seen.has_end = true;
        seen.stop = words(frame.get("done_reason"));
        let count = |name: &str| frame.get(name).and_then(Value::as_u64);
        let (input, output) = (count("prompt_eval_count"), count("eval_count"));
        let cached = count("prompt_eval_cached_count").unwrap_or(0);
        seen.usage = (input.is_some() || output.is_some()).then(|| Usage {
            input: input.unwrap_or(0),
            output: output.unwrap_or(0),
            cached,
        });
    }
}
