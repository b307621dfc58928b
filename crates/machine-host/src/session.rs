//! An agent as a value: while nothing runs (H06), and between two processes (J07).
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use machine_adapter::{Engine, Snapshot};
use machine_core::Text;
use machine_core::config::Config;
use machine_core::ids::CallId;
use machine_core::outcome::Outcome;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::approvals::Rules;
use crate::chain::Chain;
use crate::clock::WallClock;
use crate::inside::Inside;
use crate::journal::Log;
use crate::limit::ModelLimit;
use crate::model::Model;
use crate::source::Table;
use crate::watch::Recorder;
use crate::watchers::Watchers;

/// All that is left of an agent while nothing runs.
pub(crate) struct Session {
    pub(crate) engine: Engine,
    pub(crate) log: Log,
    pub(crate) recorder: Recorder,
    pub(crate) parts: Arc<Parts>,
    /// What may run without being asked for (C16).
    pub(crate) rules: Rules,
    /// How the calls of the running turn were answered, in call order. An edit may take their results out of history
    /// (X11).
    pub(crate) answered: BTreeMap<CallId, Outcome>,
    /// Whether results of the running turn are finalized (C11).
    pub(crate) finalize: bool,
}

/// What an agent is made of besides its engine: it does not change while the agent is open. Shared by the driver and
/// everything that it starts.
pub(crate) struct Parts {
    /// What the agent is called in a log.
    pub(crate) name: Option<Text>,
    pub(crate) model: Arc<dyn Model>,
    /// How many requests may stream at once, over all agents that share it (H05).
    pub(crate) limit: Option<ModelLimit>,
    pub(crate) tools: Table,
    pub(crate) chain: Chain,
    pub(crate) watchers: Watchers,
    /// Where output above the limit goes (V15).
    pub(crate) spill: Option<Arc<Path>>,
    /// How long nothing must happen before the driver ends and the agent is a value again (H06).
    pub(crate) rest_after: Duration,
    pub(crate) clock: WallClock,
    /// The call of another agent in which this one works (H04).
    pub(crate) parent: Option<Parent>,
    pub(crate) inside: Inside,
}

/// The call of another agent in which this one works (H04).
pub(crate) struct Parent {
    /// The call must stop.
    pub(crate) call: CancellationToken,
    /// It was given up: no grace is left here (X04).
    pub(crate) over: CancellationToken,
    /// The longest grace that calls have here.
    pub(crate) grace: Duration,
    pub(crate) inside: Inside,
    pub(crate) limit: Option<ModelLimit>,
}

impl Parts {
    /// A configuration with what the host knows better: which questions are asked, and that a child is done before its
    /// call is given up.
    pub(crate) fn complete(&self, mut config: Config) -> Config {
        config.ask = self.chain.questions(config.ask.timeout_ms);
        config.ask.gate |= self.tools.changes();
        if let Some(parent) = &self.parent {
            let most = u64::try_from(parent.grace.as_millis()).unwrap_or(u64::MAX);
            config.calls.grace_ms = config.calls.grace_ms.min(most);
        }
        config
    }
}

/// An agent between two processes. It can be serialised; its journal, if it has one, goes along by itself.
///
/// Where it is opened, what was asked is asked again, and acts that were under way are lost: a request is made anew, a
/// call that ran is `Unknown`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    pub(crate) snapshot: Snapshot,
    pub(crate) inputs: u64,
    pub(crate) events: u64,
}

impl Parked {
    /// A session that begins with this engine.
    pub(crate) fn fork(engine: &Engine) -> Self {
        Self { snapshot: engine.snapshot(), inputs: 0, events: 0 }
    }

    pub(crate) fn of(session: &Session) -> Self {
        let Session { engine, log, recorder, .. } = session;
        Self { snapshot: engine.snapshot(), inputs: log.inputs(), events: recorder.events() }
    }
}
