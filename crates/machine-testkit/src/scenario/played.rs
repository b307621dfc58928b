//! What came out of a run: the same shape from both drivers.
use machine_adapter::view::View;
use machine_adapter::{Engine, Request};
use machine_core::event::Event;
use machine_core::history::History;
use machine_journal::Record;

use crate::scenario::cast::Cast;
use crate::scenario::verb::{Moment, Place};
use crate::scenario::words::Names;

/// What came out of one run.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// Every agent that there was, in the order in which they were opened.
    pub agents: Vec<Told>,
    /// Inputs, transitions, events, asks; only the simulator knows them.
    pub trace: Vec<String>,
    /// What the script did not foresee.
    pub gaps: Vec<String>,
}

/// What came out of one agent.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// Its name; the first one's is empty.
    pub agent: String,
    /// What it reported, with the milliseconds.
    pub events: Vec<(u64, Event)>,
    /// What was said.
    pub history: History,
    /// The requests that it made.
    pub requests: Vec<Request>,
    /// The calls that ran, in order.
    pub starts: Vec<String>,
    /// What was refused, with the reason.
    pub refused: Vec<String>,
    /// Its states when they were looked at: which look, and what was seen.
    pub looks: Vec<(Look, View)>,
    /// What is open at the end, by kind.
    pub open: Vec<&'static str>,
    /// What its journal has at the end.
    pub journal: Vec<Record>,
    /// The engine that ran; only the simulator has it.
    pub engine: Option<Engine>,
    /// What a real host found wrong when it opened the journal again.
    pub flaws: Vec<String>,
    /// Names of its calls.
    pub names: Names,
    /// Labels that no response used.
    pub unused: Vec<String>,
    /// Replies that no request got.
    pub left: usize,
}

/// A look at the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// When.
    pub at: u64,
    /// Where in its tick.
    pub order: Place,
}

/// Something that somebody does or looks at.
#[derive(Clone, Debug)]
pub(crate) enum Cue {
    /// They do it to this agent.
    Do { agent: String, moment: Moment },
    /// Its states are looked at.
    Look { agent: String, look: Look },
}

impl Told {
    /// What is known from the script's side.
    pub(crate) fn of_cast(agent: &str, cast: &Cast) -> Self {
        Self {
            agent: agent.to_owned(),
            requests: cast.requests.clone(),
            starts: cast.starts.clone(),
            names: cast.names.clone(),
            unused: cast.unused().into_iter().map(str::to_owned).collect(),
            left: cast.left(),
            ..Self::default()
        }
    }
}
