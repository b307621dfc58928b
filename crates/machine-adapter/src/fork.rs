//! Another session that begins like this one (J08). This one is only read.
use alloc::vec::Vec;

use machine_agent::{Agent, State};
use machine_core::ask::Subject;
use machine_core::history::{History, HistoryError};
use machine_core::ids::CallId;
use machine_core::input::{Command, Input};
use machine_core::machine::Machine;
use machine_core::message::Message;

use crate::engine::{Engine, Told};
use crate::out::Out;

/// Why a session cannot be forked there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForkError {
    /// History is shorter.
    #[error("there are {entries} entries: a fork can begin with 0 to {entries} of them, not with {at}")]
    TooFar {
        /// What was asked for.
        at: usize,
        /// How many there are.
        entries: usize,
    },
    /// Ids of the two sessions could not be told apart (V02).
    #[error("branch {0} is in use in this session: a fork needs another one")]
    SameBranch(u32),
    /// The history is not sound.
    #[error(transparent)]
    History(#[from] HistoryError),
}

impl Engine {
    /// A session of its own, idle, that begins with the first `at` entries of this one. A cut within a batch moves to the
    /// batch's end; calls that have no result yet are closed there, as after a crash. Pending input and background calls
    /// stay here, and nothing crosses afterwards (V02, J08).
    pub fn fork(&self, branch: u32, at: usize) -> Result<Self, ForkError> {
        let entries = self.history.len();
        if at > entries {
            return Err(ForkError::TooFar { at, entries });
        }
        let closed = self.closed();
        let within = closed.history.iter().skip(at).take_while(|e| matches!(e.message, Message::Tool(_)));
        let at = at + within.count();
        let (mut history, mut turns) = (History::new(), 0);
        for entry in closed.history.iter().take(at) {
            if entry.turn.is_some_and(|turn| turn.branch == branch) {
                return Err(ForkError::SameBranch(branch));
            }
            turns = entry.turn.map_or(turns, |turn| turn.turn);
            history.append(entry.clone())?;
        }
        if self.agent.data().branch == branch {
            return Err(ForkError::SameBranch(branch));
        }
        let agent = Agent { turns, ..Agent::new(branch) };
        let told = if history.is_empty() { Told::Nothing } else { Told::Reopened };
        let agent = Machine::resume(agent, State::Ready);
        Ok(Self { agent, history, told, now: self.now, ..Self::begun(branch, self.config.clone()) })
    }

    /// A copy in which every call has its result. What may have run is `Unknown`: it runs on, but not here.
    fn closed(&self) -> Self {
        let mut copy = self.clone();
        let runs = |open: &crate::asks::Open| match open.ask.question.subject() {
            Subject::Execute(call) => Some(call),
            _ => None,
        };
        let ran: Vec<CallId> = self.asks.iter().filter_map(runs).collect();
        let mut out = Out::default();
        for input in [Input::Recovered { ran: ran.into() }, Command::Close.into()] {
            // What is refused has nothing to close.
            let _ = copy.feed(self.now, &input, &mut out);
        }
        copy
    }
}
