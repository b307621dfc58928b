//! Each accepted input has one end, and what was acknowledged is in the journal (P5, J10).
use std::collections::BTreeMap;

use machine_core::event::{Event, Receipt};
use machine_core::ids::InputId;

use super::book::Book;

/// What is known of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Pending,
    Over,
}

/// Checks the receipts of a session in which nothing is pending.
pub(super) fn check(events: &[&Event], book: &Book, wrong: &mut Vec<String>) {
    let mut known: BTreeMap<&InputId, Known> = BTreeMap::new();
    for event in events {
        let Event::Receipt { input, receipt } = event else { continue };
        let before = known.get(input).copied();
        let (fits, after) = match receipt {
            // An id that is not remembered may be used again (A10).
            Receipt::Accepted => (before != Some(Known::Pending), Known::Pending),
            Receipt::Steered | Receipt::Held(_) => (before == Some(Known::Pending), Known::Pending),
            Receipt::Taken(_) | Receipt::Dropped(_) | Receipt::Returned => {
                (before == Some(Known::Pending), Known::Over)
            }
            Receipt::TurnEnded(..) => (before.is_some(), before.unwrap_or(Known::Over)),
        };
        known.insert(input, after);
        if !fits {
            wrong.push(format!("P5: `{input}` was {before:?}, then {receipt:?}"));
        }
    }
    for (input, _) in known.iter().filter(|(_, known)| **known == Known::Pending) {
        wrong.push(format!("P5: `{input}` has no end"));
    }
    for input in book.acknowledged.iter().filter(|input| !known.contains_key(input)) {
        wrong.push(format!("J10: `{input}` was acknowledged, and is not in the journal"));
    }
}
