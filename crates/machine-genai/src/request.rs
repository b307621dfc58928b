//! From an attempt to a request of the library.
use genai::adapter::AdapterKind;
use genai::chat::{ChatMessage, ChatRequest, MessageContent, Tool, ToolName};
use machine_adapter::Request;
use machine_core::config::ToolSpec;
use machine_core::message::Message;
use machine_core::response::{Failure, ModelError};
use serde_json::Value;

use crate::content;

/// Names that the library takes for tools of the provider itself: the host's own tool would never be called.
const TAKEN: &[&str] =
    &["web_search", "googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext"];

/// The whole conversation, and the tools.
pub fn chat(request: &Request, kind: AdapterKind) -> Result<ChatRequest, ModelError> {
    let mut messages: Vec<ChatMessage> = Vec::with_capacity(request.history.len());
    let mut results = MessageContent::default();
    for entry in request.history.iter() {
        if let Message::Tool(tool) = &entry.message {
            results.push(content::result(tool));
            continue;
        }
        answer(&mut messages, &mut results);
        messages.push(match &entry.message {
            Message::System { content } => ChatMessage::system(content::said(content, kind)?),
            Message::User { content } => ChatMessage::user(content::said(content, kind)?),
            Message::Assistant { content } => ChatMessage::assistant(content::answered(content, kind)?),
            Message::Tool(_) => continue,
        });
    }
    answer(&mut messages, &mut results);
    let mut chat = ChatRequest::new(messages);
    chat.system = Some(request.system.to_string()).filter(|system| !system.is_empty());
    if !request.tools.is_empty() {
        chat.tools = Some(request.tools.iter().map(tool).collect::<Result<_, _>>()?);
    }
    Ok(chat)
}

/// The results of one response stand in one message, which is what Anthropic and Gemini ask for.
fn answer(messages: &mut Vec<ChatMessage>, results: &mut MessageContent) {
    if !results.is_empty() {
        messages.push(ChatMessage::tool(std::mem::take(results)));
    }
}

fn tool(spec: &ToolSpec) -> Result<Tool, ModelError> {
    let refused = |why: String| {
        ModelError::new(Failure::InvalidRequest, format!("the tool `{}` cannot be offered: {why}", spec.name))
    };
    if TAKEN.contains(&&*spec.name) {
        return Err(refused("the name stands for a tool of the provider".into()));
    }
    let schema: Value = serde_json::from_str(&spec.parameters)
        .map_err(|error| refused(format!("its parameters are no JSON: {error}")))?;
    Ok(Tool::new(ToolName::Custom(spec.name.to_string()))
        .with_description(&*spec.description)
        .with_schema(schema))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str, parameters: &str) -> ToolSpec {
        ToolSpec { name: name.into(), description: "d".into(), parameters: parameters.into() }
    }

    #[test]
    fn a_tool_that_the_provider_would_run_itself_is_refused() {
        for name in TAKEN {
            let error = tool(&spec(name, "{}")).expect_err("it is refused");
            assert_eq!(error.kind, Failure::InvalidRequest);
            assert!(error.message.contains(name), "{error}");
        }
        assert!(tool(&spec("search", "{}")).is_ok());
    }

    #[test]
    fn a_schema_that_is_none_is_refused() {
        let error = tool(&spec("search", "{")).expect_err("it is refused");
        assert!(error.message.starts_with("the tool `search` cannot be offered: its parameters are no JSON"));
    }
}
