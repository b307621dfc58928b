//! What happens to an agent, and what it signals.
use alloc::sync::Arc;
use alloc::vec::Vec;

use machine_core::Text;
use machine_core::ask::{Cause, HookError, Question, Screened, Subject};
use machine_core::config::Config;
use machine_core::drain::Drained;
use machine_core::event::{Event as Report, TurnEnd};
use machine_core::ids::{CallId, InputId, TurnId};
use machine_core::input::{Note, Reminder, Submit};
use machine_core::machine::Kind;
use machine_core::message::Content;
use serde::{Deserialize, Serialize};

use crate::inbox::Waiting;

/// What happens to an agent. Commands are here only after [`crate::admit`] let them through.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Event {
    /// A prompt (A03).
    Submit(Arc<Submit>),
    /// A notification (A03).
    Notify(Arc<Note>),
    /// An injection (A03).
    Inject(Arc<Note>),
    /// A reminder (A07).
    Remind(Arc<Reminder>),
    /// Queued prompts join the running turn (A08).
    Steer(Arc<[InputId]>),
    /// Pending input is taken back (A23).
    Withdraw(InputId),
    /// A pending prompt is changed (A23).
    Replace(InputId, Content),
    /// A background end was told otherwise (C13).
    Consume(CallId),
    /// What runs is stopped.
    Abort(Arc<Cause>),
    /// No turn starts (A12).
    Pause,
    /// Turns start again; whether history ends in something unanswered (A12).
    Resume {
        /// Whether there is something to continue.
        unanswered: bool,
    },
    /// Maintenance begins (A17).
    Maintain,
    /// Maintenance is done; whether it changed history.
    Maintained {
        /// Whether an edit was accepted.
        edited: bool,
    },
    /// This opening ends (A19).
    Close,
    /// A screen's verdict (A11).
    Screened(InputId, Screened),
    /// The hook behind the screen of this prompt failed (A11).
    ScreenFailed(InputId, Arc<HookError>),
    /// The hook behind maintenance failed (A17).
    MaintainFailed(Arc<HookError>),
    /// The running turn takes what waits for its next step (A06).
    Drain,
    /// The running turn's own messages for its next step, in order (T14).
    Own(Vec<Waiting>),
    /// The running turn ended.
    TurnEnded(TurnEnd),
    /// A call outlives its turn (A25).
    Lingers {
        /// The call.
        call: CallId,
        /// Its tool.
        tool: Text,
        /// Whether it works in the background, or is deaf.
        detached: bool,
        /// Milliseconds, wall time.
        since: u64,
        /// What it was answered with.
        told: Content,
    },
    /// A background call's work is over: this is to be told (A20).
    BackgroundEnded {
        /// The call.
        call: CallId,
        /// What to tell.
        content: Content,
        /// Whether it wakes.
        wake: bool,
    },
    /// The outcome of a call that was answered before, for the model to read (X06).
    LateResult {
        /// The call.
        call: CallId,
        /// What to tell.
        content: Content,
    },
    /// A lingering call is gone.
    CallEnded(CallId),
    /// The process that ran it is gone (J05). `alive`: the turn waits for an approval and lives on.
    Crash {
        /// Whether the turn lives on.
        alive: bool,
    },
    /// The engine is faulted (A22). `check`: an internal check failed, history may be replaced.
    Fault {
        /// Why.
        why: Text,
        /// Whether an accepted `Replace` helps.
        check: bool,
    },
}

impl Kind for Event {
    fn kind(&self) -> &'static str {
        match self {
            Self::Submit(_) => "Submit",
            Self::Notify(_) => "Notify",
            Self::Inject(_) => "Inject",
            Self::Remind(_) => "Remind",
            Self::Steer(_) => "Steer",
            Self::Withdraw(_) => "Withdraw",
            Self::Replace(..) => "Replace",
            Self::Consume(_) => "Consume",
            Self::Abort(_) => "Abort",
            Self::Pause => "Pause",
            Self::Resume { .. } => "Resume",
            Self::Maintain => "Maintain",
            Self::Maintained { .. } => "Maintained",
            Self::Close => "Close",
            Self::Screened(..) => "Screened",
            Self::ScreenFailed(..) => "ScreenFailed",
            Self::MaintainFailed(_) => "MaintainFailed",
            Self::Drain => "Drain",
            Self::Own(_) => "Own",
            Self::TurnEnded(_) => "TurnEnded",
            Self::Lingers { .. } => "Lingers",
            Self::BackgroundEnded { .. } => "BackgroundEnded",
            Self::LateResult { .. } => "LateResult",
            Self::CallEnded(_) => "CallEnded",
            Self::Crash { .. } => "Crash",
            Self::Fault { .. } => "Fault",
        }
    }
}

/// What an agent signals to the adapter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Signal {
    /// Ask the host.
    Ask(Question),
    /// Take an ask back, if it is open.
    Withdraw(Subject),
    /// Put this into history.
    Commit(Drained),
    /// Start the turn; everything it begins with is in history.
    StartTurn(TurnId),
    /// Stop the turn (X01).
    AbortTurn(Arc<Cause>),
    /// A prompt joined the turn: what can be cut is cut (C14).
    CutCalls,
    /// Stop it without grace (X04).
    HurryTurn,
    /// End the turn and every call in memory (A22).
    FaultWork(Text),
    /// Cancel the background calls (A19).
    CancelLingering(Arc<Cause>),
    /// Cancel them without grace.
    HurryLingering,
    /// Keep history aside: edits may be undone (A17).
    BeginEdits,
    /// Keep the edits, or undo them.
    EndEdits {
        /// Keep them.
        keep: bool,
    },
    /// Tell the host.
    Report(Report),
}

/// What an agent sees of the world around it, and where its signals go.
pub struct Ctx<'c> {
    /// In order.
    pub signals: &'c mut Vec<Signal>,
    /// The newest configuration.
    pub config: &'c Config,
}

impl Ctx<'_> {
    pub(crate) fn send(&mut self, signal: Signal) {
        self.signals.push(signal);
    }

    pub(crate) fn report(&mut self, report: Report) {
        self.signals.push(Signal::Report(report));
    }
}
