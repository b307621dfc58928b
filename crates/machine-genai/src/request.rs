//! From an attempt to a request of the library.
use genai::adapter::AdapterKind;
use genai::chat::{ChatMessage, ChatRequest, ChatRole, MessageContent, Tool, ToolName};
use machine_adapter::Request;
use machine_core::config::ToolSpec;
use machine_core::message::Message;
use machine_core::response::{Failure, ModelError};
use serde_json::Value;

use crate::wire::Wire;
use crate::{content, tool_name};

/// The whole conversation, and the tools.
pub fn chat(request: &Request, kind: AdapterKind) -> Result<ChatRequest, ModelError> {
    let mut messages: Vec<ChatMessage> = Vec::with_capacity(request.history.len());
    let mut results = MessageContent::default();
    for entry in request.history.iter() {
        if let Message::Tool(tool) = &entry.message {
            results.push(content::result(tool, kind));
            if Wire::of(kind) == Wire::Ollama {
                // Of several results in one message the library sends the last one alone.
                answer(&mut messages, &mut results);
            }
            continue;
        }
        answer(&mut messages, &mut results);
        match &entry.message {
            Message::System { content } => messages.push(ChatMessage::system(content::said(content, kind)?)),
            Message::User { content } => {
                let is_left_open = messages.last().is_some_and(|last| last.role == ChatRole::Tool);
                if is_left_open && kind == AdapterKind::Mistral {
                    // There a user may not speak right after a tool, as when a turn was stopped.
                    messages.push(ChatMessage::assistant("(no answer)"));
                }
                messages.push(ChatMessage::user(content::said(content, kind)?));
            }
            Message::Assistant { content } => {
                for part in content::in_order(content, kind) {
                    let said = content::answered(part, kind)?;
                    messages.extend(Some(said).filter(|said| !said.is_empty()).map(ChatMessage::assistant));
                }
            }
            Message::Tool(_) => {}
        }
    }
    answer(&mut messages, &mut results);
    let mut chat = ChatRequest::new(messages);
    chat.system = Some(request.system.to_string()).filter(|system| !system.is_empty());
    if !request.tools.is_empty() {
        chat.tools = Some(request.tools.iter().map(|spec| tool(spec, kind)).collect::<Result<_, _>>()?);
    }
    Ok(chat)
}

/// Elsewhere the results of one response stand in one message, which is what Anthropic and Gemini ask for.
fn answer(messages: &mut Vec<ChatMessage>, results: &mut MessageContent) {
    if !results.is_empty() {
        messages.push(ChatMessage::tool(std::mem::take(results)));
    }
}

fn tool(spec: &ToolSpec, kind: AdapterKind) -> Result<Tool, ModelError> {
    let schema: Value = serde_json::from_str(&spec.parameters).map_err(|error| {
        let why = format!("the tool `{}` cannot be offered: its parameters are no JSON: {error}", spec.name);
        ModelError::new(Failure::InvalidRequest, why)
    })?;
    Ok(Tool::new(ToolName::Custom(tool_name::sent(kind, &spec.name)))
        .with_description(&*spec.description)
        .with_schema(schema))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_that_is_none_is_refused() {
        let spec = ToolSpec { name: "search".into(), description: "d".into(), parameters: "{".into() };
        let error = tool(&spec, AdapterKind::OpenAI).expect_err("it is refused");
        assert_eq!(error.kind, Failure::InvalidRequest);
        assert!(error.message.starts_with("the tool `search` cannot be offered: its parameters are no JSON"));
    }
}
