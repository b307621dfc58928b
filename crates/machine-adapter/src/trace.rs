//! Transitions as data (E02). They are derived: a replay makes them again, and they cost nothing when nobody looks.
use machine_core::ids::{CallId, TurnId};
use machine_core::machine::Step;
use serde::Serialize;

/// One event of one machine, and what it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Transition {
    /// Whose.
    pub machine: Who,
    /// The event's name.
    pub event: &'static str,
    /// The path of the state before, root first.
    pub from: &'static [&'static str],
    /// The path of the state after.
    pub to: &'static [&'static str],
    /// Whether it moved, was handled in place, or was ignored.
    pub step: Step,
}

/// A machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// The agent.
    Agent,
    /// A turn.
    Turn(TurnId),
    /// A call.
    Call(CallId),
}

/// Who looks.
pub trait Trace {
    /// One transition, in the order in which they happen.
    fn transition(&mut self, transition: Transition);
}

impl<F: FnMut(Transition)> Trace for F {
    fn transition(&mut self, transition: Transition) {
        self(transition);
    }
}
