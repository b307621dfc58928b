//! What a `handle` brings out. What must be durable before it may leave is a field of its own (J02).
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use machine_core::ask::{Ask, Withdrawal};
use machine_core::event::Event;
use machine_core::ids::{AskId, CallId};
use serde::Serialize;

/// Reused from one `handle` to the next, so that a step costs no allocation for it.
#[derive(Debug, Default)]
pub struct Out {
    /// In order. Durable ones leave when the journal is durable up to their input.
    pub events: Vec<Event>,
    /// Questions and withdrawals, in order. They leave at once.
    pub now: Vec<Order>,
    /// Attempts and executions, in order. They leave when the journal is durable up to their input, these ids
    /// included.
    pub acts: Vec<Ask>,
    pub(crate) scratch: Scratch,
}

/// What leaves at once.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Ask this.
    Ask(Ask),
    /// Take this back.
    Withdraw(Withdrawal),
}

/// Buffers of the run to completion; empty between two `handle`s.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) queue: VecDeque<Work>,
    pub(crate) agent: Vec<machine_agent::Signal>,
    pub(crate) turn: Vec<machine_turn::Signal>,
    pub(crate) call: Vec<machine_tool::Signal>,
}

/// One thing that is still to be done in this `handle`.
#[derive(Debug)]
pub(crate) enum Work {
    /// A signal.
    FromAgent(machine_agent::Signal),
    /// A signal.
    FromTurn(machine_turn::Signal),
    /// A signal.
    FromCall(CallId, machine_tool::Signal),
    /// An event for the agent.
    ToAgent(machine_agent::Event),
    /// An event for the turn.
    ToTurn(machine_turn::Event),
    /// An event for a call.
    ToCall(CallId, machine_tool::Event),
    /// A call begins, or is answered as it is announced.
    Open(crate::ledger::Opening),
    /// Asks that a dead process took along are asked again.
    AskAgain,
}

impl Out {
    /// Forgets everything; keeps the memory.
    pub fn clear(&mut self) {
        let Self { events, now, acts, scratch: _ } = self;
        events.clear();
        now.clear();
        acts.clear();
    }

    /// Takes an act back that has not left.
    pub(crate) fn retract(&mut self, ask: AskId) -> bool {
        let before = self.acts.len();
        self.acts.retain(|act| act.id != ask);
        self.acts.len() < before
    }
}
