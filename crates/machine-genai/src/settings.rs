//! The settings of a request.
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ReasoningEffort, ToolChoice};
use machine_core::config::{Settings, ToolChoice as Choice};
use machine_core::response::{Failure, ModelError};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::tool_name;

/// What `settings.extra` may hold.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Extra {
    temperature: Option<f64>,
    top_p: Option<f64>,
    max_tokens: Option<u32>,
    stop: Vec<String>,
    seed: Option<u64>,
    reasoning_effort: Option<String>,
    body: Option<Map<String, Value>>,
}

/// The library's options. It keeps nothing of the answer, which is read from the frames.
pub fn options(settings: &Settings, kind: AdapterKind) -> Result<ChatOptions, ModelError> {
    let extra = match settings.extra.as_deref() {
        None => Extra::default(),
        Some(text) => serde_json::from_str(text).map_err(|error| refused(error.to_string()))?,
    };
    let effort = extra.reasoning_effort.as_deref().map(effort).transpose()?;
    Ok(ChatOptions {
        temperature: extra.temperature,
        top_p: extra.top_p,
        max_tokens: extra.max_tokens,
        stop_sequences: extra.stop,
        seed: extra.seed,
        extra_body: extra.body.map(Value::Object),
        tool_choice: choice(&settings.tool_choice, kind),
        capture_usage: Some(true),
        // Where it is asked to keep thinking, the library also asks the provider for it, which a model that does not think refuses.
        capture_reasoning_content: Some(effort.is_some()),
        reasoning_effort: effort,
        ..ChatOptions::default()
    })
}

fn effort(word: &str) -> Result<ReasoningEffort, ModelError> {
    let budget = || word.parse().ok().map(ReasoningEffort::Budget);
    ReasoningEffort::from_keyword(word).or_else(budget).ok_or_else(|| {
        refused(format!(
            "reasoning_effort `{word}` is none of none, minimal, low, medium, high, xhigh, max or a count of tokens"
        ))
    })
}

fn refused(why: String) -> ModelError {
    ModelError::new(Failure::InvalidRequest, format!("settings.extra: {why}"))
}

/// Nothing is said where the model decides itself: that is what every provider takes it for.
fn choice(choice: &Choice, kind: AdapterKind) -> Option<ToolChoice> {
    match choice {
        Choice::Auto => None,
        Choice::Required => Some(ToolChoice::Required),
        Choice::Tool(name) => Some(ToolChoice::tool(tool_name::sent(kind, name))),
        Choice::None => Some(ToolChoice::None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(extra: &str) -> Result<ChatOptions, ModelError> {
        options(&Settings { extra: Some(extra.into()), ..Settings::default() }, AdapterKind::OpenAI)
    }

    #[test]
    fn what_is_known_is_set() {
        let extra = r#"{"temperature": 0.5, "max_tokens": 7, "stop": ["x"], "reasoning_effort": "low", "body": {"user": "u"}}"#;
        let options = of(extra).expect("they are sound");
        assert_eq!((options.temperature, options.max_tokens), (Some(0.5), Some(7)));
        assert_eq!(options.stop_sequences, ["x"]);
        assert!(matches!(options.reasoning_effort, Some(ReasoningEffort::Low)));
        assert_eq!(options.extra_body, Some(serde_json::json!({"user": "u"})));
        assert_eq!(options.tool_choice, None);
    }

    #[test]
    fn what_is_not_is_refused_by_name() {
        for (extra, why) in [
            (r#"{"temprature": 1}"#, "unknown field `temprature`"),
            (r#"{"max_tokens": -1}"#, "invalid value: integer `-1`"),
            (r#"{"reasoning_effort": "much"}"#, "reasoning_effort `much` is none of none,"),
            (r#"{"body": 5}"#, "invalid type"),
            ("", "EOF"),
        ] {
            let error = of(extra).expect_err("it is not sound");
            assert_eq!(error.kind, Failure::InvalidRequest);
            assert!(error.message.starts_with("settings.extra: ") && error.message.contains(why), "{error}");
        }
    }
}
