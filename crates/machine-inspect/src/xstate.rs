//! XState, for its editor and its other tools.
use std::collections::BTreeSet;

use machine_testkit::chart::{Chart, Node};
use serde::{Serialize, Serializer};

/// The chart as the JSON of an XState 5 machine. Targets are absolute ids. An event that a level handles in
/// several ways, or sometimes leaves to those above, has guards, named by where they lead. XState knows one
/// initial state: it is that of the first way to start, the others stand in `meta`.
pub fn xstate(chart: &Chart) -> Result<String, serde_json::Error> {
    let start = chart.starts.first().map_or("", |start| start.leaf);
    let starts = chart.starts.iter().map(|start| [start.by, start.leaf]).collect();
    let machine = Root {
        id: chart.name,
        initial: initial(chart, None, start),
        meta: Meta { starts },
        states: states(chart, None, start),
    };
    let mut text = serde_json::to_string_pretty(&machine)?;
    text.push('\n');
    Ok(text)
}

#[derive(Serialize)]
struct Root {
    id: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    initial: Option<&'static str>,
    meta: Meta,
    states: Pairs<Level>,
}

#[derive(Serialize)]
struct Meta {
    /// What makes the machine, and where it starts then.
    starts: Vec<[&'static str; 2]>,
}

#[derive(Serialize)]
struct Level {
    id: &'static str,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    initial: Option<&'static str>,
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    on: Pairs<Vec<Transition>>,
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    states: Pairs<Level>,
}

#[derive(Serialize)]
struct Transition {
    /// None = in place.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    guard: Option<String>,
    /// Empty; without it XState takes an entry without target for "forbidden".
    actions: [(); 0],
}

fn states(chart: &Chart, parent: Option<&str>, start: &str) -> Pairs<Level> {
    Pairs(chart.children(parent).map(|node| (node.name, level(chart, node, start))).collect())
}

fn level(chart: &Chart, node: &Node, start: &str) -> Level {
    let name = node.name;
    let on = chart.events.iter().map(|event| (*event, transitions(chart, name, event)));
    Level {
        id: name,
        kind: (node.leaf && chart.is_final(name)).then_some("final"),
        initial: initial(chart, Some(name), start),
        on: Pairs(on.filter(|(_, transitions)| !transitions.is_empty()).collect()),
        states: states(chart, Some(name), start),
    }
}

/// The child on the way to the start, else the first.
fn initial(chart: &Chart, parent: Option<&str>, start: &str) -> Option<&'static str> {
    let children = || chart.children(parent).map(|node| node.name);
    children().find(|child| chart.is_within(start, child)).or_else(|| children().next())
}

fn transitions(chart: &Chart, level: &str, event: &str) -> Vec<Transition> {
    let edges = chart.edges();
    let here = edges.iter().filter(|edge| edge.level == level && edge.event == event);
    let targets: BTreeSet<_> = here.map(|edge| edge.to).collect();
    let guarded = targets.len() > 1 || chart.passes_on(level, event);
    let guard = |to: Option<&str>| to.map_or("in place".into(), |to| format!("to {to}"));
    let transition = |to: &Option<&str>| Transition {
        target: to.map(|to| format!("#{to}")),
        guard: guarded.then(|| guard(*to)),
        actions: [],
    };
    targets.iter().map(transition).collect()
}

/// A JSON object that keeps its order, whatever the JSON library does with maps.
struct Pairs<T>(Vec<(&'static str, T)>);

impl<T> Pairs<T> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Serialize> Serialize for Pairs<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}
