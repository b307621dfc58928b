//! Scenario files: a story of an agent as data, played by the simulator and by the real host, and judged by what the
//! file expects. For our own faults and for the regression tests of hosts. `docs/scenarios.md` has the format.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mod@file`], [`call`], [`hook`], [`verb`], [`expect`] | the keys of a file |
//! | [`load`] | reading one, and what is wrong with it |
//! | [`words`] | entries, events and ends as short lines |
//! | [`played`] | what came out of a run |
//! | [`mod@judge`] | what was expected and did not come |
//! | `differences` | what the two drivers do not play alike |
//! | `reopened` | what must come back from the journals of a run |
//! | [`report`], [`mod@bless`] | that, for people; writing what came in its place |
//! | [`written`] | a run as a scenario file |
//! | [`lifted`] | the trace of one machine as such a run |
//! | `cast`, `says` | one agent's script while it is played; what it says |
//! | `simulated`, `actor` | the driver without a runtime |
//! | `hosted` | the driver on the real host (feature `tokio`) |
pub(crate) mod actor;
pub mod bless;
pub mod call;
pub(crate) mod cast;
#[cfg(feature = "tokio")]
pub(crate) mod differences;
pub mod expect;
pub mod file;
pub mod hook;
#[cfg(feature = "tokio")]
pub(crate) mod hosted;
pub mod judge;
pub mod lifted;
pub mod load;
pub mod loose;
pub(crate) mod phases;
pub mod played;
pub(crate) mod reopened;
pub mod report;
pub(crate) mod says;
pub(crate) mod simulated;
pub(crate) mod trace;
pub mod verb;
pub mod words;
pub mod written;

use std::path::PathBuf;
use std::sync::Arc;

use machine_core::config::{Config, ConfigError};

use crate::scenario::expect::Expect;
use crate::scenario::file::{File, Role};
use crate::scenario::judge::{Missed, judge};
use crate::scenario::played::{Cue, Look, Played};
use crate::sim::Phase;

/// A scenario that was read and is sound.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Where it was read.
    pub path: PathBuf,
    /// What it says.
    pub file: File,
    main: Arc<Role>,
}

/// Why a scenario could not be played to its end.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// A configuration is nonsense.
    #[error("{}config.{error}", place(agent))]
    Config {
        /// Whose; empty for the first agent.
        agent: String,
        /// What is wrong.
        error: ConfigError,
    },
    /// It does not come to rest.
    #[error("it is not at rest after {0} inputs")]
    Restless(usize),
    /// Agents open agents without end.
    #[error("there are more than {0} agents: does a role open itself?")]
    TooMany(usize),
    /// A session cannot be opened again.
    #[error("{}the session cannot be opened again: {why}", whose(agent))]
    Reopen {
        /// Whose; empty for the first agent.
        agent: String,
        /// Why.
        why: String,
    },
    /// The real host could not play it.
    #[error("the host: {0}")]
    Host(String),
}

/// The most agents of one scenario.
pub(crate) const MOST_AGENTS: usize = 256;

impl Fault {
    pub(crate) fn config(agent: &str, error: &ConfigError) -> Self {
        Self::Config { agent: agent.to_owned(), error: error.clone() }
    }
}

fn place(agent: &str) -> String {
    if agent.is_empty() { String::new() } else { format!("agents.{agent}.") }
}

fn whose(agent: &str) -> String {
    if agent.is_empty() { String::new() } else { format!("agent `{agent}`: ") }
}

/// What a scenario showed.
#[derive(Debug)]
pub struct Verdict {
    /// What was expected and did not come; empty: it passed.
    pub missed: Vec<Missed>,
    /// Inputs, transitions, events and asks of the simulated run.
    pub trace: Vec<String>,
    /// What came out of the simulated run.
    pub played: Played,
}

impl Scenario {
    pub(crate) fn new(path: PathBuf, file: File) -> Self {
        let main = Role {
            standalone: true,
            config: file.config.clone(),
            model: file.model.clone(),
            model_then: file.model_then.clone(),
            calls: file.calls.clone(),
            hooks: file.hooks.clone(),
        };
        Self { path, file, main: Arc::new(main) }
    }

    /// Plays it on the simulator and judges it.
    ///
    /// # Errors
    /// It cannot be played.
    pub fn simulate(&self) -> Result<Verdict, Fault> {
        self.simulate_within(simulated::PATIENCE)
    }

    /// The same, given up after fewer inputs than usual.
    pub(crate) fn simulate_within(&self, patience: usize) -> Result<Verdict, Fault> {
        let played = simulated::play(self, patience)?;
        let mut missed = judge(self, &played);
        missed.extend(reopened::check(&played));
        Ok(Verdict { missed, trace: played.trace.clone(), played })
    }

    /// Plays it on the simulator and on the real host with paused time, and judges both: each must bring what is
    /// expected, and they must bring the same.
    ///
    /// # Errors
    /// It cannot be played.
    #[cfg(feature = "tokio")]
    pub fn run(&self) -> Result<Verdict, Fault> {
        let mut verdict = self.simulate()?;
        let hosted = hosted::play(self)?;
        if verdict.missed.is_empty() {
            let missed = judge(self, &hosted);
            verdict.missed.extend(missed.into_iter().map(Missed::on_the_host));
            verdict.missed.extend(reopened::check(&hosted).into_iter().map(Missed::on_the_host));
            verdict.missed.extend(differences::differences(&verdict.played, &hosted));
        }
        Ok(verdict)
    }

    /// A role, with the configuration that follows from its script.
    pub(crate) fn role(&self, name: &str) -> (Arc<Role>, Config) {
        let role = match self.file.agents.get(name) {
            Some(role) if !name.is_empty() => Arc::new(role.clone()),
            _ => self.main.clone(),
        };
        let config = role.config.as_ref().map(|config| config.value.clone()).unwrap_or_default();
        let config = role.complete(config);
        (role, config)
    }

    /// Agents besides the first that are there from the start.
    pub(crate) fn standalone(&self) -> impl Iterator<Item = &str> {
        self.file.agents.iter().filter(|(_, role)| role.standalone).map(|(name, _)| &**name)
    }

    pub(crate) fn model_limit(&self) -> Option<u32> {
        self.file.model_limit
    }

    /// What is done and looked at, and when.
    pub(crate) fn cues(&self) -> Vec<(u64, Phase, Cue)> {
        let mut cues = Vec::new();
        for moment in self.file.timeline.iter().map(|moment| &moment.value) {
            let agent = moment.agent.clone().unwrap_or_default();
            cues.push((moment.at, phases::verbs(moment.order), Cue::Do { agent, moment: moment.clone() }));
        }
        let look = |agent: &str, expect: &Expect| -> Vec<_> {
            let looks =
                expect.states.iter().map(|state| Look { at: state.value.at, order: state.value.order });
            let cue = |look: Look| {
                (look.at, phases::looks(look.order), Cue::Look { agent: agent.to_owned(), look })
            };
            looks.map(cue).collect()
        };
        cues.extend(look("", &self.file.expect.value));
        for (agent, expect) in &self.file.expect.value.agents {
            cues.extend(look(agent, &expect.value));
        }
        cues
    }
}
