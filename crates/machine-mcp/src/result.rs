//! What a tool of a server brought, as the parts of a message.
use std::sync::Arc;

use machine_core::Text;
use machine_core::message::{Body, Extras, Part};
use machine_core::outcome::ToolResult;
use rmcp::model::{CallToolResult, ContentBlock, CustomResult, ErrorData, ResourceContents, ServerResult};
use serde::Serialize;
use serde_json::{Map, Value};

/// The most that is quoted of an answer that is none, in characters.
const QUOTED: usize = 200;

/// The result, with nothing left out that is for the model. What belongs to the protocol (annotations, `_meta` of a part) is
/// kept in the extras of the part; the `_meta` of the result is not.
pub(crate) fn of(result: CallToolResult) -> ToolResult {
    let CallToolResult { content, structured_content, is_error, .. } = result;
    let structured = structured_content.filter(|value| !is_told(value, &content));
    let mut output: Vec<Part> = content.into_iter().flat_map(parts).collect();
    output.extend(structured.map(|value| Part::text(value.to_string())));
    ToolResult { is_error: is_error == Some(true), output, ..ToolResult::default() }
}

/// Stands in the place of an answer that cannot be read: what the server wrote, which [`quoted`] gives back.
pub(crate) fn unreadable(said: &str) -> ServerResult {
    ServerResult::CustomResult(CustomResult::new(cut(said).into()))
}

/// An answer that is no result, cut.
pub(crate) fn quoted(answer: &impl Serialize) -> String {
    match serde_json::to_value(answer) {
        // As `unreadable` has it.
        Ok(Value::String(said)) => cut(&said),
        Ok(said) => cut(&said.to_string()),
        Err(_) => String::new(),
    }
}

/// What a server said, to a length for messages.
pub(crate) fn cut(said: &str) -> String {
    said.chars().take(QUOTED).collect()
}

/// An error of the protocol, as for a tool that the server does not know.
pub(crate) fn refusal(error: &ErrorData) -> String {
    let data = error.data.as_ref().map_or_else(String::new, |data| format!(": {data}"));
    format!("{} ({}){data}", error.message, error.code.0)
}

/// Whether the texts say this value already: servers give structured content as text too, for clients that read only that,
/// be it as JSON or, as for a file, the one string that is in it. Twice would cost the model twice. Of several fields the names count, too.
fn is_told(value: &Value, content: &[ContentBlock]) -> bool {
    let mut texts = content.iter().filter_map(ContentBlock::as_text).map(|text| &*text.text);
    match value {
        Value::String(string) => texts.any(|text| text == string),
        value if texts.any(|text| serde_json::from_str::<Value>(text).is_ok_and(|told| told == *value)) => {
            true
        }
        Value::Object(fields) if fields.len() == 1 => fields.values().all(|field| is_told(field, content)),
        _ => false,
    }
}

fn parts(block: ContentBlock) -> Vec<Part> {
    let rest = rest(&block);
    match block {
        ContentBlock::Text(text) => vec![part(Body::Text(text.text.into()), rest)],
        ContentBlock::Image(image) => vec![part(media(&image.mime_type, &image.data), rest)],
        ContentBlock::Audio(audio) => vec![part(media(&audio.mime_type, &audio.data), rest)],
        // Only its server can read it, so it is no media that a provider could fetch.
        ContentBlock::ResourceLink(link) => {
            let kind = link.mime_type.map_or_else(String::new, |kind| format!(" ({kind})"));
            let about =
                link.description.or(link.title).map_or_else(String::new, |about| format!(": {about}"));
            vec![part(Body::Text(format!("[{}] {}{kind}{about}", link.name, link.uri).into()), rest)]
        }
        ContentBlock::Resource(resource) => match resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                vec![part(Body::Text(format!("{uri}:\n{text}").into()), rest)]
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let kind = mime_type.as_deref().unwrap_or("application/octet-stream");
                vec![Part::text(format!("{uri}:")), part(media(kind, &blob), rest)]
            }
            _ => unknown(rest),
        },
        _ => unknown(rest),
    }
}

/// What a later protocol may bring: as the server wrote it.
fn unknown(rest: Map<String, Value>) -> Vec<Part> {
    vec![Part::text(Value::Object(rest).to_string())]
}

/// The bytes go along as a `data:` URL: the server that has them may be gone later.
fn media(kind: &str, base64: &str) -> Body {
    Body::Media { kind: kind.into(), at: format!("data:{kind};base64,{base64}").into() }
}

fn part(body: Body, rest: Map<String, Value>) -> Part {
    let json: Option<Text> = (!rest.is_empty()).then(|| Value::Object(rest).to_string().into());
    let extras = json.map(|json| Arc::new(Extras { provider: "mcp".into(), json }));
    Part { body, extras }
}

/// What a block says besides its content.
fn rest(block: &ContentBlock) -> Map<String, Value> {
    let Ok(Value::Object(mut rest)) = serde_json::to_value(block) else { return Map::new() };
    let said: &[&str] = match block {
        ContentBlock::Text(_) => &["type", "text"],
        ContentBlock::Image(_) | ContentBlock::Audio(_) => &["type", "data", "mimeType"],
        ContentBlock::Resource(_) => &["type", "resource"],
        ContentBlock::ResourceLink(_) => &["type", "uri", "name", "mimeType", "description"],
        _ => &[],
    };
    rest.retain(|key, _| !said.contains(&&**key));
    rest
}
