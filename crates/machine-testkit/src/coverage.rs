//! Which leaf of a machine met which event: so that an exploration says what it did not look at.
//!
//! Each pair of a leaf and a kind of event is either reached, or stands in a table of those that cannot come, with the
//! reason. A pair that stands there and is reached all the same is a mistake too.
use std::collections::BTreeSet;

/// An event that reached a leaf, and what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reached {
    /// The active leaf.
    pub leaf: &'static str,
    /// The event's kind.
    pub event: &'static str,
    /// The leaf after it; none = it was ignored.
    pub to: Option<&'static str>,
}

/// Pairs that cannot come. Names are separated by spaces; `all` are all, `all but A B` all others.
#[derive(Clone, Copy, Debug)]
pub struct Cannot {
    /// Of these leaves.
    pub leaves: &'static str,
    /// These kinds of events.
    pub events: &'static str,
    /// Why not.
    pub why: &'static str,
}

/// What is wrong with a coverage: pairs that were not reached and stand nowhere, pairs that cannot come and did, and
/// names that nothing has.
pub fn gaps(
    reached: &BTreeSet<Reached>,
    leaves: &[&'static str],
    events: &[&'static str],
    cannot: &[Cannot],
) -> Vec<String> {
    let pairs: BTreeSet<_> = reached.iter().map(|reached| (reached.leaf, reached.event)).collect();
    let mut wrong: Vec<_> = cannot
        .iter()
        .flat_map(|row| strangers(row.leaves, leaves).chain(strangers(row.events, events)))
        .map(|name| format!("`{name}` is no name"))
        .collect();
    let unknown = pairs.iter().filter(|(leaf, event)| !leaves.contains(leaf) || !events.contains(event));
    wrong.extend(unknown.map(|(leaf, event)| format!("{leaf} × {event} is not listed")));
    for (leaf, event) in leaves.iter().flat_map(|leaf| events.iter().map(move |event| (*leaf, *event))) {
        let excused = cannot.iter().find(|row| names(row.leaves, leaf) && names(row.events, event));
        match (pairs.contains(&(leaf, event)), excused) {
            (true, Some(row)) => wrong.push(format!("{leaf} × {event} came, though \"{}\"", row.why)),
            (false, None) => wrong.push(format!("{leaf} × {event} was not reached")),
            (true, None) | (false, Some(_)) => {}
        }
    }
    wrong
}

fn names(pattern: &str, name: &str) -> bool {
    let listed = |list: &str| list.split_whitespace().any(|one| one == name);
    match pattern.strip_prefix("all but ") {
        Some(others) => !listed(others),
        None => pattern == "all" || listed(pattern),
    }
}

fn strangers<'p>(pattern: &'p str, known: &'p [&str]) -> impl Iterator<Item = &'p str> {
    let list = pattern.strip_prefix("all but ").unwrap_or(if pattern == "all" { "" } else { pattern });
    list.split_whitespace().filter(|name| !known.contains(name))
}
