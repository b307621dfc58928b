//! How a tool call ends: closed code lists, each with one fixed wording (V12), and what a tool brings (V14).
use alloc::format;
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Text;
use crate::ask::{By, Cause};
use crate::message::{Content, Part};

/// How a call ended (V12). Any outcome closes its call (V13).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Outcome {
    /// It did what was asked.
    Ok,
    /// It did not.
    Error {
        /// Why.
        code: ErrorCode,
    },
    /// A person, a rule or a hook said no.
    Denied {
        /// Their reason.
        reason: Text,
    },
    /// It was never started.
    NotStarted {
        /// Why.
        code: SkipCode,
    },
    /// It was cancelled before it brought a result.
    Cancelled {
        /// Whether it may have had an effect.
        may_have_run: bool,
    },
    /// Its time was up.
    TimedOut {
        /// Whether it may have had an effect.
        may_have_run: bool,
    },
    /// Its execution was lost: crash, hand-over, fork.
    Unknown,
}

/// Why a call ended in an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The tool said so.
    Failed,
    /// The tool panicked.
    Panicked,
    /// The tool ended without a result.
    NoResult,
    /// The tool's result could not be read.
    MalformedResult,
    /// There is no such tool.
    UnknownTool,
    /// The arguments do not fit the tool's schema.
    InvalidArguments,
    /// The arguments are not a JSON object (V09).
    BadJson,
    /// The tool's name is empty or illegal (V10).
    IllegalName,
    /// A hook before the call failed (H02).
    HookFailed,
    /// The result could not be finalized (C11).
    Withheld,
}

/// Why a call was never started. The list is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipCode {
    /// The response was cut at the output limit.
    Truncated,
    /// The provider paused the response.
    Suspended,
    /// The response ended for an unknown reason.
    Other,
    /// The provider withheld the response.
    Filtered,
    /// The turn was aborted.
    Abort,
    /// The process died before it started.
    Crash,
    /// An earlier call of the batch ended the batch.
    BatchStopped,
    /// A sibling failed fatally.
    SiblingFatal,
    /// The same call brought the same result too often.
    Repeat,
    /// A hook left it out.
    Hook,
    /// What it needs is held by a call that does not stop.
    Busy,
    /// A bound was exceeded.
    Limit,
    /// Nobody answered its approval in time.
    ApprovalExpired,
    /// The turn's token budget is used up.
    Budget,
    /// A steered prompt cut it.
    Steer,
}

impl Outcome {
    /// An error with this code.
    pub fn error(code: ErrorCode) -> Self {
        Self::Error { code }
    }

    /// Never started, for this reason.
    pub fn skipped(code: SkipCode) -> Self {
        Self::NotStarted { code }
    }

    /// Whether the call did what was asked.
    pub fn is_ok(&self) -> bool {
        matches!(self, Self::Ok)
    }

    /// What the model reads when there is no output, or before it: one fixed wording per code.
    pub fn wording(&self, cause: Option<&Cause>) -> Text {
        let by_user = cause.is_some_and(Cause::is_by_user);
        let reason =
            cause.and_then(|c| c.reason.as_deref()).map(|r| format!(" Reason: {r}.")).unwrap_or_default();
        match self {
            Self::Ok => "The tool ran and returned no output.".into(),
            Self::Error { code } => code.wording().into(),
            Self::Denied { reason } => format!("Permission for this call was denied: {reason}").into(),
            Self::NotStarted { code: SkipCode::Abort } if by_user => {
                format!("The user stopped the turn on purpose before this call started; it did not run.{reason}").into()
            }
            Self::NotStarted { code } => code.wording().into(),
            Self::Cancelled { may_have_run } => {
                let who = match cause.map(|cause| cause.by) {
                    Some(By::User) => "The user cancelled this call on purpose.",
                    Some(By::Steer) => "The user sent a new message, which cut this call off.",
                    Some(By::TurnEnd) => "This call was cancelled because its turn ended.",
                    _ => "This call was cancelled.",
                };
                format!("{who}{reason}{}", doubt(*may_have_run)).into()
            }
            Self::TimedOut { may_have_run } => {
                format!("The time for this call was up.{}", doubt(*may_have_run)).into()
            }
            Self::Unknown => {
                "The execution of this call was lost; its outcome is not known. Check its effects before you repeat it."
                    .into()
            }
        }
    }
}

fn doubt(may_have_run: bool) -> &'static str {
    if may_have_run {
        " Whether it had an effect is not known: check before you repeat it."
    } else {
        " It did not run."
    }
}

impl ErrorCode {
    fn wording(self) -> &'static str {
        match self {
            Self::Failed => "The tool failed.",
            Self::Panicked => "The tool crashed; it may have had an effect.",
            Self::NoResult => "The tool ended without a result.",
            Self::MalformedResult => "The tool's result could not be read.",
            Self::UnknownTool => "There is no tool of this name.",
            Self::InvalidArguments => "The arguments do not fit the tool.",
            Self::BadJson => "The arguments are not a JSON object; the call did not run.",
            Self::IllegalName => "The tool's name is empty or illegal; the call did not run.",
            Self::HookFailed => "A check before this call failed; the call did not run.",
            Self::Withheld => "The tool ran, but its result is withheld.",
        }
    }
}

impl SkipCode {
    fn wording(self) -> &'static str {
        match self {
            Self::Truncated => {
                "Not run: your response was cut at the output limit. Send the call again, smaller if it can be."
            }
            Self::Suspended => "Not run: the provider paused your response. Send the call again.",
            Self::Other => "Not run: your response ended for an unknown reason. Send the call again.",
            Self::Filtered => "Not run: the provider withheld your response.",
            Self::Abort => "Not run: the turn was aborted before this call started.",
            Self::Crash => "Not run: the process ended before this call started. You may send it again.",
            Self::BatchStopped => "Not run: an earlier call of this response ended the batch.",
            Self::SiblingFatal => "Not run: another call of this response failed fatally.",
            Self::Repeat => "Not run: this call was made before with the same result. Try something else.",
            Self::Hook => "Not run: a check before this call left it out.",
            Self::Busy => {
                "Not run: what it needs is still held by a call that does not stop. Try again later."
            }
            Self::Limit => {
                "Not run: a limit was exceeded (calls in one response, the size of its arguments, or steps)."
            }
            Self::ApprovalExpired => {
                "Not run: nobody answered the request for approval in time. It was not denied."
            }
            Self::Budget => "Not run: the token budget of this turn is used up.",
            Self::Steer => "Not run: the user sent a new message first.",
        }
    }
}

/// What a tool brings, or a hook in its place (V14).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolResult {
    /// Whether it failed.
    pub is_error: bool,
    /// What it says. With a finalizer it comes with the answer of `Finalize`, not before (C11).
    pub output: alloc::vec::Vec<Part>,
    /// For the model only; stands after the output and is not counted against the output limit.
    pub note: Option<Text>,
    /// The hook that added `note` or `deliver` while the result was finalized; they count as its text (H09).
    pub hook: Option<Text>,
    /// Ends the turn after the batch, with this reason, if the outcome is `Ok` (T17).
    pub stop_turn: Option<Text>,
    /// Whether its failure is fatal for the turn, by policy (C09); means nothing unless it failed.
    pub fatal: bool,
    /// A message that goes in after the batch's last result (A05).
    pub deliver: Option<Content>,
    /// The tool cut the output itself.
    pub truncated: bool,
    /// Where the full output lies.
    pub spill: Option<Text>,
    /// The output limit does not apply (V15).
    pub keep_whole: bool,
}

impl ToolResult {
    /// A text.
    pub fn text(text: impl Into<Text>) -> Self {
        Self { output: alloc::vec![Part::text(text)], ..Self::default() }
    }

    /// A failure with its text.
    pub fn error(text: impl Into<Text>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// The outcome it stands for.
    pub fn outcome(&self) -> Outcome {
        if self.is_error { Outcome::error(ErrorCode::Failed) } else { Outcome::Ok }
    }
}

/// An outcome with what belongs to it: how a call is answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Settlement {
    /// How it ended.
    pub outcome: Outcome,
    /// What it brought, if anything.
    pub result: Option<Arc<ToolResult>>,
    /// Why it was cancelled, if it was (X01).
    pub cause: Option<Arc<Cause>>,
}

impl Settlement {
    /// An outcome without output.
    pub fn bare(outcome: Outcome) -> Self {
        Self { outcome, result: None, cause: None }
    }

    /// A result with the outcome that it stands for.
    pub fn of(result: &Arc<ToolResult>) -> Self {
        Self { outcome: result.outcome(), result: Some(result.clone()), cause: None }
    }

    /// Whether it is a failure that its tool calls fatal (C09).
    pub fn is_fatal(&self) -> bool {
        let fatal = self.result.as_ref().is_some_and(|result| result.fatal);
        fatal && matches!(self.outcome, Outcome::Error { .. })
    }

    /// Output that was not finalized goes no further, whatever the host brought with it (C11).
    pub fn without_output(self) -> Self {
        let strip = |result: Arc<ToolResult>| match result.output.is_empty() {
            true => result,
            false => Arc::new(ToolResult { output: alloc::vec::Vec::new(), ..(*result).clone() }),
        };
        Self { result: self.result.map(strip), ..self }
    }

    /// An abort wins over a time that was up before (C10).
    pub fn aborted(&mut self, by: &Arc<Cause>) {
        if matches!(self.outcome, Outcome::TimedOut { .. }) {
            self.outcome = Outcome::Cancelled { may_have_run: true };
            self.cause = Some(by.clone());
        }
    }

    /// An outcome that explains itself in `text`.
    pub fn explained(outcome: Outcome, text: impl Into<Text>) -> Self {
        let result = ToolResult { is_error: true, ..ToolResult::text(text) };
        Self { outcome, result: Some(Arc::new(result)), cause: None }
    }
}
