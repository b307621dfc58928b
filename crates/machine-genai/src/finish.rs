//! How a response ended (T08).
use genai::chat::StopReason;
use machine_core::response::Finish;

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

#[cfg(test)]
mod tests {
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
}
