//! From one state of a session to a later one: what changed in what grows, and all the rest (J02).
//!
//! History and receipts grow with the session, the configuration is large and seldom another. A journal's point tells what
//! changed of them since the last one, so that it costs what happened meanwhile and not what the session has become.
use alloc::sync::Arc;
use alloc::vec::Vec;

use machine_agent::Agent;
use machine_core::Text;
use machine_core::config::{Config, Settings};
use machine_core::event::{Event, Receipt};
use machine_core::history::{Edit, HistoryError};
use machine_core::ids::{CallId, InputId};
use machine_core::machine::Machine;
use machine_core::message::Entry;
use machine_tool::Call;
use machine_turn::Turn;
use serde::{Deserialize, Serialize};

use crate::asks::Asks;
use crate::batch::Batch;
use crate::engine::{Engine, Told};
use crate::hook_text::HookText;
use crate::ledger::Ledger;
use crate::recent::Recent;
use crate::repeat::Repeats;

/// A change of what grows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// An entry went into history.
    Entry(Arc<Entry>),
    /// History was edited.
    Edit(Arc<Edit>),
    /// Something became of an input (A10).
    Receipt(InputId, Receipt),
    /// Another configuration (J06).
    Configured(Arc<Config>),
}

/// The version of [`Carry`]'s shape (J07).
pub const CARRY_SCHEMA: u32 = 1;

/// An engine without what grows and without its configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Carry {
    schema: u32,
    now: u64,
    /// The running turn's configuration, if it is not the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn_config: Option<Arc<Config>>,
    agent: Machine<Agent>,
    /// How many past inputs are remembered (A10).
    remembered: usize,
    turn: Option<Machine<Turn>>,
    calls: Recent<CallId, Machine<Call>>,
    batch: Batch,
    ledger: Ledger,
    repeats: Repeats,
    hook_text: HookText,
    asks: Asks,
    told: ToldBefore,
}

/// What the last request was made with (T21).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ToldBefore {
    Nothing,
    Reopened,
    /// What the newest configuration says.
    Configured,
    Last {
        system: Text,
        settings: Arc<Settings>,
    },
}

/// Why an engine cannot go on to a later state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdvanceError {
    /// The later state was written by a later version.
    #[error(
        "it has schema {found}, this version reads up to {known}: open it with the version that wrote it, or a later one"
    )]
    Schema {
        /// The state's.
        found: u32,
        /// The newest that is known.
        known: u32,
    },
    /// The changes do not fit the history that is there.
    #[error(transparent)]
    History(#[from] HistoryError),
}

impl Change {
    /// What an event of the last `handle` changed, if anything.
    pub fn of(event: &Event, engine: &Engine) -> Option<Self> {
        match event {
            Event::Committed { entry, .. } => Some(Self::Entry(entry.clone())),
            Event::Edited { edit } => Some(Self::Edit(edit.clone())),
            Event::Receipt { input, receipt } => {
                // A reminder has no receipt that is kept; nor has what was forgotten at once.
                let last = !matches!(receipt, Receipt::TurnEnded(..))
                    && engine.agent.data().inbox.receipt(input).is_some();
                last.then(|| Self::Receipt(input.clone(), receipt.clone()))
            }
            Event::Configured => Some(Self::Configured(engine.config.clone())),
            _ => None,
        }
    }
}

impl Engine {
    /// The engine without what grows. None while edits of running maintenance may still be undone: history is not what
    /// the changes say.
    pub fn carry(&self) -> Option<Carry> {
        let Self { config, turn_config, now, agent, turn, calls, batch, ledger, .. } = self;
        let Self { repeats, hook_text, asks, history: _, staged, told, .. } = self;
        if staged.is_some() {
            return None;
        }
        Some(Carry {
            schema: CARRY_SCHEMA,
            now: *now,
            turn_config: (turn_config != config).then(|| turn_config.clone()),
            agent: Machine::resume(agent.data().without_receipts(), agent.state().clone()),
            remembered: agent.data().remembered(),
            turn: turn.clone(),
            calls: calls.clone(),
            batch: batch.clone(),
            ledger: ledger.clone(),
            repeats: repeats.clone(),
            hook_text: hook_text.clone(),
            asks: asks.clone(),
            told: ToldBefore::of(told, config),
        })
    }

    /// Everything that grew, from nothing to what is there.
    pub fn changes(&self) -> Vec<Change> {
        let receipts = self.agent.data().inbox.receipts();
        let receipts = receipts.map(|(id, receipt)| Change::Receipt(id.clone(), receipt.clone()));
        self.history.iter().cloned().map(Change::Entry).chain(receipts).collect()
    }

    /// Goes on to a later state: `changes` came since, in this order.
    ///
    /// # Errors
    /// It is no later state of this engine.
    pub fn advance(self, changes: &[Change], carry: Carry) -> Result<Self, AdvanceError> {
        let (found, known) = (carry.schema, CARRY_SCHEMA);
        if found > known {
            return Err(AdvanceError::Schema { found, known });
        }
        let Self { mut config, mut history, agent, .. } = self;
        let (mut known, _) = agent.into_parts();
        for change in changes {
            match change {
                Change::Entry(entry) => history.append(entry.clone())?,
                Change::Edit(edit) => history.edit(edit)?,
                Change::Configured(newest) => config = newest.clone(),
                Change::Receipt(id, receipt) => known.inbox.told_again(id, receipt),
            }
        }
        let Carry { schema: _, now, turn_config, agent, remembered, turn, calls, batch, .. } = carry;
        let Carry { ledger, repeats, hook_text, asks, told, .. } = carry;
        let (agent, state) = agent.into_parts();
        let accepted = changes.iter().filter_map(|change| match change {
            Change::Receipt(id, Receipt::Accepted) => Some(id),
            _ => None,
        });
        Ok(Self {
            turn_config: turn_config.unwrap_or_else(|| config.clone()),
            told: told.with(&config),
            config,
            now,
            agent: Machine::resume(agent.with_receipts(known.inbox, remembered, accepted), state),
            turn,
            calls,
            batch,
            ledger,
            repeats,
            hook_text,
            asks,
            history,
            staged: None,
        })
    }
}

impl ToldBefore {
    fn of(told: &Told, config: &Config) -> Self {
        match told {
            Told::Nothing => Self::Nothing,
            Told::Reopened => Self::Reopened,
            Told::Last { system, settings }
                if (system, settings) == (&config.request.system, &config.request.settings) =>
            {
                Self::Configured
            }
            Told::Last { system, settings } => {
                Self::Last { system: system.clone(), settings: settings.clone() }
            }
        }
    }

    fn with(self, config: &Config) -> Told {
        match self {
            Self::Nothing => Told::Nothing,
            Self::Reopened => Told::Reopened,
            Self::Configured => {
                let (system, settings) = (config.request.system.clone(), config.request.settings.clone());
                Told::Last { system, settings }
            }
            Self::Last { system, settings } => Told::Last { system, settings },
        }
    }
}
