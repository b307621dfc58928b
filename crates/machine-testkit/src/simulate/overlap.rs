//! Never more calls at once than the cap, and none beside one that it conflicts with: as the tools saw it (P14).
use machine_core::access::{Access, PathRules, conflict};

use super::book::{Book, Span};

/// Holds each execution against those that had begun before it.
pub(super) fn check(book: &Book, wrong: &mut Vec<String>) {
    let access = |span: &Span| -> Access {
        let declared = book.declared.get(&span.call);
        declared.unwrap_or(&span.job.plan.access).clone()
    };
    for (n, span) in book.spans.iter().enumerate() {
        let earlier = || book.spans[..n].iter().filter(|other| other.call.branch == span.call.branch);
        let holding = |until: Option<u64>| until.is_none_or(|until| until > span.from);
        let slots = earlier().filter(|other| holding(other.gives_back_slot)).count();
        if slots >= span.cap as usize {
            wrong.push(format!("P14: {} begins beside {slots} others, the cap is {}", span.call, span.cap));
        }
        for other in earlier().filter(|other| holding(other.gives_back_access)) {
            if conflict(&access(span), &access(other), &PathRules::default()) {
                wrong.push(format!(
                    "P14: {} begins beside {}, which it conflicts with",
                    span.call, other.call
                ));
            }
        }
    }
}
