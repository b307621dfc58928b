//! The state as a host reads it: which state each machine is in, and what it waits for (H07).
use alloc::vec::Vec;

use machine_core::Text;
use machine_core::ids::{AttemptId, CallId, StepId, TurnId};
use machine_core::machine::Path;
use machine_core::usage::UsageSum;
use serde::Serialize;

use crate::asks::Open;
use crate::engine::Engine;

/// A state's names, root first.
pub type Names = &'static [&'static str];

/// The whole state, without payloads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct View {
    /// The agent's state.
    pub agent: Names,
    /// Whether it is paused.
    pub paused: bool,
    /// Prompts that wait for a turn.
    pub queued_prompts: usize,
    /// Inputs that wait for the next step.
    pub next_step: usize,
    /// The running turn.
    pub turn: Option<TurnView>,
    /// Every call that is not over, in call order.
    pub calls: Vec<CallView>,
    /// What is waited for, oldest first.
    pub waits: Vec<Open>,
}

/// A running turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TurnView {
    /// Its id.
    pub id: TurnId,
    /// Its state.
    pub state: Names,
    /// Its current step.
    pub step: StepId,
    /// Its latest attempt; serial 0 before the first.
    pub attempt: AttemptId,
    /// Model responses so far.
    pub responses: u32,
    /// Tokens so far.
    pub usage: UsageSum,
}

/// A call that is not over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallView {
    /// Its id.
    pub id: CallId,
    /// Its tool.
    pub tool: Text,
    /// Its state.
    pub state: Names,
}

impl Engine {
    /// The state as it is now.
    pub fn state(&self) -> View {
        let agent = self.agent();
        let turn = self.turn().map(|turn| TurnView {
            id: turn.data().id,
            state: turn.state().path(),
            step: turn.data().step_id(),
            attempt: turn.data().attempt_id(),
            responses: turn.data().responses,
            usage: turn.data().usage,
        });
        let calls = self
            .calls()
            .map(|call| CallView {
                id: call.data().id,
                tool: call.data().tool.clone(),
                state: call.state().path(),
            })
            .collect();
        View {
            agent: agent.state().path(),
            paused: agent.data().paused,
            queued_prompts: agent.data().inbox.queue.len(),
            next_step: agent.data().inbox.lane.len(),
            turn,
            calls,
            waits: self.outstanding().cloned().collect(),
        }
    }
}
