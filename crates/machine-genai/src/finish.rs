//! How a response ended (T08).
use genai::chat::{StopReason, Usage as Tokens};
use machine_core::response::Finish;
use machine_core::usage::Usage;

/// The normalised end, and the provider's own word. `withheld`: what the library does not pass on.
pub fn of(reason: &StopReason, withheld: Option<&str>) -> (Finish, String) {
    let raw = reason.raw();
    let finish = match (reason, withheld) {
        // A refusal ends like an answer, and a filter like a limit.
        (StopReason::Completed(_), Some("refusal")) => return (Finish::Filtered, "refusal".to_owned()),
        (StopReason::MaxTokens(_), Some("content_filter")) => {
            return (Finish::Filtered, "content_filter".to_owned());
        }
        (StopReason::Completed(_) | StopReason::StopSequence(_), _) => Finish::EndTurn,
        (StopReason::ToolCall(_), _) => Finish::ToolUse,
        (StopReason::MaxTokens(_), _) => Finish::MaxTokens,
        (StopReason::ContentFilter(_), _) => Finish::Filtered,
        (StopReason::Other(_), _) => match raw.to_ascii_lowercase().as_str() {
            "pause_turn" => Finish::Suspended,
            "tool_calls" | "tool_call" | "function_call" | "function_calls" => Finish::ToolUse,
            "eos" | "eos_token" => Finish::EndTurn,
            _ => Finish::Other,
        },
    };
    (finish, raw.to_owned())
}

/// Tokens, if any were told. The library counts cached tokens to the input and reasoning to the output, as we do.
pub fn usage(tokens: &Tokens) -> Option<Usage> {
    let count = |count: Option<i32>| count.and_then(|count| u64::try_from(count).ok());
    let (input, output) = (count(tokens.prompt_tokens), count(tokens.completion_tokens));
    let cached = tokens.prompt_tokens_details.as_ref().and_then(|details| count(details.cached_tokens));
    (input.is_some() || output.is_some()).then(|| Usage {
        input: input.unwrap_or(0),
        output: output.unwrap_or(0),
        cached: cached.unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use genai::chat::PromptTokensDetails;

    use super::*;

    #[test]
    fn c_t08_every_word_has_its_end() {
        for (raw, finish) in [
            ("stop", Finish::EndTurn),
            ("end_turn", Finish::EndTurn),
            ("STOP", Finish::EndTurn),
            ("completed", Finish::EndTurn),
            ("stop_sequence", Finish::EndTurn),
            ("tool_calls", Finish::ToolUse),
            ("tool_use", Finish::ToolUse),
            ("FUNCTION_CALL", Finish::ToolUse),
            ("eos", Finish::EndTurn),
            ("length", Finish::MaxTokens),
            ("max_tokens", Finish::MaxTokens),
            ("MAX_TOKENS", Finish::MaxTokens),
            ("incomplete", Finish::MaxTokens),
            ("content_filter", Finish::Filtered),
            ("refusal", Finish::Filtered),
            ("SAFETY", Finish::Filtered),
            ("pause_turn", Finish::Suspended),
            ("MALFORMED_FUNCTION_CALL", Finish::Other),
            ("", Finish::Other),
        ] {
            assert_eq!(of(&StopReason::from(raw.to_owned()), None), (finish, raw.to_owned()));
        }
    }

    #[test]
    fn c_t08_what_the_library_does_not_tell_is_told() {
        let of = |raw: &str, withheld| of(&StopReason::from(raw.to_owned()), Some(withheld));
        assert_eq!(of("incomplete", "content_filter"), (Finish::Filtered, "content_filter".into()));
        assert_eq!(of("incomplete", "max_output_tokens"), (Finish::MaxTokens, "incomplete".into()));
        assert_eq!(of("stop", "refusal"), (Finish::Filtered, "refusal".into()));
    }

    #[test]
    fn c_u02_unknown_is_not_zero() {
        assert_eq!(usage(&Tokens::default()), None);
        let cached = PromptTokensDetails { cached_tokens: Some(3), ..PromptTokensDetails::default() };
        let tokens = Tokens {
            prompt_tokens: Some(5),
            completion_tokens: Some(7),
            prompt_tokens_details: Some(cached),
            ..Tokens::default()
        };
        assert_eq!(usage(&tokens), Some(Usage { input: 5, output: 7, cached: 3 }));
    }
}
