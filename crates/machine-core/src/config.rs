//! Limits and policies: everything a host chooses, with its default.
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::Text;
use crate::access::PathRules;
pub use crate::policy::{AfterAbort, AfterFailure, Fatal, LateResults};

mod turn;

pub use turn::{AtStepLimit, BudgetReset, OnCut, Salvage, TurnLimits};

/// A session's configuration. Shared; changed by the command `Configure`, from the next turn on (J06).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// What a request is made with, unless a gate says otherwise.
    pub request: RequestDefaults,
    /// Which questions the host wants to be asked.
    pub ask: Questions,
    /// What a turn may do.
    pub turn: TurnLimits,
    /// How failed attempts are repeated.
    pub retry: Retry,
    /// How calls run.
    pub calls: CallLimits,
    /// What the inbox holds.
    pub inbox: InboxLimits,
}

/// What a request is made with (T03, T21).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RequestDefaults {
    /// System text.
    pub system: Text,
    /// The tools on offer.
    pub tools: Arc<[ToolSpec]>,
    /// Model and settings.
    pub settings: Arc<Settings>,
}

/// A tool as it is offered to the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolSpec {
    /// Its name, `[A-Za-z0-9_-]{1,64}`.
    pub name: Text,
    /// For the model.
    pub description: Text,
    /// JSON Schema of its arguments, as text.
    pub parameters: Text,
}

/// Settings of a request that are not the loop's business.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The model's name.
    pub model: Text,
    /// Whether the model must call a tool. Default: it decides itself.
    pub tool_choice: ToolChoice,
    /// Further settings, a JSON object as text.
    pub extra: Option<Text>,
}

/// Whether the model must call a tool (T22). What is forced is so up to the first response with calls of a turn, and
/// where a tool on offer can meet it; from then on the model decides itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// It decides itself.
    #[default]
    Auto,
    /// It must call some tool.
    Required,
    /// It must call this tool.
    Tool(Text),
    /// It must not call any.
    None,
}

impl ToolChoice {
    /// Whether these tools can meet it.
    pub fn is_met_by(&self, tools: &[ToolSpec]) -> bool {
        match self {
            Self::Auto | Self::None => true,
            Self::Required => !tools.is_empty(),
            Self::Tool(name) => tools.iter().any(|tool| tool.name == *name),
        }
    }

    /// Whether it makes the model call a tool.
    pub fn is_forced(&self) -> bool {
        matches!(self, Self::Required | Self::Tool(_))
    }
}

/// Which questions are asked. One that is off costs nothing: the engine goes on as if it had been answered
/// with its default. `Prepare` is always asked, `Approve` when the preparation says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Questions {
    /// `Screen`: off admits every prompt.
    pub screen: bool,
    /// `Gate`: off proceeds with the defaults.
    pub gate: bool,
    /// `Recover`: off declines.
    pub recover: bool,
    /// `Finalize`: off takes results as the execution brings them.
    pub finalize: bool,
    /// `Stop`: off lets the turn end.
    pub stop: bool,
    /// Milliseconds a hook may take (H02): `Screen`, `Gate`, `Recover`, `Prepare`, `Finalize`, `Stop`. 0 = no
    /// bound. Approvals and maintenance have none. Default: 60 s.
    pub timeout_ms: u64,
}

impl Default for Questions {
    fn default() -> Self {
        Self { screen: false, gate: false, recover: false, finalize: false, stop: false, timeout_ms: 60_000 }
    }
}

/// How failed attempts are repeated (M05, M06).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retry {
    /// Attempts in a row, the first included; 1 = no retry.
    pub attempts: u32,
    /// The first delay, milliseconds; it doubles.
    pub base_ms: u64,
    /// The longest delay, milliseconds, before jitter.
    pub cap_ms: u64,
    /// The longest wait that a server may ask for, milliseconds; beyond it the turn fails.
    pub retry_after_cap_ms: u64,
    /// What jitter is drawn from, together with turn, step and attempt.
    pub seed: u64,
}

impl Default for Retry {
    fn default() -> Self {
        Self { attempts: 10, base_ms: 500, cap_ms: 32_000, retry_after_cap_ms: 300_000, seed: 0 }
    }
}

/// How calls run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CallLimits {
    /// Calls that run at the same time; at least 1 (B11).
    pub max_parallel: u32,
    /// Milliseconds that a cancelled call has to bring its outcome (X03).
    pub grace_ms: u64,
    /// Milliseconds that a call waits for deaf ones before it is answered `busy` (B07).
    pub busy_after_ms: u64,
    /// Characters (Unicode scalar values) of output that the model reads (V15).
    pub output_chars: usize,
    /// Characters (Unicode scalar values) of one progress text; a longer one is cut (C07). Default: 2,000.
    pub progress_chars: usize,
    /// What a failure means that its tool calls fatal (C09). Default: ignore.
    pub fatal: Fatal,
    /// What becomes of late outcomes (X06). Default: drop.
    pub late_results: LateResults,
    /// How paths are compared.
    pub paths: PathRules,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            max_parallel: 10,
            grace_ms: 2_500,
            busy_after_ms: 30_000,
            output_chars: 50_000,
            progress_chars: 2_000,
            fatal: Fatal::default(),
            late_results: LateResults::default(),
            paths: PathRules::default(),
        }
    }
}

/// What the inbox holds, and for how long (A10, A11, A14, A15, A24).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InboxLimits {
    /// Prompts that wait.
    pub prompts: usize,
    /// Inputs that wait for the next step; reminders are counted apart, with the same bound.
    pub next_step: usize,
    /// Ids of taken input that are remembered.
    pub remembered_ids: usize,
    /// What a failed turn means for what waits (A14). Default: hold.
    pub after_failure: AfterFailure,
    /// What an aborted turn means for what waits (A15). Default: go on.
    pub after_abort: AfterAbort,
    /// Whether notifications are screened like prompts for the next step (A11); injections never are. Needs
    /// `ask.screen`. Default: no.
    pub screen_notifications: bool,
}

impl Default for InboxLimits {
    fn default() -> Self {
        Self {
            prompts: 1_000,
            next_step: 1_000,
            remembered_ids: 4_096,
            after_failure: AfterFailure::default(),
            after_abort: AfterAbort::default(),
            screen_notifications: false,
        }
    }
}

/// Why a configuration is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} = {value}: {why}")]
pub struct ConfigError {
    /// The setting's path.
    pub field: &'static str,
    /// Its value.
    pub value: u64,
    /// What would go wrong.
    pub why: &'static str,
}

impl Config {
    /// Refuses nonsense, with the reason.
    pub fn check(&self) -> Result<(), ConfigError> {
        let at_least_one: [(&'static str, u64, &'static str); 10] = [
            ("calls.max_parallel", self.calls.max_parallel.into(), "no call could ever run (B11)"),
            ("retry.attempts", self.retry.attempts.into(), "no request could ever be made"),
            ("turn.truncated", self.turn.truncated.into(), "the first cut response would have no meaning"),
            ("turn.calls", self.turn.calls.into(), "no response could have a call"),
            ("turn.response_bytes", self.turn.response_bytes as u64, "no response would fit"),
            ("turn.argument_bytes", self.turn.argument_bytes as u64, "no call could have arguments"),
            ("calls.output_chars", self.calls.output_chars as u64, "no output could be read (V15)"),
            ("calls.progress_chars", self.calls.progress_chars as u64, "no progress could be shown (C07)"),
            ("inbox.prompts", self.inbox.prompts as u64, "no prompt could be taken"),
            ("inbox.next_step", self.inbox.next_step as u64, "no notification could be taken"),
        ];
        for (field, value, why) in at_least_one {
            if value == 0 {
                return Err(ConfigError { field, value, why });
            }
        }
        if self.retry.cap_ms < self.retry.base_ms {
            let why = "the longest delay is shorter than the first";
            return Err(ConfigError { field: "retry.cap_ms", value: self.retry.cap_ms, why });
        }
        self.turn.check()?;
        if self.inbox.screen_notifications && !self.ask.screen {
            let why = "nothing is screened: `ask.screen` is off (A11)";
            return Err(ConfigError { field: "inbox.screen_notifications", value: 1, why });
        }
        let names: Vec<_> = self.request.tools.iter().map(|tool| &*tool.name).collect();
        for (i, name) in names.iter().enumerate() {
            if !crate::history::is_legal(name) {
                let why = "the name of the tool at this position is not legal (V10)";
                return Err(ConfigError { field: "request.tools", value: i as u64, why });
            }
            if names[..i].contains(name) {
                let why = "the tool at this position has the name of an earlier one";
                return Err(ConfigError { field: "request.tools", value: i as u64, why });
            }
        }
        match &self.request.settings.tool_choice {
            choice @ ToolChoice::Tool(_) if !choice.is_met_by(&self.request.tools) => {
                let why = "none of this many tools has the name that is forced (T22)";
                let value = self.request.tools.len() as u64;
                Err(ConfigError { field: "request.settings.tool_choice", value, why })
            }
            _ => Ok(()),
        }
    }
}
