use serde_json::json;

use super::*;

fn usage_of(kind: AdapterKind, all: &[&Value]) -> Option<Usage> {
    let frames = Frames::new(kind);
    for frame in all {
        frames.reading.lock().unwrap_or_else(PoisonError::into_inner).read(&mut frames.seen(), frame);
    }
    frames.seen().usage
}

#[test]
fn counts_of_tokens_have_an_end() {
    let most = u64::MAX;
    let wanted = Some(Usage { input: most, output: most, cached: most });
    let gemini = json!({"usageMetadata": {"promptTokenCount": most, "candidatesTokenCount": most, "thoughtsTokenCount": most, "cachedContentTokenCount": most}});
    let usage = json!({"input_tokens": most, "cache_read_input_tokens": most, "cache_creation_input_tokens": most, "output_tokens": most});
    let chat = json!({"prompt_tokens": most, "completion_tokens": most, "total_tokens": most, "completion_tokens_details": {"reasoning_tokens": most}, "prompt_tokens_details": {"cached_tokens": most}});
    let messages = json!({"type": "message_start", "message": {"usage": usage}});
    for (kind, frame) in [
        (AdapterKind::Gemini, gemini),
        (AdapterKind::Anthropic, messages),
        (AdapterKind::OpenAI, json!({"usage": chat})),
    ] {
        assert_eq!(usage_of(kind, &[&frame]), wanted, "{frame}");
    }
}

/// A later frame may leave out what does not change.
#[test]
fn tokens_that_were_told_once_stay() {
    let first = json!({"input_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 11, "output_tokens": 1});
    let first = json!({"type": "message_start", "message": {"usage": first}});
    let more = json!({"type": "message_delta", "usage": {"input_tokens": 5, "output_tokens": 9}});
    let usage = usage_of(AdapterKind::Anthropic, &[&first, &more]);
    assert_eq!(usage, Some(Usage { input: 23, output: 9, cached: 7 }));
    let first = json!({"choices": [{"delta": {}}], "usage": {"prompt_tokens": 5, "completion_tokens": 2}});
    let more = json!({"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0}});
    let usage = usage_of(AdapterKind::OpenAI, &[&first, &more]);
    assert_eq!(usage, Some(Usage { input: 5, output: 2, cached: 0 }));
}

#[test]
fn c_u02_what_each_wire_says_of_tokens() {
    let deepseek =
        json!({"usage": {"prompt_tokens": 5, "completion_tokens": 7, "prompt_cache_hit_tokens": 3}});
    let openai = json!({"usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12, "prompt_tokens_details": {"cached_tokens": 3}, "completion_tokens_details": {"reasoning_tokens": 6}}});
    let xai = json!({"usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 12, "prompt_tokens_details": {"cached_tokens": 3}, "completion_tokens_details": {"reasoning_tokens": 6}}});
    let groq = json!({"x_groq": {"usage": {"prompt_tokens": 5, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 3}}}});
    let usage = json!({"input_tokens": 5, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 3}});
    let responses = json!({"type": "response.completed", "response": {"usage": usage}});
    let ollama =
        json!({"done": true, "prompt_eval_count": 5, "eval_count": 7, "prompt_eval_cached_count": 3});
    for (kind, frame) in [
        (AdapterKind::DeepSeek, deepseek),
        (AdapterKind::OpenAI, openai),
        (AdapterKind::Xai, xai),
        (AdapterKind::Groq, groq),
        (AdapterKind::OpenAIResp, responses),
        (AdapterKind::Ollama, ollama),
    ] {
        let usage = usage_of(kind, &[&frame]);
        assert_eq!(usage, Some(Usage { input: 5, output: 7, cached: 3 }), "{frame}");
    }
    for (kind, frame) in [
        (AdapterKind::OpenAI, json!({"usage": null})),
        (AdapterKind::Ollama, json!({"done": true})),
        (AdapterKind::OpenAIResp, json!({"type": "response.completed", "response": {}})),
    ] {
        assert_eq!(usage_of(kind, &[&frame]), None, "unknown is not zero: {frame}");
    }
}
