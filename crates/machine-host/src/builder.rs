//! How an agent is described and opened.
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use machine_core::Text;
use machine_core::config::{Config, Settings};

use crate::agent::Agent;
use crate::chain::Chain;
use crate::clock::WallClock;
use crate::cx::ToolCx;
use crate::error::OpenError;
use crate::inside::Inside;
use crate::journal::Journal;
use crate::limit::ModelLimit;
use crate::model::Model;
use crate::open::open;
use crate::order::Added;
use crate::say::random;
use crate::session::Parked;
use crate::session::{Parent, Parts};
use crate::slot::Slot;
use crate::source::{Table, ToolSource};
use crate::tool::Tool;
use crate::watch::{BEHIND, Events, Watch};
use crate::watchers::Watchers;

/// Describes an agent: a model, tools, hooks, a journal, limits. [`Agent::builder`] begins one.
pub struct AgentBuilder {
    name: Option<Text>,
    config: Config,
    branch: Option<u32>,
    model: Option<Arc<dyn Model>>,
    limit: Option<ModelLimit>,
    tools: Vec<(Arc<dyn Tool>, bool)>,
    sources: Vec<Arc<dyn ToolSource>>,
    pub(crate) hooks: Added,
    journal: Option<Box<dyn Journal>>,
    parked: Option<Parked>,
    parent: Option<Parent>,
    spill: Option<Arc<Path>>,
    rest_after: Duration,
    clock: WallClock,
    watch_buffer: usize,
}

/// What is opened, besides its journal.
pub(crate) struct Opening {
    pub(crate) config: Arc<Config>,
    pub(crate) branch: u32,
    pub(crate) parts: Arc<Parts>,
}

/// Where it may be found.
struct Found {
    journal: Option<Box<dyn Journal>>,
    parked: Option<Parked>,
}

impl AgentBuilder {
    pub(crate) fn new() -> Self {
        Self {
            name: None,
            config: Config::default(),
            branch: None,
            model: None,
            limit: None,
            tools: Vec::new(),
            sources: Vec::new(),
            hooks: Added::default(),
            journal: None,
            parked: None,
            parent: None,
            spill: None,
            rest_after: Duration::from_secs(1),
            clock: WallClock::system(),
            watch_buffer: BEHIND,
        }
    }

    /// What the agent is called in a log ([`names::AGENT_NAME`](crate::names::AGENT_NAME)). Default: nothing.
    pub fn name(self, name: impl Into<Text>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// System text.
    pub fn system(mut self, system: impl Into<Text>) -> Self {
        self.config.request.system = system.into();
        self
    }

    /// The model. Needed.
    pub fn model(self, model: impl Model) -> Self {
        Self { model: Some(Arc::new(model)), ..self }
    }

    /// The same, shared with other agents.
    pub fn shared_model(self, model: Arc<dyn Model>) -> Self {
        Self { model: Some(model), ..self }
    }

    /// How many model requests may stream at once, over all agents that share this limit (H05). Default: that of the
    /// parent, for a [`child_of`](Self::child_of) another; else none.
    pub fn model_limit(self, limit: ModelLimit) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// What the model is asked for besides history: its name, its settings.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.config.request.settings = Arc::new(settings);
        self
    }

    /// A tool that is offered to the model. Their order is the order of the offer.
    pub fn tool(self, tool: impl Tool) -> Self {
        self.shared_tool(Arc::new(tool))
    }

    /// The same, shared with other agents.
    pub fn shared_tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push((tool, true));
        self
    }

    /// A tool that runs when it is called but is not offered, as when a gate offers it in some steps (T04).
    pub fn hidden_tool(mut self, tool: impl Tool) -> Self {
        self.tools.push((Arc::new(tool), false));
        self
    }

    /// Tools that come and go, such as those of a server. They are offered after the others, in the order of the sources
    /// (T04).
    pub fn tools_from(mut self, source: impl ToolSource) -> Self {
        self.sources.push(Arc::new(source));
        self
    }

    /// Limits and policies. What the builder knows better (tools, questions) it overwrites.
    pub fn config(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self
    }

    /// Output of a call above `calls.output_chars` is written in full to a file in this directory, which the shortened
    /// result names (V15). Files are new, for their owner only, and stay; the directory is made when it is needed. What
    /// was not finalized is not written (C11); a seal does not see these files. Default: what is above the limit is lost.
    pub fn spill(self, dir: impl Into<PathBuf>) -> Self {
        Self { spill: Some(dir.into().into()), ..self }
    }

    /// Where the session is kept. Without a journal nothing outlives the agent.
    pub fn journal(self, journal: impl Journal) -> Self {
        Self { journal: Some(Box::new(journal)), ..self }
    }

    /// Goes on with an agent that was parked elsewhere, with its journal if it has one (J07), or begins a fork (J08).
    pub fn parked(self, parked: Parked) -> Self {
        Self { parked: Some(parked), ..self }
    }

    /// Stands in every id of a new session; it must differ from that of any session it shares a past with (V02). Drawn
    /// at random otherwise.
    pub fn branch(self, branch: u32) -> Self {
        Self { branch: Some(branch), ..self }
    }

    /// The agent works in this call of another one: when the call is stopped, so is whatever runs here, within half of
    /// the call's grace, so that its end can still be told (H04). When the call is given up, so is the grace here (X04).
    pub fn child_of(self, cx: &ToolCx) -> Self {
        let (inside, limit) = (cx.inside().clone(), cx.limit().cloned());
        let parent = Parent {
            call: cx.token().clone(),
            over: cx.over().clone(),
            grace: cx.grace() / 2,
            inside,
            limit,
        };
        Self { parent: Some(parent), ..self }
    }

    /// How long nothing must happen before the driver ends and the agent is a value again (H06). Default: 1 s.
    pub fn rest_after(self, rest_after: Duration) -> Self {
        Self { rest_after, ..self }
    }

    /// What the agent takes for the time of day. Default: the system's time.
    pub fn clock(self, clock: WallClock) -> Self {
        Self { clock, ..self }
    }

    /// How many events a watcher may fall behind before it misses some (E04). Default: 1,024. Room for as many is held
    /// while somebody watches.
    pub fn watch_buffer(self, events: usize) -> Self {
        Self { watch_buffer: events, ..self }
    }

    /// Opens the agent: replays its journal, if it has one, and closes what a dead process left open (J05).
    pub async fn open(self) -> Result<Agent, OpenError> {
        let watch = Arc::new(Watch::new(self.watch_buffer));
        self.open_with(watch).await
    }

    /// The same, with a watcher that also sees what the opening brings.
    pub async fn open_watched(self) -> Result<(Agent, Events), OpenError> {
        let watch = Arc::new(Watch::new(self.watch_buffer));
        let events = watch.subscribe();
        Ok((self.open_with(watch).await?, events))
    }

    async fn open_with(self, watch: Arc<Watch>) -> Result<Agent, OpenError> {
        let (opening, Found { journal, parked }) = self.finish().await?;
        let spine = open(opening, journal, parked, watch).await?;
        Ok(Agent::of(Slot::of(spine)))
    }

    async fn finish(self) -> Result<(Opening, Found), OpenError> {
        let Self {
            name,
            mut config,
            branch,
            model,
            limit,
            tools,
            sources,
            hooks,
            journal,
            parked,
            parent,
            spill,
            rest_after,
            clock,
            watch_buffer,
        } = self;
        let model = model.ok_or(OpenError::NoModel)?;
        let (tools, offered) = Table::open(tools, sources).await?;
        config.request.tools = offered;
        let chain = Chain::of(hooks.in_order()?);
        let inside = match &parent {
            Some(parent) => Inside::below(Some(&parent.inside)),
            None => Inside::new(),
        };
        let branch = branch.unwrap_or_else(drawn_branch);
        let limit = limit.or_else(|| parent.as_ref().and_then(|parent| parent.limit.clone()));
        if limit.as_ref().is_some_and(|limit| limit.most() == 0) {
            return Err(OpenError::NoRequests);
        }
        let watchers = Watchers::of(chain.hooks(), inside.clone(), watch_buffer);
        let parts = Arc::new(Parts {
            name,
            model,
            limit,
            tools,
            chain,
            watchers,
            spill,
            rest_after,
            clock,
            parent,
            inside,
        });
        let config = parts.complete(config);
        config.check()?;
        Ok((Opening { config: Arc::new(config), branch, parts }, Found { journal, parked }))
    }
}

/// A branch for a new session or a fork: a label that no other session is likely to have, so any 32 random bits do (V02).
pub fn drawn_branch() -> u32 {
    random().to_le_bytes()[..4].iter().fold(0, |b, x| b << 8 | u32::from(*x))
}
