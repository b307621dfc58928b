//! The states of a turn (T01), and what outlives them.
use alloc::sync::Arc;
use alloc::vec::Vec;

use machine_core::Text;
use machine_core::ask::Proceed;
use machine_core::config::{RequestDefaults, Settings, ToolChoice, ToolSpec};
use machine_core::event::{EndReason, TurnEnd};
use machine_core::ids::{AttemptId, CallId, StepId, TurnId};
use machine_core::machine::Path;
use machine_core::response::ModelError;
use machine_core::usage::UsageSum;
use serde::{Deserialize, Serialize};

use crate::attempt::Attempt;

/// What outlives the states of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Turn {
    /// Its id.
    pub id: TurnId,
    /// The current step, from 1; 0 before the first.
    pub step: u32,
    /// Whether `StepStarted` was told and `StepEnded` is owed (T06).
    pub step_open: bool,
    /// Model responses so far.
    pub responses: u32,
    /// Responses when the step budget began again (T12).
    pub budget_from: u32,
    /// What requests are made with now (T04, T21).
    pub head: Head,
    /// What a recovery changed for the whole turn (M08).
    pub for_turn: Option<Arc<Proceed>>,
    /// Tokens of all attempts (U02).
    pub usage: UsageSum,
    /// Whether a response had calls: no tool is forced any more (T22).
    pub called: bool,
    /// Whether this step is the closing one (T12).
    pub closing: bool,
    /// Whether a response was cut (T10).
    pub truncated: bool,
    /// Cut responses with calls in a row (T09).
    pub truncated_in_row: u32,
    /// Continuations of the stop hook since the last input from outside (T16).
    pub continued: u32,
    /// Whether the time to wait for background calls is up, in this step (C15).
    pub waited: bool,
    /// What was tried in this step.
    pub tries: Tries,
}

/// What was tried in one step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tries {
    /// The serial of the latest attempt; never used again (M02).
    pub serial: u32,
    /// Failures in a row; starts again with a recovery (M08).
    pub failures: u32,
    /// Empty responses (T11).
    pub empty: u32,
    /// Recoveries (M08).
    pub recoveries: u32,
    /// Recoveries of an overflow that brought no progress (M09).
    pub futile: u32,
    /// Strategies that were used (M08).
    pub strategies: Vec<Text>,
    /// Of those, used without progress: not again in this step.
    pub spent: Vec<Text>,
}

/// What a request is made with, besides history.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Head {
    /// The tools on offer.
    pub tools: Arc<[ToolSpec]>,
    /// System text.
    pub system: Text,
    /// Model and settings.
    pub settings: Arc<Settings>,
}

/// What the last response means for the turn, once its calls are answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// It had calls: the model waits for their results.
    GoOn,
    /// It was a final answer.
    Final,
    /// The turn ends, whatever waits (T09).
    End(EndReason),
}

/// The leaf states.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "at", content = "with", rename_all = "snake_case")]
pub enum State {
    /// The gate is asked before a step (T02).
    Gating,
    /// A request is on its way.
    Requesting(Attempt),
    /// The response is coming in.
    Receiving(Attempt),
    /// The host is asked what to do about a failed attempt (M08).
    Recovering {
        /// What the failed attempt had streamed.
        attempt: Attempt,
        /// Why it failed.
        error: Arc<ModelError>,
    },
    /// Waiting before the next attempt (M05).
    Backoff(Attempt),
    /// Calls run.
    Running(Then),
    /// Calls are being stopped; the turn ends with this reason when all are answered.
    Aborting(EndReason),
    /// Looking at what waits. Left in the `handle` in which it is entered (T13).
    Draining {
        /// What the last response means.
        then: Then,
        /// The result that ends the turn (T17).
        stopped_by: Option<(CallId, Text)>,
        /// Whether the stop hook has spoken.
        consulted: bool,
    },
    /// The model is done; background calls are waited for, so long at most (C15).
    Waiting {
        /// In milliseconds.
        ms: u64,
    },
    /// The stop hook is asked (T15).
    Stopping,
    /// Over, like this.
    Ended(TurnEnd),
}

/// Superstates borrow from the active leaf.
pub enum Parent<'s> {
    /// Everything but `Ended`.
    Active,
    /// A request is out.
    Streaming(&'s mut Attempt),
    /// There is a batch.
    Acting,
}

impl Path for State {
    fn path(&self) -> &'static [&'static str] {
        match self {
            Self::Gating => &["Active", "Gating"],
            Self::Requesting(_) => &["Active", "Streaming", "Requesting"],
            Self::Receiving(_) => &["Active", "Streaming", "Receiving"],
            Self::Recovering { .. } => &["Active", "Recovering"],
            Self::Backoff(_) => &["Active", "Backoff"],
            Self::Running(_) => &["Active", "Acting", "Running"],
            Self::Aborting(_) => &["Active", "Acting", "Aborting"],
            Self::Draining { .. } => &["Active", "Draining"],
            Self::Waiting { .. } => &["Active", "Waiting"],
            Self::Stopping => &["Active", "Stopping"],
            Self::Ended(_) => &["Ended"],
        }
    }
}

impl Turn {
    /// A turn that has not begun.
    pub fn new(id: TurnId, defaults: &RequestDefaults) -> Self {
        Self {
            id,
            step: 0,
            step_open: false,
            responses: 0,
            budget_from: 0,
            head: Head::of(defaults),
            for_turn: None,
            usage: UsageSum::default(),
            called: false,
            closing: false,
            truncated: false,
            truncated_in_row: 0,
            continued: 0,
            waited: false,
            tries: Tries::default(),
        }
    }

    /// The current step.
    pub fn step_id(&self) -> StepId {
        self.id.step(self.step)
    }

    /// The latest attempt; serial 0 before the first.
    pub fn attempt_id(&self) -> AttemptId {
        self.step_id().attempt(self.tries.serial)
    }
}

impl Head {
    /// What is configured.
    pub fn of(defaults: &RequestDefaults) -> Self {
        let RequestDefaults { system, tools, settings } = defaults.clone();
        Self { tools, system, settings }
    }

    /// Takes tools and forced choices away where they may not be: nothing is called in a closing step, and no choice
    /// is forced after the first response with calls, or where no tool on offer can meet it (T12, T22).
    pub(crate) fn relax(&mut self, called: bool, closing: bool) {
        if closing {
            self.tools = Arc::from([]);
        }
        let choice = &self.settings.tool_choice;
        let tool_choice = match () {
            () if closing => ToolChoice::None,
            () if choice.is_forced() && (called || !choice.is_met_by(&self.tools)) => ToolChoice::Auto,
            () => return,
        };
        self.settings = Arc::new(Settings { tool_choice, ..(*self.settings).clone() });
    }

    /// Replaces what `with` brings; messages are for the gate alone.
    pub(crate) fn overlay(&mut self, with: &Proceed) {
        let Proceed { tools, system, settings, messages: _ } = with;
        if let Some(tools) = tools {
            self.tools = tools.clone();
        }
        if let Some(system) = system {
            self.system = system.clone();
        }
        if let Some(settings) = settings {
            self.settings = settings.clone();
        }
    }
}
