use serde_json::json;

use super::*;

#[test]
fn counts_of_tokens_have_an_end() {
    let most = u64::MAX;
    let wanted = Some(Usage { input: most, output: most, cached: most });
    let gemini = json!({"usageMetadata": {"promptTokenCount": most, "candidatesTokenCount": most, "thoughtsTokenCount": most, "cachedContentTokenCount": most}});
    let usage = json!({"input_tokens": most, "cache_read_input_tokens": most, "cache_creation_input_tokens": most, "output_tokens": most});
    let chat = json!({"prompt_tokens": most, "completion_tokens": most, "total_tokens": most, "completion_tokens_details": {"reasoning_tokens": most}, "prompt_tokens_details": {"cached_tokens": most}});
    for frame in
        [gemini, json!({"type": "message_start", "message": {"usage": usage}}), json!({"usage": chat})]
    {
        let mut seen = Seen::default();
        seen.read(&frame);
        assert_eq!(seen.usage, wanted, "{frame}");
    }
}

/// A later frame may leave out what does not change.
#[test]
fn tokens_that_were_told_once_stay() {
    let mut seen = Seen::default();
    let first = json!({"input_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 11, "output_tokens": 1});
    seen.read(&json!({"type": "message_start", "message": {"usage": first}}));
    seen.read(&json!({"type": "message_delta", "usage": {"input_tokens": 5, "output_tokens": 9}}));
    assert_eq!(seen.usage, Some(Usage { input: 23, output: 9, cached: 7 }));
    let mut seen = Seen::default();
    seen.read(&json!({"choices": [{"delta": {}}], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}));
    seen.read(&json!({"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0}}));
    assert_eq!(seen.usage, Some(Usage { input: 5, output: 2, cached: 0 }));
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
    for frame in [deepseek, openai, xai, groq, responses, ollama] {
        let mut seen = Seen::default();
        seen.read(&frame);
        assert_eq!(seen.usage, Some(Usage { input: 5, output: 7, cached: 3 }), "{frame}");
    }
    for frame in
        [json!({"usage": null}), json!({"done": true}), json!({"type": "response.completed", "response": {}})]
    {
        let mut seen = Seen::default();
        seen.read(&frame);
        assert_eq!(seen.usage, None, "unknown is not zero: {frame}");
    }
}
