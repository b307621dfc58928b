//! What a host holds: one session's engine, a value.
//!
//! It has no output queue, no event counter and no clock. Two engines that will behave alike are equal, and an input
//! that is `Stray` leaves it equal to before (P17).
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use machine_agent::Agent;
use machine_core::Text;
use machine_core::ask::{Question, Subject};
use machine_core::config::{Config, ConfigError, Settings, ToolSpec};
use machine_core::history::{Edit, History};
use machine_core::ids::{AskId, AttemptId, CallId};
use machine_core::input::{Command, Input, Refused};
use machine_core::machine::Machine;
use machine_core::usage::UsageSum;
use machine_tool::Call;
use machine_turn::Turn;
use serde::{Deserialize, Serialize};

use crate::asks::{Asks, Open};
use crate::batch::Batch;
use crate::deliver::Run;
use crate::hook_text::HookText;
use crate::ledger::Ledger;
use crate::out::Out;
use crate::recent::Recent;
use crate::repeat::Repeats;
use crate::trace::Trace;

/// The version of [`Snapshot`]'s shape.
pub const SNAPSHOT_SCHEMA: u32 = 1;

/// One session's engine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Engine {
    /// The newest configuration.
    pub(crate) config: Arc<Config>,
    /// The running turn's (J06).
    pub(crate) turn_config: Arc<Config>,
    /// The wall time of the last input that changed something, milliseconds.
    pub(crate) now: u64,
    pub(crate) agent: Machine<Agent>,
    pub(crate) turn: Option<Machine<Turn>>,
    pub(crate) calls: Recent<CallId, Machine<Call>>,
    pub(crate) batch: Batch,
    pub(crate) ledger: Ledger,
    /// Of the running turn (T19).
    pub(crate) repeats: Repeats,
    /// Of the running turn, or the next (H09).
    pub(crate) hook_text: HookText,
    pub(crate) asks: Asks,
    pub(crate) history: History,
    /// History and edits of running maintenance, until it is done (A17).
    pub(crate) staged: Option<Staged>,
    /// What the last request was made with (T21).
    pub(crate) told: Told,
}

/// Edits that may be undone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Staged {
    pub(crate) history: History,
    pub(crate) edits: Vec<Arc<Edit>>,
}

/// What the last request was made with, besides history and tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Told {
    /// There was none.
    #[default]
    Nothing,
    /// The session was opened again since.
    Reopened,
    /// This.
    Last { system: Text, settings: Arc<Settings> },
}

/// What one attempt asks a model: a function of the record before it (T03).
#[derive(Clone, Debug)]
pub struct Request {
    /// The attempt.
    pub attempt: AttemptId,
    /// All entries; cloned in O(1).
    pub history: History,
    /// The tools on offer.
    pub tools: Arc<[ToolSpec]>,
    /// System text.
    pub system: Text,
    /// Model and settings.
    pub settings: Arc<Settings>,
}

/// An input that may be handled: [`Engine::admit`] let it through. Handle it before any other input: the check is of
/// the engine as it was then.
#[derive(Clone, Copy, Debug)]
pub struct Admitted<'i>(&'i Input);

impl<'i> Admitted<'i> {
    /// The input.
    pub fn input(self) -> &'i Input {
        self.0
    }
}

/// A saved engine. Taken between any two inputs, it restores to an engine that is equal (J07).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// [`SNAPSHOT_SCHEMA`] at the time of saving.
    pub schema: u32,
    engine: Engine,
}

/// Why a snapshot cannot be restored. A history that is not sound is refused when it is read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// It was saved by a later version.
    #[error("the snapshot has schema {found}; this version reads up to {known}")]
    Schema {
        /// The snapshot's.
        found: u32,
        /// The newest that is known.
        known: u32,
    },
}

impl Engine {
    /// A new session. `branch` must differ from that of any session it shares a past with (V02).
    pub fn new(branch: u32, config: Arc<Config>) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self::begun(branch, config))
    }

    /// A new session under a configuration that is sound.
    pub(crate) fn begun(branch: u32, config: Arc<Config>) -> Self {
        Self {
            turn_config: config.clone(),
            config,
            now: 0,
            agent: Machine::resume(Agent::new(branch), machine_agent::State::Ready),
            turn: None,
            calls: Recent::new(),
            batch: Batch::default(),
            ledger: Ledger::default(),
            repeats: Repeats::default(),
            hook_text: HookText::default(),
            asks: Asks::new(branch),
            history: History::new(),
            staged: None,
            told: Told::Nothing,
        }
    }

    /// Whether an input may be handled now. Refused: nothing happened, nothing is to be journaled. Answers and
    /// pieces always may; one that fits nothing is reported as `Stray`.
    pub fn admit<'i>(&self, input: &'i Input) -> Result<Admitted<'i>, Refused> {
        match input {
            Input::Command(command) => self.admit_command(command)?,
            Input::Recovered { ran } if ran.is_empty() && !self.needs_recovery() => {
                return Err(Refused::NothingOpen);
            }
            Input::Recovered { .. } | Input::Answer { .. } | Input::Piece { .. } => {}
            Input::Lost { .. } | Input::Fault { .. } => {}
        }
        Ok(Admitted(input))
    }

    /// Handles one input: events and asks are added to `out`, in order. `at` is wall time in milliseconds; the
    /// engine stamps with it and never goes back.
    pub fn handle(&mut self, at: u64, input: Admitted<'_>, out: &mut Out) {
        Run::new(self, at, out, None).input(input.0);
    }

    /// The same, and tells every transition (E02).
    pub fn handle_traced(&mut self, at: u64, input: Admitted<'_>, out: &mut Out, trace: &mut dyn Trace) {
        Run::new(self, at, out, Some(trace)).input(input.0);
    }

    /// Admits and handles: for hosts without a journal, and for tests.
    pub fn feed(&mut self, at: u64, input: &Input, out: &mut Out) -> Result<(), Refused> {
        let admitted = self.admit(input)?;
        self.handle(at, admitted, out);
        Ok(())
    }

    /// Committed entries. Cloning them is O(1).
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The open ask about this subject; there is one at most.
    pub fn ask_about(&self, subject: &Subject) -> Option<AskId> {
        self.asks.about(subject)
    }

    /// What an open attempt asks its model; none if it is not open.
    pub fn request(&self, attempt: AttemptId) -> Option<Request> {
        self.asks.about(&Subject::Attempt(attempt))?;
        let head = &self.turn.as_ref()?.data().head;
        Some(Request {
            attempt,
            history: self.history.clone(),
            tools: head.tools.clone(),
            system: head.system.clone(),
            settings: head.settings.clone(),
        })
    }

    /// One open ask.
    pub fn ask(&self, id: AskId) -> Option<&Open> {
        self.asks.get(id)
    }

    /// Every open ask: what, of which class, and since when (H07).
    pub fn outstanding(&self) -> impl Iterator<Item = &Open> {
        self.asks.iter()
    }

    /// The tool table of the running step (T04).
    pub fn tools(&self) -> &Arc<[ToolSpec]> {
        self.turn.as_ref().map_or(&self.config.request.tools, |turn| &turn.data().head.tools)
    }

    /// Tokens of the running turn so far.
    pub fn usage(&self) -> UsageSum {
        self.turn.as_ref().map(|turn| turn.data().usage).unwrap_or_default()
    }

    /// The agent machine.
    pub fn agent(&self) -> &Machine<Agent> {
        &self.agent
    }

    /// The turn machine, while a turn runs.
    pub fn turn(&self) -> Option<&Machine<Turn>> {
        self.turn.as_ref()
    }

    /// The calls that are not over, in call order.
    pub fn calls(&self) -> impl Iterator<Item = &Machine<Call>> {
        self.calls.values()
    }

    /// The newest configuration.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// The configuration of the running turn, else of the last one: a new one is valid from the next turn (J06).
    pub fn turn_config(&self) -> &Arc<Config> {
        &self.turn_config
    }

    /// Whether no turn, no maintenance and no input that wakes is left (H08).
    pub fn is_idle(&self) -> bool {
        use machine_agent::State;
        match self.agent.state() {
            State::Ready | State::Waiting => {
                self.agent.data().paused || !self.agent.data().inbox.wants_turn()
            }
            State::Held(_) | State::Closed | State::Faulted { active: None, .. } => true,
            State::Screening(_) | State::Active(_) | State::Aborting(_) => false,
            State::Maintaining(_) | State::Closing(_) | State::Faulted { active: Some(_), .. } => false,
        }
    }

    /// Hashes all but the numbers of asks, for explorers: engines that differ only in them go on alike, only that what
    /// is asked again or given up as a whole comes in the order of these numbers.
    pub fn hash_unnumbered<H: Hasher>(&self, state: &mut H) {
        let Self {
            config,
            turn_config,
            now,
            agent,
            turn,
            calls,
            batch,
            ledger,
            repeats,
            hook_text,
            asks,
            history,
            staged,
            told,
        } = self;
        (config, turn_config, now, agent, turn, calls, batch).hash(state);
        asks.hash_unnumbered(state);
        (ledger, repeats, hook_text, history, staged, told).hash(state);
    }

    /// Saves the engine.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { schema: SNAPSHOT_SCHEMA, engine: self.clone() }
    }

    /// Restores a saved engine. What serialising lost is made again: the shared configuration.
    pub fn restore(saved: Snapshot) -> Result<Self, RestoreError> {
        let Snapshot { schema: found, mut engine } = saved;
        if found > SNAPSHOT_SCHEMA {
            return Err(RestoreError::Schema { found, known: SNAPSHOT_SCHEMA });
        }
        if engine.turn_config == engine.config {
            engine.turn_config = engine.config.clone();
        }
        Ok(engine)
    }

    /// What whoever goes on with this engine elsewhere has to do: the acts under way are lost, as these inputs say, and
    /// the other open questions are asked again (J07).
    pub fn handed_over(&self) -> (Vec<Input>, Vec<AskId>) {
        let (acts, questions): (Vec<_>, Vec<_>) =
            self.outstanding().partition(|open| open.ask.question.is_act());
        let lost = acts.iter().map(|open| Input::Lost { ask: open.ask.id }).collect();
        (lost, questions.iter().map(|open| open.ask.id).collect())
    }

    fn admit_command(&self, command: &Command) -> Result<(), Refused> {
        machine_agent::admit(&self.agent, command, &self.config)?;
        match command {
            Command::Configure(config) => Ok(config.check()?),
            Command::Declare(call, _) if self.batch.is_waiting(*call) => Ok(()),
            Command::CancelCall(call, _)
                if self.calls.get(*call).is_some_and(|c| c.state().is_cancellable()) =>
            {
                Ok(())
            }
            Command::Declare(call, _) | Command::CancelCall(call, _) => Err(Refused::UnknownCall(*call)),
            _ => Ok(()),
        }
    }

    /// Whether a dead process left something to close (J05). Where a turn waits for nothing but approvals, the
    /// questions are asked again and nothing is closed.
    fn needs_recovery(&self) -> bool {
        use machine_agent::State;
        let outlives =
            |open: &Open| matches!(open.ask.question, Question::Approve { .. } | Question::Screen { .. });
        let waits = matches!(self.agent.state(), State::Active(_)) && self.asks.iter().all(outlives);
        (!waits && !self.asks.is_empty()) || matches!(self.agent.state(), State::Closed)
    }
}
