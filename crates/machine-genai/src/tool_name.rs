//! The names of tools, as the provider sees them.
//!
//! The library takes some names for tools of the provider itself, and the host's own tool would never be called. Such a name is
//! sent with an underscore behind it, and so is one that differs from it by underscores alone, so that no two meet.
use genai::adapter::AdapterKind;

use crate::wire::Wire;

/// The names that the library takes in this shape.
fn taken(kind: AdapterKind) -> &'static [&'static str] {
    match Wire::of(kind) {
        Wire::Messages | Wire::Responses => &["web_search"],
        Wire::Gemini => &["googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext"],
        Wire::Chat | Wire::Ollama => &[],
    }
}

fn is_changed(kind: AdapterKind, name: &str) -> bool {
    taken(kind).contains(&name.trim_end_matches('_'))
}

/// The name that is sent.
pub fn sent(kind: AdapterKind, own: &str) -> String {
    let behind = if is_changed(kind, own) { "_" } else { "" };
    format!("{own}{behind}")
}

/// The name that was meant.
pub fn own(kind: AdapterKind, mut sent: String) -> String {
    if is_changed(kind, &sent) && sent.ends_with('_') {
        sent.pop();
    }
    sent
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_is_sent_as_one_of_its_own_and_comes_back() {
        for kind in AdapterKind::all().iter().copied() {
            let names =
                ["web_search", "googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext"];
            let names: BTreeSet<_> = names
                .iter()
                .flat_map(|name| ["", "_", "__", "x"].map(|end| format!("{name}{end}")))
                .collect();
            let all: BTreeSet<_> = names.iter().map(|name| sent(kind, name)).collect();
            assert_eq!(all.len(), names.len(), "{kind}");
            assert!(!all.iter().any(|name| taken(kind).contains(&name.as_str())), "{kind}");
            assert!(names.iter().all(|name| own(kind, sent(kind, name)) == *name), "{kind}");
        }
    }
}
