//! Everything the engine reports. Durable events, in order, fold to exactly `history()` (E01); live ones are
//! for watching. Numbers are given by the recorder, not here.
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::Text;
use crate::ask::{Approval, HookError};
use crate::config::Settings;
use crate::digest::Digest;
use crate::history::Edit;
use crate::ids::{AskId, AttemptId, CallId, InputId, StepId, TurnId};
use crate::message::Entry;
use crate::outcome::Outcome;
pub use crate::receipt::{DroppedBecause, HeldBecause, Receipt};
use crate::response::{Finish, ModelError, ModelEvent};
use crate::usage::{Usage, UsageSum};

mod ending;

pub use ending::{EndReason, TurnError};

/// One event.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// What became of an input (E08).
    Receipt {
        /// The input.
        input: InputId,
        /// What became of it.
        receipt: Receipt,
    },
    /// A pending prompt says something else now (A23).
    Replaced {
        /// The prompt.
        input: InputId,
    },
    /// A turn began.
    TurnStarted {
        /// The turn.
        turn: TurnId,
        /// The prompt that opened it.
        prompt: Option<InputId>,
    },
    /// A turn ended (T18).
    TurnEnded(TurnEnd),
    /// A step began, after its gate (T05).
    StepStarted {
        /// The step.
        step: StepId,
    },
    /// A step ended.
    StepEnded {
        /// The step.
        step: StepId,
        /// Why it was cut short, if it was (T06).
        sealed: Option<Sealed>,
    },
    /// A request is about to leave.
    AttemptStarted {
        /// The attempt.
        attempt: AttemptId,
        /// System text and settings, when they differ from the last attempt's (T21).
        with: Option<Arc<RequestHead>>,
    },
    /// A response is complete, or failed.
    AttemptEnded {
        /// The attempt.
        attempt: AttemptId,
        /// How.
        end: AttemptEnd,
        /// What it cost, where known (U02).
        usage: Option<Usage>,
        /// The provider's id of the request (M14).
        request_id: Option<Text>,
    },
    /// What an attempt had streamed is void (M02).
    AttemptDiscarded {
        /// The attempt.
        attempt: AttemptId,
    },
    /// A failed attempt will be repeated after a wait (M07).
    Retrying {
        /// The failed attempt.
        failed: AttemptId,
        /// The number of the next try, from 1.
        next: u32,
        /// How many there are at most.
        max: u32,
        /// The wait, in milliseconds.
        delay_ms: u64,
        /// Why it failed.
        error: Arc<ModelError>,
    },
    /// A recovery was carried out (M08).
    Remedied {
        /// The failed attempt.
        attempt: AttemptId,
        /// The strategy's name.
        strategy: Text,
        /// What it cost.
        usage: Option<Usage>,
    },
    /// An entry went into history, at this position.
    Committed {
        /// Its position, from 0.
        at: usize,
        /// The entry.
        entry: Arc<Entry>,
    },
    /// History was edited (A18).
    Edited {
        /// How.
        edit: Arc<Edit>,
    },
    /// An edit was refused; history is as it was.
    EditRefused {
        /// Why.
        why: Text,
    },
    /// A call was asked for, with its original arguments (E06).
    CallAnnounced {
        /// The call.
        call: CallId,
        /// Its id on the wire.
        wire: Text,
        /// Its tool.
        tool: Text,
        /// Its arguments.
        args: Text,
    },
    /// A call needs an approval (C04).
    ApprovalAsked {
        /// The call.
        call: CallId,
        /// Its tool.
        tool: Text,
        /// Its final arguments.
        args: Text,
        /// Over tool and final arguments.
        digest: Digest,
    },
    /// An approval was answered.
    ApprovalAnswered {
        /// The call.
        call: CallId,
        /// How.
        approval: Approval,
        /// The rule that decided; none if it was a person (C16).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<Text>,
    },
    /// A call is about to run, with its final arguments (C06).
    CallStarted {
        /// The call.
        call: CallId,
        /// Its final arguments.
        args: Text,
    },
    /// A call detached: it is answered and works on (C08).
    CallDetached {
        /// The call.
        call: CallId,
    },
    /// A call was answered (V13).
    CallSettled {
        /// The call.
        call: CallId,
        /// How.
        outcome: Outcome,
        /// Whether that is an acknowledgement, and the work goes on in the background (C08).
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        background: bool,
    },
    /// The turn would end, and waits for background calls (C15).
    TurnWaits {
        /// The turn.
        turn: TurnId,
        /// The calls.
        calls: Arc<[CallId]>,
        /// At most so long, in milliseconds.
        ms: u64,
    },
    /// A background call ended (A20).
    BackgroundEnded {
        /// The call.
        call: CallId,
        /// How.
        outcome: Outcome,
    },
    /// The outcome of a call that the engine had answered itself (X06).
    LateResult {
        /// The call.
        call: CallId,
        /// How it ended after all.
        outcome: Outcome,
    },
    /// A hook did not answer properly; what follows depends on its question (H02).
    HookFailed {
        /// The question's name.
        question: Text,
        /// What went wrong.
        error: Arc<HookError>,
    },
    /// Hooks said more in this turn than they may: this message was cut (H09).
    HookTextCut {
        /// Whose message.
        hook: Text,
        /// Its length, in characters.
        chars: usize,
        /// How many of them are in it still.
        kept: usize,
    },
    /// The stop hook wanted to go on once too often (T16).
    HookOverruled {
        /// The turn.
        turn: TurnId,
    },
    /// Pending input is held (A14).
    Held {
        /// Why.
        why: HeldBecause,
    },
    /// What was held is released.
    Released,
    /// No turn will start (A12).
    Paused,
    /// Turns may start again.
    Resumed,
    /// Maintenance began (A17).
    MaintenanceStarted {
        /// Which.
        n: u32,
    },
    /// Maintenance is over; unless done, history is as it was.
    MaintenanceEnded {
        /// Which.
        n: u32,
        /// How.
        end: MaintenanceEnd,
    },
    /// The configuration changed, for the next turn.
    Configured,
    /// What a dead process left open was closed (J05).
    Recovered,
    /// This opening is over (A19).
    Closed,
    /// The engine stopped (A22).
    Faulted {
        /// Why.
        cause: Text,
    },
    /// Live: more of a response (E05).
    Delta {
        /// Its attempt.
        attempt: AttemptId,
        /// What came.
        delta: ModelEvent,
    },
    /// Live: what a call does just now (C07).
    Progress {
        /// The call.
        call: CallId,
        /// For people.
        text: Text,
    },
    /// Live: an answer or piece that fits nothing; the engine is as before (E07).
    Stray {
        /// The ask that it named.
        ask: AskId,
    },
}

impl Event {
    /// Whether it belongs to the record (E01).
    pub fn is_durable(&self) -> bool {
        !matches!(self, Self::Delta { .. } | Self::Progress { .. } | Self::Stray { .. })
    }
}

/// The end of a turn, a value (T18).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TurnEnd {
    /// The turn.
    pub turn: TurnId,
    /// Why it ended.
    pub reason: EndReason,
    /// Model responses it took.
    pub steps: u32,
    /// Tokens of all its attempts.
    pub usage: UsageSum,
    /// Whether a response was cut at the output limit (T10).
    pub truncated: bool,
    /// What an abort gave back to its senders, by policy (A15).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub returned: Vec<InputId>,
}

/// Why a step was cut short (T06).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sealed {
    /// The turn was aborted.
    Aborted,
    /// The turn failed.
    Failed,
    /// The process died.
    Interrupted,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptEnd {
    /// With a response.
    Finished {
        /// Normalised.
        finish: Finish,
        /// The provider's own word.
        raw: Option<Text>,
        /// Milliseconds to the first token.
        first_token_ms: Option<u64>,
    },
    /// It failed.
    Failed(Arc<ModelError>),
    /// It was cancelled.
    Cancelled,
}

/// What a request is made with, besides history (T21).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RequestHead {
    /// Why it is told.
    pub why: HeadTold,
    /// System text.
    pub system: Text,
    /// Model and settings.
    pub settings: Arc<Settings>,
}

/// Why a request's head is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeadTold {
    /// The first request of the session.
    First,
    /// The first request after what a dead process left open was closed.
    Resumed,
    /// It differs from the last.
    Changed,
}

/// How maintenance ended (A17).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaintenanceEnd {
    /// Its edits hold.
    Done,
    /// It failed; its edits are undone.
    Failed(Arc<HookError>),
    /// It was stopped; its edits are undone.
    Aborted,
}
