//! The one protocol for everything that is asked and answered.
//!
//! Whatever is answered is an [`Ask`] with an [`AskId`]; whatever answers is an [`Answer`] to that id; on the
//! way there may be [`Piece`]s. Nothing is matched by position or by "the latest". An ask is an *act* (an
//! attempt, an execution), which leaves only when the journal is durable up to its input, or a *question*,
//! which leaves at once and may be asked again (J02).
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::Text;
use crate::access::Access;
pub use crate::cause::{By, Cause, Withdrawal, WithdrawnBecause};
use crate::config::{Settings, ToolSpec};
use crate::digest::Digest;
use crate::history::Edit;
use crate::ids::{AskId, AttemptId, CallId, InputId, StepId, TurnId};
use crate::message::{Content, Said};
use crate::outcome::{Outcome, ToolResult};
pub use crate::policy::AtTurnEnd;
use crate::response::{Finished, ModelError, ModelEvent};
use crate::usage::Usage;

/// Something that the engine wants from its host.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ask {
    /// What the answer names.
    pub id: AskId,
    /// Milliseconds after which the host answers `Failed(TimedOut)` itself; none = no bound (H02).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// What is asked.
    #[serde(flatten)]
    pub question: Question,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Question {
    /// May this prompt open a turn, or join one? (A11)
    Screen {
        /// The prompt.
        prompt: InputId,
        /// What it says.
        message: Content,
    },
    /// May this step begin, and with what? (T02) Pieces: edits.
    Gate {
        /// The step.
        step: StepId,
    },
    /// **Act.** Request a response; the rest is in `engine.request(attempt)`. Pieces: model events.
    Attempt {
        /// The attempt.
        attempt: AttemptId,
    },
    /// An attempt failed: what now? (M08) Pieces: edits.
    Recover {
        /// The failed attempt.
        attempt: AttemptId,
        /// Why it failed.
        error: Arc<ModelError>,
        /// Strategies that were used in this step.
        tried: Arc<[Text]>,
    },
    /// Find the tool, validate, classify (C02).
    Prepare {
        /// The call.
        call: CallId,
        /// Its tool.
        tool: Text,
        /// Its arguments, a JSON object.
        args: Text,
    },
    /// May exactly this run? (C04)
    Approve {
        /// The call.
        call: CallId,
        /// Its tool.
        tool: Text,
        /// Its final arguments.
        args: Text,
        /// Over tool and final arguments; the answer repeats it.
        digest: Digest,
    },
    /// **Act.** Run it. Pieces: progress, output, detached.
    Execute {
        /// The call.
        call: CallId,
        /// Its tool.
        tool: Text,
        /// Its final arguments.
        args: Text,
    },
    /// Rewrite the result (C11).
    Finalize {
        /// The call.
        call: CallId,
        /// How it ended.
        outcome: Outcome,
        /// What it brought, where that is not the host's to hold: answers of the preparation, denials.
        result: Option<Arc<ToolResult>>,
    },
    /// The turn would end: may it? (T15)
    Stop {
        /// The turn.
        turn: TurnId,
        /// How often it continued since the last input from outside.
        continued: u32,
    },
    /// Do the maintenance that was begun (A17). Pieces: edits.
    Maintain {
        /// Counts maintenance of this session, from 1.
        n: u32,
    },
    /// Come back after a while.
    Timer {
        /// What for.
        timer: Timer,
        /// In milliseconds.
        ms: u64,
    },
}

/// What a timer is for. One that fires late, or fits nothing any more, is `Stray`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timer {
    /// To request the next attempt (M05).
    Backoff(StepId),
    /// To give up an attempt that went silent (M13).
    StreamIdle(AttemptId),
    /// To cancel a call (C10).
    CallTimeout(CallId),
    /// To answer a cancelled call without its outcome (X03).
    Grace(CallId),
    /// To answer calls that only deaf ones hold up (B07).
    Busy,
    /// To end a turn that waits for background calls (C15).
    TurnWait(TurnId),
}

/// The key of an open ask: what is asked about whom. At most one is open per subject.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Of a prompt.
    Screen(InputId),
    /// Of a step.
    Gate(StepId),
    /// Of an attempt.
    Attempt(AttemptId),
    /// Of a failed attempt.
    Recover(AttemptId),
    /// Of a call.
    Prepare(CallId),
    /// Of a call.
    Approve(CallId),
    /// Of a call.
    Execute(CallId),
    /// Of a call.
    Finalize(CallId),
    /// Of a turn.
    Stop(TurnId),
    /// Of the agent.
    Maintain(u32),
    /// Of whoever waits.
    Timer(Timer),
}

impl Question {
    /// Its key.
    pub fn subject(&self) -> Subject {
        match self {
            Self::Screen { prompt, .. } => Subject::Screen(prompt.clone()),
            Self::Gate { step } => Subject::Gate(*step),
            Self::Attempt { attempt } => Subject::Attempt(*attempt),
            Self::Recover { attempt, .. } => Subject::Recover(*attempt),
            Self::Prepare { call, .. } => Subject::Prepare(*call),
            Self::Approve { call, .. } => Subject::Approve(*call),
            Self::Execute { call, .. } => Subject::Execute(*call),
            Self::Finalize { call, .. } => Subject::Finalize(*call),
            Self::Stop { turn, .. } => Subject::Stop(*turn),
            Self::Maintain { n } => Subject::Maintain(*n),
            Self::Timer { timer, .. } => Subject::Timer(timer.clone()),
        }
    }

    /// The call that it is about, if it is about one.
    pub fn call(&self) -> Option<CallId> {
        match self {
            Self::Prepare { call, .. }
            | Self::Approve { call, .. }
            | Self::Execute { call, .. }
            | Self::Finalize { call, .. } => Some(*call),
            Self::Timer { timer: Timer::CallTimeout(call) | Timer::Grace(call), .. } => Some(*call),
            _ => None,
        }
    }

    /// Whether it may have an effect in the world and so must not leave before the journal is durable, nor be
    /// asked twice (J02).
    pub fn is_act(&self) -> bool {
        matches!(self, Self::Attempt { .. } | Self::Execute { .. })
    }

    /// Its name, as it stands in a trace.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Screen { .. } => "Screen",
            Self::Gate { .. } => "Gate",
            Self::Attempt { .. } => "Attempt",
            Self::Recover { .. } => "Recover",
            Self::Prepare { .. } => "Prepare",
            Self::Approve { .. } => "Approve",
            Self::Execute { .. } => "Execute",
            Self::Finalize { .. } => "Finalize",
            Self::Stop { .. } => "Stop",
            Self::Maintain { .. } => "Maintain",
            Self::Timer { .. } => "Timer",
        }
    }
}

/// What a host answers. One that does not fit its question is `Stray` (E07).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// To `Screen`.
    Screen(Screened),
    /// To `Gate`.
    Gate(Gated),
    /// To `Attempt`: the stream ended properly.
    Finished(Arc<Finished>),
    /// To `Attempt`: it failed.
    AttemptFailed(Arc<ModelError>),
    /// To `Recover`.
    Recover(Recovery),
    /// To `Prepare`.
    Prepare(Prepared),
    /// To `Approve`.
    Approve(Arc<Approved>),
    /// To `Execute`.
    Execute(Executed),
    /// To `Finalize`: the result as it may be told.
    Finalize(Arc<ToolResult>),
    /// To `Stop`.
    Stop(StopVerdict),
    /// To `Maintain`: done.
    Maintained,
    /// To `Timer`.
    Fired,
    /// To a hook's question, an approval or maintenance: it failed, panicked or took too long (H02, H03).
    Failed(Arc<HookError>),
}

/// What comes on the way to an answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// Of an attempt.
    Model(ModelEvent),
    /// Of an execution: what it does just now; for people, never for the model (C07).
    Progress(Text),
    /// Of an execution: output so far. Kept for a result that never comes (X10).
    Output(Content),
    /// Of an execution: the answer is this acknowledgement, the work goes on (C08).
    Detached(Content),
    /// Of a gate, a recovery or maintenance: change history (A18).
    Edit(Arc<Edit>),
}

/// A prompt's verdict (A11).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Screened {
    /// As it is.
    Admit,
    /// With another text.
    Rewrite(Content),
    /// Not at all.
    Block(Text),
}

/// A step's verdict (T02).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gated {
    /// It may begin.
    Proceed(Arc<Proceed>),
    /// The turn ends `Blocked`.
    Block(Text),
}

/// What a step begins with. What is left out stays as configured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Proceed {
    /// The tools on offer in this step.
    pub tools: Option<Arc<[ToolSpec]>>,
    /// System text.
    pub system: Option<Text>,
    /// Model and settings.
    pub settings: Option<Arc<Settings>>,
    /// Messages that go into history before the request, last (T14).
    pub messages: Vec<Said>,
}

/// What to do after a failed attempt (M08).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// Nothing; the cascade goes on (M03).
    Decline,
    /// The turn fails with this error.
    End(Arc<ModelError>),
    /// Ask again now.
    Retry(Arc<Remedy>),
}

/// A recovery that was carried out.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remedy {
    /// Its name. Without progress it is used once per step.
    pub strategy: Text,
    /// Whether something is better now; for an edit: history is smaller by the host's own count.
    #[serde(default)]
    pub progress: bool,
    /// Another request.
    #[serde(default)]
    pub instead: Option<Proceed>,
    /// Whether that holds for the turn, or for the step only.
    #[serde(default)]
    pub for_turn: bool,
    /// What the recovery cost.
    #[serde(default)]
    pub usage: Option<Usage>,
}

/// A call's classification (C02).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prepared {
    /// It may run.
    Ready(Arc<Plan>),
    /// There is no such tool.
    UnknownTool(Text),
    /// The arguments do not fit; all errors are named.
    InvalidArguments(Text),
    /// A hook denies it.
    Denied(Text),
    /// A hook leaves it out.
    Skipped(Text),
    /// A hook answers in its place.
    Answered(Arc<ToolResult>),
}

impl Prepared {
    /// There is no such tool, but these: the model reads their names, joined as they are given.
    pub fn unknown_tool<'t>(known: impl IntoIterator<Item = &'t str>) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        Self::UnknownTool(match &*known.join(", ") {
            "" => "There are no tools now.".into(),
            names => format!("The tools are: {names}.").into(),
        })
    }
}

/// How a call will run, judged on its final arguments (C03).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Plan {
    /// Final arguments; none = as the model gave them.
    pub args: Option<Text>,
    /// What it touches.
    pub access: Access,
    /// Whether someone must approve it.
    pub approval: bool,
    /// Later calls of the batch wait for it; if it ends `Ok` they do not run, and the turn ends (T17).
    pub stop_batch: bool,
    /// Milliseconds it may run (C10).
    pub timeout_ms: Option<u64>,
    /// Keep the accesses when it detaches (B07).
    pub keep_access: bool,
    /// A prompt that joins the turn cancels it, or keeps it from starting (C14). Default: no.
    pub cut_by_steer: bool,
    /// What the end of its turn means for it, if it works in the background then (C15). Default: it goes on.
    pub at_turn_end: AtTurnEnd,
}

/// The answer to an approval (C04).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approved {
    /// The digest that the question carried; another one makes the answer `Stray`.
    pub digest: Digest,
    /// What was decided.
    pub approval: Approval,
    /// The rule that decided; none if it was a person (C16).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Text>,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// It may run.
    Granted,
    /// It may not.
    Denied(Text),
    /// Nobody answered in time.
    Expired,
}

/// How an execution ended (C09).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Executed {
    /// With a result. With a finalizer it has no output: the host keeps that (C11).
    Done(Arc<ToolResult>),
    /// It panicked.
    Panicked(Text),
    /// Its result could not be read.
    Malformed(Text),
    /// It ended without a result; after a withdrawal: it obeyed.
    Nothing,
}

/// Whether a turn may end (T15, T16).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopVerdict {
    /// It may.
    End,
    /// It goes on with these messages; at least one.
    Continue(Arc<[Said]>),
}

/// A hook that did not answer properly.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[error("{kind:?}: {message}")]
pub struct HookError {
    /// What went wrong.
    pub kind: HookFailure,
    /// For people; names the hook.
    pub message: Text,
}

/// What went wrong with a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookFailure {
    /// It returned an error.
    Failed,
    /// It panicked.
    Panicked,
    /// Its time was up.
    TimedOut,
    /// Nobody will answer.
    Lost,
}

impl HookError {
    /// A failure with its message.
    pub fn new(kind: HookFailure, message: impl Into<Text>) -> Arc<Self> {
        Arc::new(Self { kind, message: message.into() })
    }
}
