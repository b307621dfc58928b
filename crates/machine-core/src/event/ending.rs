//! Why a turn ended (T18).
use alloc::sync::Arc;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::Text;
use crate::ask::{Cause, HookError};
use crate::ids::{AttemptId, CallId};
use crate::response::ModelError;

/// Why a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The model was done, or a tool's result stopped it.
    Completed {
        /// The call whose result stopped it, with its reason (T17).
        stopped_by: Option<(CallId, Text)>,
    },
    /// A response was cut at the output limit (T09, T10).
    MaxTokens,
    /// The provider paused it.
    Suspended,
    /// The response ended for an unknown reason.
    Other,
    /// The provider withheld a response.
    Filtered,
    /// Paused at a drain (A12).
    Paused,
    /// The gate said no.
    Blocked(Text),
    /// `max_steps` was reached (T12).
    StepLimit,
    /// A call was repeated too often (T19).
    RepeatLimit,
    /// `max_tokens` was passed (U04).
    BudgetLimit,
    /// Somebody stopped it.
    Aborted(Arc<Cause>),
    /// It could not go on.
    Failed(Arc<TurnError>),
    /// The process died (J05).
    Interrupted,
}

impl EndReason {
    /// Completed without being stopped.
    pub const DONE: Self = Self::Completed { stopped_by: None };

    /// Its name in snake case.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Completed { .. } => "completed",
            Self::MaxTokens => "max_tokens",
            Self::Suspended => "suspended",
            Self::Other => "other",
            Self::Filtered => "filtered",
            Self::Paused => "paused",
            Self::Blocked(_) => "blocked",
            Self::StepLimit => "step_limit",
            Self::RepeatLimit => "repeat_limit",
            Self::BudgetLimit => "budget_limit",
            Self::Aborted(_) => "aborted",
            Self::Failed(_) => "failed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// In a few words, as they stand after "turn": `failed: …`, `stopped at the step limit`.
impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::Completed { stopped_by: None } => "completed",
            Self::Completed { stopped_by: Some((call, why)) } => {
                return write!(f, "completed by call {call}: {why}");
            }
            Self::MaxTokens => "cut at the output limit of the model",
            Self::Suspended => "paused by the provider",
            Self::Other => "ended by the provider for an unknown reason",
            Self::Filtered => "withheld by the provider",
            Self::Paused => "paused",
            Self::Blocked(why) => return write!(f, "blocked: {why}"),
            Self::StepLimit => "stopped at the step limit",
            Self::RepeatLimit => "stopped at the limit of equal calls",
            Self::BudgetLimit => "stopped at the limit of tokens",
            Self::Aborted(cause) => return write!(f, "aborted by {cause}"),
            Self::Failed(error) => return write!(f, "failed: {error}"),
            Self::Interrupted => "interrupted by the end of its process",
        };
        f.write_str(words)
    }
}

/// Why a turn could not go on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum TurnError {
    /// A model attempt failed for good.
    #[error("model: {error}")]
    Model {
        /// The last failure.
        error: Arc<ModelError>,
        /// The attempt.
        attempt: AttemptId,
    },
    /// The server asks for a longer wait than is allowed (M06).
    #[error("rate limited: the server asks to wait {retry_after_ms} ms")]
    RateLimited {
        /// How long.
        retry_after_ms: u64,
        /// The failure.
        error: Arc<ModelError>,
    },
    /// The model answered with nothing, again and again (T11).
    #[error("the model answered with nothing {tries} times")]
    EmptyResponse {
        /// How often.
        tries: u32,
    },
    /// The request does not fit and nothing helped (M09).
    #[error("the request does not fit the context window: {error}")]
    ContextOverflow {
        /// The failure.
        error: Arc<ModelError>,
    },
    /// The gate failed (T02).
    #[error("the gate failed: {0}")]
    Gate(Arc<HookError>),
    /// A call failed fatally, and the policy is to stop (C09).
    #[error("call {call} failed fatally: {text}")]
    FatalCall {
        /// The call.
        call: CallId,
        /// The beginning of its result.
        text: Text,
    },
    /// The engine is faulted (A22).
    #[error("the engine is faulted: {0}")]
    Faulted(Text),
}
