//! The model that is asked for is the one that was named.
//!
//! The library reads a name: what stands before `::` it takes for its own, and a last part such as `-max` or `-low` for an
//! effort of reasoning, which it sets and cuts off. So it is given the name in a form that it does not read, and the true name
//! for the body.
use genai::ModelIden;
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ReasoningEffort};
use serde_json::{Map, Value};

/// Why a model of this name cannot be asked for.
pub fn refusal(kind: AdapterKind, name: &str) -> Option<&'static str> {
    match kind {
        AdapterKind::Gemini | AdapterKind::Vertex if is_cut(name) => {
            Some("its end would be taken for an effort of reasoning")
        }
        AdapterKind::Gemini | AdapterKind::Vertex if name.contains("::") => {
            Some("what stands before `::` would be left out")
        }
        // There the library leaves `tool_choice` and `body` out without a word.
        AdapterKind::Vertex if name.starts_with("claude") => Some("its settings would not be sent"),
        AdapterKind::OpenCodeGo if name.to_ascii_lowercase().starts_with("minimax-") => {
            Some("its settings would not be sent")
        }
        _ => None,
    }
}

/// The model for the library, in a form that it does not read. Where it sends that form, the true name is put into the body.
pub fn target(kind: AdapterKind, name: &str, options: &mut ChatOptions) -> ModelIden {
    // These read no effort in it, or are refused, and have no such body.
    let is_plain = matches!(
        kind,
        AdapterKind::Ollama | AdapterKind::OllamaCloud | AdapterKind::Gemini | AdapterKind::Vertex
    );
    let own = if name.contains("::") { format!("{}::", kind.as_lower_str()) } else { String::new() };
    let guard = if !is_plain && is_cut(name) { "-" } else { "" };
    let is_changed = !own.is_empty() || !guard.is_empty();
    if is_changed && !is_plain {
        let body = options.extra_body.get_or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(body) = body {
            body.entry("model").or_insert_with(|| in_body(kind, name).into());
        }
    }
    ModelIden::new(kind, format!("{own}{name}{guard}"))
}

fn is_cut(name: &str) -> bool {
    name.rsplit_once('-').is_some_and(|(_, last)| ReasoningEffort::from_keyword(last).is_some())
}

/// As the library completes it.
fn in_body(kind: AdapterKind, name: &str) -> String {
    match kind {
        AdapterKind::Fireworks if !name.contains('/') => format!("accounts/fireworks/models/{name}"),
        _ => name.to_owned(),
    }
}
