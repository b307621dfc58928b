//! The chart of a machine, recovered from the running machine by exploration.
//!
//! A [`Domain`] says how a machine starts and which events it is offered; [`recover`] offers every event to
//! every configuration that can be reached, breadth first, and writes down who answered and where it led. Nobody
//! draws a chart by hand, so none can be out of date.
//!
//! On the way every single step is checked (see [`Flaw`]).
use std::collections::BTreeSet;

mod flaw;
mod recover;

pub use flaw::{Flaw, NoChart};
pub use recover::{Domain, recover};

/// What was seen of a machine. Equal runs give equal charts, order included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// The machine's name.
    pub name: &'static str,
    /// States and superstates as they were first reached: each superstate directly before what lies in it, and
    /// final states after their siblings.
    pub nodes: Vec<Node>,
    /// Kinds of events, in the order of the domains.
    pub events: Vec<&'static str>,
    /// How it starts.
    pub starts: Vec<Start>,
    /// What every leaf answered to every event.
    pub reactions: BTreeSet<Reaction>,
    /// How many configurations (state and data) were explored.
    pub configurations: usize,
}

/// A state or a superstate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: &'static str,
    /// The superstate around it.
    pub parent: Option<&'static str>,
    /// Whether it is a state, not a superstate.
    pub leaf: bool,
}

/// One way to start a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Start {
    /// What makes it: the name of a constructor.
    pub by: &'static str,
    /// The leaf it starts in.
    pub leaf: &'static str,
}

/// What a leaf answered to an event. With guards there are several for one leaf and event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reaction {
    /// The active leaf.
    pub leaf: &'static str,
    /// The event's kind.
    pub event: &'static str,
    /// What became of it.
    pub answer: Answer,
}

/// What became of an event. A level is the leaf itself or a superstate around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// A transition was taken.
    Moved {
        /// Who took it.
        level: &'static str,
        /// The leaf it led to.
        to: &'static str,
    },
    /// It was handled without leaving the state.
    InPlace {
        /// Who handled it.
        level: &'static str,
    },
    /// Nobody handled it, and nothing changed.
    Ignored,
    /// It does not get there: the command is refused before.
    Refused,
}

/// A row of the machine: the level that handles an event, and where that leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// A leaf or a superstate.
    pub level: &'static str,
    /// The event's kind.
    pub event: &'static str,
    /// The leaf it leads to; none = handled in place.
    pub to: Option<&'static str>,
}

/// Edges with the same ends, as they are drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// A leaf or a superstate.
    pub from: &'static str,
    /// A leaf.
    pub to: &'static str,
    /// What leads there.
    pub events: Vec<&'static str>,
}

impl Chart {
    /// The states, in order.
    pub fn leaves(&self) -> impl Iterator<Item = &'static str> {
        self.nodes.iter().filter(|node| node.leaf).map(|node| node.name)
    }

    /// What lies directly in a superstate; in none: the roots.
    pub fn children(&self, parent: Option<&str>) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(move |node| node.parent == parent)
    }

    /// Whether `inner` is `outer`, or lies in it at any depth.
    pub fn is_within(&self, inner: &str, outer: &str) -> bool {
        let parent = |name: &str| self.nodes.iter().find(|node| node.name == name)?.parent;
        std::iter::successors(Some(inner), |name| parent(name)).any(|name| name == outer)
    }

    /// Whether a leaf ignores everything that gets there.
    pub fn is_final(&self, leaf: &str) -> bool {
        self.reactions.iter().filter(|r| r.leaf == leaf).all(|r| !r.is_handled())
    }

    /// The answers of a leaf to an event: transitions by target, in place, ignored, refused.
    pub fn answers(&self, leaf: &str, event: &str) -> impl Iterator<Item = Answer> {
        self.reactions.iter().filter(move |r| r.leaf == leaf && r.event == event).map(|r| r.answer)
    }

    /// Pairs of leaf and event that are never handled.
    pub fn ignored(&self) -> BTreeSet<(&'static str, &'static str)> {
        let pair = |r: &Reaction| (r.leaf, r.event);
        let taken: BTreeSet<_> = self.reactions.iter().filter(|r| r.is_handled()).map(pair).collect();
        self.reactions.iter().map(pair).filter(|pair| !taken.contains(pair)).collect()
    }

    /// The rows of the machine.
    pub fn edges(&self) -> BTreeSet<Edge> {
        self.reactions.iter().filter_map(Reaction::edge).collect()
    }

    /// Whether a level sometimes leaves an event to those above: its row has a guard.
    pub fn passes_on(&self, level: &str, event: &str) -> bool {
        self.reactions.iter().filter(|r| r.event == event && self.is_within(r.leaf, level)).any(|r| {
            match r.answer {
                Answer::Moved { level: by, .. } | Answer::InPlace { level: by } => !self.is_within(by, level),
                Answer::Ignored => true,
                Answer::Refused => false,
            }
        })
    }

    /// The events that a level handles in place, in order.
    pub fn in_place(&self, level: &str) -> Vec<&'static str> {
        let edges = self.edges();
        let here = |edge: &Edge| edge.level == level && edge.to.is_none();
        self.in_order(|event| edges.iter().any(|edge| edge.event == event && here(edge)))
    }

    /// The transitions, ready to be drawn. One that leads from a superstate to a leaf within it starts at the
    /// leaves that take it: no drawing tool shows it well otherwise.
    pub fn arrows(&self) -> Vec<Arrow> {
        let drawn: BTreeSet<_> = self.reactions.iter().filter_map(|r| self.drawn(r)).collect();
        let mut arrows = Vec::new();
        for from in self.nodes.iter().map(|node| node.name) {
            for to in self.leaves() {
                let events = self.in_order(|event| drawn.contains(&(from, to, event)));
                if !events.is_empty() {
                    arrows.push(Arrow { from, to, events });
                }
            }
        }
        arrows
    }

    fn drawn(&self, reaction: &Reaction) -> Option<(&'static str, &'static str, &'static str)> {
        let Answer::Moved { level, to } = reaction.answer else { return None };
        let from = if self.is_within(to, level) { reaction.leaf } else { level };
        Some((from, to, reaction.event))
    }

    fn in_order(&self, wanted: impl Fn(&'static str) -> bool) -> Vec<&'static str> {
        self.events.iter().copied().filter(|event| wanted(event)).collect()
    }
}

impl Reaction {
    /// Whether it was handled, in place or not.
    pub fn is_handled(&self) -> bool {
        match self.answer {
            Answer::Moved { .. } | Answer::InPlace { .. } => true,
            Answer::Ignored | Answer::Refused => false,
        }
    }

    fn edge(&self) -> Option<Edge> {
        let (level, to) = match self.answer {
            Answer::Moved { level, to } => (level, Some(to)),
            Answer::InPlace { level } => (level, None),
            Answer::Ignored | Answer::Refused => return None,
        };
        Some(Edge { level, event: self.event, to })
    }
}
