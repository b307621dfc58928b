//! What happens to a call, and what it signals.
use alloc::sync::Arc;
use alloc::vec::Vec;

use machine_core::Text;
use machine_core::access::Access;
use machine_core::ask::{
    Approval, Cause, Executed, HookError, Prepared, Question, Subject, WithdrawnBecause,
};
use machine_core::event::Event as Report;
use machine_core::machine::Kind;
use machine_core::message::Content;
use machine_core::outcome::{Settlement, SkipCode, ToolResult};
use serde::{Deserialize, Serialize};

/// What happens to a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Event {
    /// `Prepare` was answered.
    Prepared(Prepared),
    /// `Approve` was answered.
    Approved {
        /// How.
        approval: Approval,
        /// The rule that decided; none if it was a person (C16).
        rule: Option<Text>,
    },
    /// The batch lets it start (B04).
    Start,
    /// The batch, or a policy, answers it unstarted.
    Skip(SkipCode),
    /// `Execute` was answered.
    Executed(Executed),
    /// Nobody will answer `Execute`.
    Lost,
    /// Output on the way.
    Output(Content),
    /// Progress on the way.
    Progress(Text),
    /// The work goes on in the background; this is the answer (C08).
    Detached(Content),
    /// `Finalize` was answered.
    Finalized(Arc<ToolResult>),
    /// The hook behind an open question failed (H02).
    HookFailed(Arc<HookError>),
    /// Its time is up (C10).
    TimeUp,
    /// The grace of its cancellation is over (X03).
    GraceOver,
    /// It alone is cancelled (C13), or the session closes (A19).
    Cancel(Arc<Cause>),
    /// Its turn is aborted (X03).
    Abort(Arc<Cause>),
    /// A prompt joined its turn (C14).
    Steered,
    /// Its turn begins to wait for it (C15).
    Awaited {
        /// Wall time, milliseconds.
        now: u64,
    },
    /// It is stopped again, by its turn or by the session's close: no grace (X04).
    Hurry,
    /// The process that ran it is gone (J05). `left`: its execution may have left that process.
    Crash {
        /// Whether the act is recorded.
        left: bool,
    },
    /// The engine is faulted (A22).
    Fault,
}

impl Kind for Event {
    fn kind(&self) -> &'static str {
        match self {
            Self::Prepared(_) => "Prepared",
            Self::Approved { .. } => "Approved",
            Self::Start => "Start",
            Self::Skip(_) => "Skip",
            Self::Executed(_) => "Executed",
            Self::Lost => "Lost",
            Self::Output(_) => "Output",
            Self::Progress(_) => "Progress",
            Self::Detached(_) => "Detached",
            Self::Finalized(_) => "Finalized",
            Self::HookFailed(_) => "HookFailed",
            Self::TimeUp => "TimeUp",
            Self::GraceOver => "GraceOver",
            Self::Cancel(_) => "Cancel",
            Self::Abort(_) => "Abort",
            Self::Steered => "Steered",
            Self::Awaited { .. } => "Awaited",
            Self::Hurry => "Hurry",
            Self::Crash { .. } => "Crash",
            Self::Fault => "Fault",
        }
    }
}

/// What a call signals to the adapter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Signal {
    /// Ask the host.
    Ask(Question),
    /// Take an ask back, if it is open.
    Withdraw(Subject, WithdrawnBecause),
    /// It is classified: this is what it touches.
    Planned(Access),
    /// Before [`Signal::Planned`]: it may end its batch, so later calls wait for its answer (T17).
    MayStopBatch,
    /// It will never run: it touches nothing, and waits for nothing.
    NeverRuns,
    /// It wants to start.
    Enqueue,
    /// It is answered, once (V13).
    Answered {
        /// How.
        settlement: Settlement,
        /// Whether that is an acknowledgement (C08).
        background: bool,
    },
    /// Its failure is fatal, by its own word (C09).
    Fatal,
    /// It is answered and works on in the background; whether it keeps its accesses (B07).
    Detached {
        /// Keep them.
        keep_access: bool,
        /// What it is answered with (A25).
        told: Settlement,
    },
    /// It is answered and does not stop; it keeps slot and accesses (B07).
    Deaf {
        /// What it is answered with (A25).
        told: Settlement,
    },
    /// Its background work ended; told once (A20).
    BackgroundEnded(Settlement),
    /// What came after the engine had answered it (X06).
    Late(Settlement),
    /// Its work is over, once.
    Ended,
    /// Tell the host.
    Report(Report),
}

/// What a call sees of the world around it, and where its signals go.
pub struct Ctx<'c> {
    /// In order.
    pub signals: &'c mut Vec<Signal>,
    /// Whether results are finalized (C11).
    pub finalize: bool,
    /// The grace of a cancellation, milliseconds (X03).
    pub grace_ms: u64,
    /// How many characters of output pieces are kept (V15).
    pub output_chars: usize,
    /// How many characters of a progress text are shown (C07).
    pub progress_chars: usize,
    /// Whether a prompt that joined the turn waits for its next step (C14).
    pub steered: bool,
}

impl Ctx<'_> {
    pub(crate) fn send(&mut self, signal: Signal) {
        self.signals.push(signal);
    }
}
