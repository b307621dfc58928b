//! What a turn may do, and what happens at its limits.
use serde::{Deserialize, Serialize};

use super::ConfigError;

/// What a turn may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TurnLimits {
    /// Model responses per turn; none is unlimited, 0 makes no request (T12).
    pub max_steps: Option<u32>,
    /// What happens at that limit (T12).
    pub at_step_limit: AtStepLimit,
    /// What gives a turn its steps again (T12).
    pub budget_reset: BudgetReset,
    /// Tokens of one turn, input and output of all attempts that reported any; none is unlimited, 0 is refused. Once they
    /// are passed, calls do not run and the turn ends; a final answer completes it all the same (U04).
    pub max_tokens: Option<u64>,
    /// Cut responses with calls in a row before the turn ends (T09).
    pub truncated: u32,
    /// What a cut response with calls leads to before that (T09).
    pub on_cut: OnCut,
    /// Run the calls of a response that ended for an unknown reason (T09).
    pub run_calls_of_other: bool,
    /// A result that ends the turn comes before a steered prompt, which then opens the next turn (T13).
    pub stop_first: bool,
    /// How many equal calls with equal results are too many: this one is not run. None = no guard; at least 2 (T19).
    pub repeat: Option<u32>,
    /// Times that an empty response is asked for again, per step (T11).
    pub empty: u32,
    /// Continuations of the stop hook since the last input from outside (T16).
    pub stop_hook: u32,
    /// Recoveries per step (M08).
    pub recoveries: u32,
    /// Recoveries of a context overflow without progress, per step (M09).
    pub compactions: u32,
    /// Milliseconds without a model event before an attempt is cancelled; 0 = off (M13).
    pub stream_idle_ms: u64,
    /// Bytes of one response (A24).
    pub response_bytes: usize,
    /// Calls of one response (A24).
    pub calls: u32,
    /// Bytes of one call's arguments (A24).
    pub argument_bytes: usize,
    /// What becomes of the visible text of an aborted response (M11).
    pub salvage: Salvage,
    /// Characters (Unicode scalar values) of text that hooks may put into history in one turn; the rest is cut (H09).
    pub hook_chars: usize,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self {
            max_steps: None,
            at_step_limit: AtStepLimit::End,
            budget_reset: BudgetReset::Steered,
            max_tokens: None,
            truncated: 3,
            on_cut: OnCut::AskAgain,
            run_calls_of_other: false,
            stop_first: false,
            repeat: None,
            empty: 2,
            stop_hook: 3,
            recoveries: 8,
            compactions: 2,
            stream_idle_ms: 120_000,
            response_bytes: 16 << 20,
            calls: 1_024,
            argument_bytes: 1 << 20,
            salvage: Salvage::Keep,
            hook_chars: 100_000,
        }
    }
}

impl TurnLimits {
    /// Refuses limits that mean nothing.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if let Some(value @ (0 | 1)) = self.repeat {
            let why = "a call is no repetition before it was made once (T19)";
            return Err(ConfigError { field: "turn.repeat", value: value.into(), why });
        }
        if self.max_tokens == Some(0) {
            let why = "no turn could run a call (U04)";
            return Err(ConfigError { field: "turn.max_tokens", value: 0, why });
        }
        Ok(())
    }
}

/// What happens at the step limit (T12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtStepLimit {
    /// The turn ends.
    #[default]
    End,
    /// The model may answer once more, without tools; then the turn ends.
    ClosingStep,
}

/// What gives a turn its steps again (T12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetReset {
    /// A steered prompt.
    #[default]
    Steered,
    /// Nothing: a steered prompt that comes too late opens the next turn.
    Nothing,
    /// A steered prompt, a notification, an injection, or the end of a background call.
    Notifications,
}

/// What a cut response with calls leads to (T09). Its calls never run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnCut {
    /// Another step, in which the model may send them again; up to `truncated` in a row.
    #[default]
    AskAgain,
    /// The end of the turn, at once.
    End,
}

/// What becomes of the visible text of an aborted response (M11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Salvage {
    /// It stays, as one entry.
    #[default]
    Keep,
    /// It goes.
    Drop,
}
