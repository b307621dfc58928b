//! Parts of messages: text, media, calls, and thinking with its proof.
use std::hash::{DefaultHasher, Hash, Hasher};

use genai::adapter::AdapterKind;
use genai::chat::{Binary, ContentPart, CustomPart, MessageContent, ToolCall, ToolResponse};
use machine_core::Text;
use machine_core::message::{Body, Part, ToolMessage};
use machine_core::response::{Failure, ModelError};
use serde_json::json;

use crate::tool_name;
use crate::wire::Wire;

/// Marks the signature of a block that Anthropic keeps to itself.
const REDACTED: &str = "redacted:";

/// What a user or a system message says.
pub fn said(content: &[Part], kind: AdapterKind) -> Result<MessageContent, ModelError> {
    let mut parts = MessageContent::default();
    for part in content {
        match &part.body {
            Body::Text(text) => parts.push(ContentPart::Text(text.to_string())),
            Body::Media { kind: media, at } => parts.push(binary(media, at, kind)?),
            // History holds neither outside of what a model said (V06).
            Body::Thinking { .. } | Body::Call(_) => {}
        }
    }
    Ok(parts)
}

/// What the model said, as far as it can be sent in one message. Of each message the library puts thinking first, where it has proofs;
/// there the provider takes several messages for one.
pub fn in_order(content: &[Part], kind: AdapterKind) -> impl Iterator<Item = &[Part]> {
    let is_thinking = |part: &Part| matches!(part.body, Body::Thinking { .. });
    let is_parted = matches!(Wire::of(kind), Wire::Messages | Wire::Responses);
    content.chunk_by(move |before, next| !is_parted || is_thinking(before) || !is_thinking(next))
}

/// What the model said. Proofs that another provider gave are left out, and so is thinking without a proof where one is asked for.
pub fn answered(content: &[Part], kind: AdapterKind) -> Result<MessageContent, ModelError> {
    let mut parts = MessageContent::default();
    for part in content {
        match &part.body {
            Body::Text(text) => parts.push(ContentPart::Text(text.to_string())),
            Body::Thinking { text, signature } => think(&mut parts, text, signature.as_ref(), kind),
            Body::Media { kind: media, at } => parts.push(ContentPart::Text(note(media, at))),
            Body::Call(call) => parts.push(ContentPart::ToolCall(ToolCall {
                call_id: id(&call.wire, kind),
                fn_name: tool_name::sent(kind, &call.tool),
                // V09: what stands in history is a JSON object.
                fn_arguments: serde_json::from_str(&call.args).map_err(|error| {
                    let why = format!("the arguments of `{}` cannot be sent: {error}", call.tool);
                    ModelError::new(Failure::InvalidRequest, why)
                })?,
                thought_signatures: None,
            })),
        }
    }
    Ok(parts)
}

/// The one result of a call. The library carries text alone here: media are named in it.
pub fn result(tool: &ToolMessage, kind: AdapterKind) -> ToolResponse {
    let texts: Vec<String> = tool.content.iter().filter_map(result_text).collect();
    ToolResponse::new(id(&tool.wire, kind), texts.join("\n")).with_fn_name(tool_name::sent(kind, &tool.tool))
}

/// Mistral takes nine letters or digits, and nothing else.
fn id(wire: &str, kind: AdapterKind) -> String {
    let is_fit = wire.len() == 9 && wire.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if kind != AdapterKind::Mistral || is_fit {
        return wire.to_owned();
    }
    let mut hasher = DefaultHasher::new();
    wire.hash(&mut hasher);
    format!("{:09x}", hasher.finish() >> 28)
}

fn result_text(part: &Part) -> Option<String> {
    match &part.body {
        Body::Text(text) => Some(text.to_string()),
        Body::Media { kind, at } => Some(note(kind, at)),
        Body::Thinking { .. } | Body::Call(_) => None,
    }
}

/// A signature as it stands in history: with the provider that gave it, so that it is sent back to no other.
pub fn signed(kind: AdapterKind, signature: &str) -> Text {
    format!("{}:{signature}", kind.as_lower_str()).into()
}

/// A block that Anthropic keeps to itself, as a signature.
pub fn redacted(data: &str) -> String {
    format!("{REDACTED}{data}")
}

fn think(parts: &mut MessageContent, text: &str, signature: Option<&Text>, kind: AdapterKind) {
    let own = signature.and_then(|it| it.strip_prefix(kind.as_lower_str())?.strip_prefix(':'));
    if let Some(data) = own.and_then(|own| own.strip_prefix(REDACTED)) {
        let data = json!({"type": "redacted_thinking", "data": data});
        parts.push(ContentPart::Custom(CustomPart { model_iden: None, data }));
        return;
    }
    if let Some(own) = own {
        parts.push(ContentPart::ThoughtSignature(own.to_owned()));
    }
    // Anthropic takes a proof with its text, be it empty, and neither without the other.
    let wanted = match (Wire::of(kind), kind) {
        (Wire::Messages, _) => own.is_some(),
        // Groq refuses it.
        (Wire::Responses, _) | (_, AdapterKind::OpenAI | AdapterKind::Groq) => false,
        (Wire::Chat | Wire::Gemini | Wire::Ollama, _) => !text.is_empty(),
    };
    if wanted {
        parts.push(ContentPart::ReasoningContent(text.to_owned()));
    }
}

/// Stands in the place of media that cannot be sent.
fn note(kind: &str, at: &str) -> String {
    let at = if at.starts_with("data:") { "inline data" } else { at };
    format!("[{kind}, not shown here: {at}]")
}

/// Media that a user gave. What the library would leave out without a word is refused.
fn binary(media: &str, at: &str, kind: AdapterKind) -> Result<ContentPart, ModelError> {
    let image = media.starts_with("image/");
    let inline = at.strip_prefix("data:").and_then(|data| data.split_once(";base64,"));
    let audio = media.starts_with("audio/");
    let can = match (Wire::of(kind), inline.is_some()) {
        (Wire::Messages, inline) => !audio && (inline || !image),
        (Wire::Ollama, inline) => image && inline,
        (Wire::Responses, inline) => inline || !audio,
        (Wire::Gemini, _) => true,
        (Wire::Chat, inline) => inline || image || media.starts_with("video/"),
    };
    let is_url = at.starts_with("http://") || at.starts_with("https://") || at.starts_with("gs://");
    match inline {
        Some((_, data)) if can => Ok(ContentPart::Binary(Binary::from_base64(media, data, None))),
        None if can && is_url => Ok(ContentPart::Binary(Binary::from_url(media, at, None))),
        _ => {
            let how = match inline {
                Some(_) => "as inline data",
                None if is_url => "by its address",
                None => "by what is neither an address nor a data: URL",
            };
            let why = format!("{media} cannot be sent to {} {how}", kind.as_str());
            Err(ModelError::new(Failure::InvalidRequest, why))
        }
    }
}

#[cfg(test)]
mod tests;
