//! The committed charts are the machines as they are: `docs/charts/<machine>.mmd` and `.md` are compared byte for
//! byte. `BLESS=1 cargo test -p machine-tests --test charts` writes them anew.
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use machine_inspect::charts::{ALL, Drawable};
use machine_inspect::{dot, mermaid, page, xstate};
use machine_testkit::chart::{Answer, Chart};

/// The names of all variants. The match does not compile when one is missing.
macro_rules! every {
    ($name:ident: $type:ty { $($pattern:pat => $text:literal),+ $(,)? }) => {
        pub fn $name() -> Vec<&'static str> {
            let _every = |value: &$type| match value { $($pattern => $text),+ };
            vec![$($text),+]
        }
    };
}

#[path = "charts/agent.rs"]
mod agent;
#[path = "charts/call.rs"]
mod call;
#[path = "charts/turn.rs"]
mod turn;

/// What is listed by hand for a machine.
struct Listed {
    states: Vec<&'static str>,
    events: Vec<&'static str>,
    /// Where it is over. An agent can be opened again.
    end: &'static str,
}

fn listed(machine: &Drawable) -> Listed {
    let listed = match machine.name {
        "agent" => Some(Listed { states: agent::states(), events: agent::events(), end: "Closed" }),
        "turn" => Some(Listed { states: turn::states(), events: turn::events(), end: "Ended" }),
        "call" => Some(Listed { states: call::states(), events: call::events(), end: "Settled" }),
        _ => None,
    };
    listed.expect("its variants are listed here")
}

/// Every machine with its chart. They are explored once for all tests.
fn each(mut check: impl FnMut(&Drawable, &Chart)) {
    static CHARTS: OnceLock<Vec<Chart>> = OnceLock::new();
    let explored = |drawable: &Drawable| (drawable.chart)().expect("the machine can be explored");
    for (drawable, chart) in ALL.iter().zip(CHARTS.get_or_init(|| ALL.iter().map(explored).collect())) {
        assert_eq!(chart.name, drawable.name);
        check(drawable, chart);
    }
}

fn docs() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/charts"))
}

/// What is committed for a machine.
fn golden(drawable: &Drawable, chart: &Chart) -> [(String, String); 2] {
    [
        (format!("{}.mmd", drawable.name), mermaid::mermaid(chart)),
        (format!("{}.md", drawable.name), page::page(drawable, chart)),
    ]
}

#[test]
fn charts_are_the_committed_ones() {
    each(|drawable, chart| {
        for (name, text) in golden(drawable, chart) {
            let file = docs().join(&name);
            if std::env::var_os("BLESS").is_some() {
                fs::write(&file, &text).unwrap();
            }
            let committed = fs::read_to_string(&file).unwrap_or_default();
            let differs = committed.lines().zip(text.lines()).find(|(old, new)| old != new);
            assert!(
                committed == text,
                "docs/charts/{name} is out of date, BLESS=1 writes it anew: {differs:#?}"
            );
        }
    });
}

#[test]
fn no_chart_is_left_without_its_machine() {
    let mut expected = BTreeSet::new();
    each(|drawable, chart| expected.extend(golden(drawable, chart).map(|(name, _)| name)));
    let found = fs::read_dir(docs()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let stale: Vec<_> = found.filter(|name| !expected.contains(name)).collect();
    assert!(stale.is_empty(), "docs/charts holds {stale:?}");
}

/// The states are those of A01, T01 and C01.
#[test]
fn every_state_and_every_event_is_reached() {
    each(|drawable, chart| {
        let Listed { states, events, .. } = listed(drawable);
        let leaves: BTreeSet<_> = chart.leaves().collect();
        assert_eq!(leaves, states.into_iter().collect(), "{}", drawable.name);
        let offered: BTreeSet<_> = chart.events.iter().copied().collect();
        assert_eq!(offered, events.into_iter().collect(), "{}", drawable.name);
        let handled: BTreeSet<_> = chart.edges().into_iter().map(|edge| edge.event).collect();
        assert_eq!(handled, offered, "{}: an event that nobody handles", drawable.name);
    });
}

#[test]
fn every_state_answers_every_event() {
    each(|drawable, chart| {
        for leaf in chart.leaves() {
            for event in &chart.events {
                assert_ne!(chart.answers(leaf, event).count(), 0, "{}: {leaf}, {event}", drawable.name);
            }
        }
    });
}

#[test]
fn every_edge_ends_at_a_state() {
    each(|drawable, chart| {
        let leaves: BTreeSet<_> = chart.leaves().collect();
        let levels: BTreeSet<_> = chart.nodes.iter().map(|node| node.name).collect();
        for edge in chart.edges() {
            assert!(levels.contains(edge.level), "{}: {edge:?}", drawable.name);
            assert!(edge.to.is_none_or(|to| leaves.contains(to)), "{}: {edge:?}", drawable.name);
        }
        for start in &chart.starts {
            assert!(leaves.contains(start.leaf), "{}: {start:?}", drawable.name);
        }
        for reaction in &chart.reactions {
            if let Answer::Moved { level, .. } | Answer::InPlace { level } = reaction.answer {
                assert!(chart.is_within(reaction.leaf, level), "{}: {reaction:?}", drawable.name);
            }
        }
    });
}

#[test]
fn every_state_can_end() {
    each(|drawable, chart| {
        let Listed { end, .. } = listed(drawable);
        assert!(chart.leaves().all(|leaf| leaf == end || !chart.is_final(leaf)), "{}", drawable.name);
        let mut ends = BTreeSet::from([end]);
        let mut before = 0;
        while before != ends.len() {
            before = ends.len();
            for reaction in &chart.reactions {
                if matches!(reaction.answer, Answer::Moved { to, .. } if ends.contains(to)) {
                    ends.insert(reaction.leaf);
                }
            }
        }
        assert_eq!(ends, chart.leaves().collect(), "{}", drawable.name);
    });
}

#[test]
fn two_runs_give_the_same_bytes() {
    each(|drawable, chart| {
        let again = (drawable.chart)().unwrap();
        assert_eq!(*chart, again);
        assert_eq!(golden(drawable, chart), golden(drawable, &again));
        assert_eq!(dot::dot(chart), dot::dot(&again));
        assert_eq!(xstate::xstate(chart).unwrap(), xstate::xstate(&again).unwrap());
    });
}
