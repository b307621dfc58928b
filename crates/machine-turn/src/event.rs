//! What happens to a turn, and what it signals.
use alloc::sync::Arc;
use alloc::vec::Vec;

use machine_core::Text;
use machine_core::ask::{Cause, Gated, HookError, Question, Recovery, StopVerdict, Subject};
use machine_core::config::Config;
use machine_core::drain::Pending;
use machine_core::event::{Event as Report, TurnEnd, TurnError};
use machine_core::ids::{AttemptId, CallId};
use machine_core::machine::Kind;
use machine_core::message::{Content, Said};
use machine_core::response::{Finished, ModelError, ModelEvent};
use serde::{Deserialize, Serialize};

use crate::attempt::Response;

/// What happens to a turn.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Event {
    /// `Gate` was answered.
    Gated(Gated),
    /// The model's stream.
    Model(ModelEvent),
    /// The stream ended properly.
    Finished(Arc<Finished>),
    /// The attempt failed.
    Failed(Arc<ModelError>),
    /// The time for the next model event is up (M13).
    IdleOver,
    /// `Recover` was answered.
    Recovered(Recovery),
    /// The wait before the next attempt is over.
    BackoffOver,
    /// Every call of the batch is answered.
    BatchDone {
        /// The first result that ends the turn, in call order (T17).
        stopped_by: Option<(CallId, Text)>,
    },
    /// A call of the batch repeats itself too often: the turn ends when the batch is over (T19).
    Repeated,
    /// A call of the batch failed fatally (C09).
    FatalCall(Arc<TurnError>),
    /// What waits, in answer to [`Signal::Look`].
    Pending(Pending),
    /// Something came while it waits for background calls, or there is none left (C15).
    Stirred,
    /// The time to wait for background calls is up (C15).
    WaitOver,
    /// `Stop` was answered.
    Stopped(StopVerdict),
    /// The hook behind the open question failed (H02).
    HookFailed(Arc<HookError>),
    /// Somebody stops the turn.
    Abort(Arc<Cause>),
    /// They stop it again: no grace (X04).
    Hurry,
    /// The process that ran it is gone (J05). `waiting`: a call waits for an approval, so the turn lives on.
    Crash {
        /// Whether a call waits for an approval.
        waiting: bool,
    },
    /// The engine is faulted (A22).
    Fault(Text),
}

impl Kind for Event {
    fn kind(&self) -> &'static str {
        match self {
            Self::Gated(_) => "Gated",
            Self::Model(_) => "Model",
            Self::Finished(_) => "Finished",
            Self::Failed(_) => "Failed",
            Self::IdleOver => "IdleOver",
            Self::Recovered(_) => "Recovered",
            Self::BackoffOver => "BackoffOver",
            Self::BatchDone { .. } => "BatchDone",
            Self::Repeated => "Repeated",
            Self::FatalCall(_) => "FatalCall",
            Self::Stirred => "Stirred",
            Self::WaitOver => "WaitOver",
            Self::Pending(_) => "Pending",
            Self::Stopped(_) => "Stopped",
            Self::HookFailed(_) => "HookFailed",
            Self::Abort(_) => "Abort",
            Self::Hurry => "Hurry",
            Self::Crash { .. } => "Crash",
            Self::Fault(_) => "Fault",
        }
    }
}

/// What a turn signals to the adapter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Signal {
    /// Ask the host.
    Ask(Question),
    /// Take an ask back, if it is open: its state was left.
    Withdraw(Subject),
    /// Check history, then ask for this attempt.
    Request(AttemptId),
    /// Put the gate's messages into history (T14).
    Gate(Vec<Said>),
    /// Commit the response; its calls become the batch.
    Respond(Response),
    /// Commit the visible text of an aborted response (M11).
    Salvage(Content),
    /// Commit the marker of a user's abort (X07).
    Marker,
    /// Tell what waits: [`Event::Pending`] is the answer, in the same `handle`.
    Look,
    /// Put what waits into history (T14).
    Drain,
    /// Wait for background calls, so long at most (C15).
    Wait {
        /// In milliseconds.
        ms: u64,
    },
    /// Messages of the stop hook, for the next-step lane.
    Continue(Vec<Said>),
    /// Stop the batch (X03).
    AbortCalls(Arc<Cause>),
    /// Stop the batch without grace (X04).
    HurryCalls,
    /// It is over.
    Ended(TurnEnd),
    /// Tell the host.
    Report(Report),
}

/// What a turn sees of the world around it, and where its signals go.
pub struct Ctx<'c> {
    /// In order.
    pub signals: &'c mut Vec<Signal>,
    /// The configuration of this turn.
    pub config: &'c Config,
    /// Wall time, milliseconds.
    pub now: u64,
}

impl Ctx<'_> {
    pub(crate) fn send(&mut self, signal: Signal) {
        self.signals.push(signal);
    }

    pub(crate) fn report(&mut self, report: Report) {
        self.signals.push(Signal::Report(report));
    }
}
