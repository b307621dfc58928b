//! Choices between ways to behave: each a typed setting with its default.
use serde::{Deserialize, Serialize};

/// What the end of a turn means for a call that still works in the background (C15). The model is told in the
/// acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtTurnEnd {
    /// Nothing: it goes on.
    #[default]
    GoOn,
    /// Where the model is done, the turn waits for it; an end in that time leads to another step.
    Wait {
        /// At most so many milliseconds.
        ms: u64,
    },
    /// It is cancelled, with the grace of X03, however the turn ends.
    Cancel,
}

/// What a failure means that its tool calls fatal (C09).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fatal {
    /// No more than any other failure.
    #[default]
    Ignore,
    /// Siblings that have not started do not start, and the turn fails after the batch.
    Stop,
}

/// What becomes of the outcome of a call that the engine had answered itself (X06).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LateResults {
    /// It is an event.
    #[default]
    Drop,
    /// It is an event, and the model reads it at the next drain or turn start; it does not wake.
    Notify,
}

/// What a failed turn means for pending input (A14). A dead process is none: what waited for it is always held
/// (J05).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterFailure {
    /// It is kept until the next `submit`, `notify` or `resume`.
    #[default]
    Hold,
    /// It starts the next turn.
    GoOn,
}

/// What an aborted turn means for pending input, whoever aborted (A15).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterAbort {
    /// Prompts go on. After a user's abort, input for the next step does not start a turn alone.
    #[default]
    GoOn,
    /// Both lanes are kept until the next `submit`, `notify` or `resume`.
    Hold,
    /// What is pending at the abort and has an id goes back to its senders, and stands in the end of the turn.
    GiveBack,
}
