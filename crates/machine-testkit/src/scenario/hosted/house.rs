//! The agents of a scenario on the real host: each has a seat, which outlives its openings.
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use machine_adapter::view::View;
use machine_core::config::{Config, ToolSpec};
use machine_core::event::Event;
use machine_host::{Agent, AgentBuilder, Events, ModelLimit, OpenError, ToolCx, WallClock};
use machine_journal::Record;
use tokio::task::{JoinHandle, JoinSet};

use crate::scenario::Scenario;
use crate::scenario::cast::Cast;
use crate::scenario::file::{Role, Watcher};
use crate::scenario::hosted::disk::{Disk, Fate, Writing};
use crate::scenario::hosted::props::{Hooked, Player, Prop};
use crate::scenario::hosted::stage::Stage;
use crate::scenario::hosted::{act, lock};
use crate::scenario::played::{Look, Told};
use crate::scenario::reopened::folded;
use crate::scenario::says::{BRANCH, Deed};

/// Events that the runner may be behind.
const BEHIND: usize = 1 << 14;

/// Everything that the agents of a scenario share.
pub(crate) struct House {
    scenario: Scenario,
    pub(crate) stage: Stage,
    clock: WallClock,
    limit: Option<ModelLimit>,
    seats: Mutex<Vec<Arc<Seat>>>,
}

/// One agent, while it is there and after.
pub(crate) struct Seat {
    pub(crate) name: String,
    /// Whose things come first at one tick.
    pub(crate) rank: usize,
    /// The rank of the agent in whose process it works: its own, unless a call opened it.
    pub(crate) home: usize,
    role: Arc<Role>,
    pub(crate) cast: Mutex<Cast>,
    /// The opening that is on stage. What is left of an earlier one plays no more.
    opening: AtomicU32,
    pub(crate) held: Mutex<Option<Held>>,
    pub(crate) disk: Mutex<Disk>,
    /// Of the opening that is on stage.
    fate: Mutex<Arc<Fate>>,
    seen: Mutex<Vec<(u64, Event)>>,
    pub(crate) refused: Mutex<Vec<String>>,
    pub(crate) looks: Mutex<Vec<(Look, View)>>,
    open: Mutex<Vec<&'static str>>,
}

/// An agent that is open, and what the runner does with it.
pub(crate) struct Held {
    pub(crate) agent: Agent,
    /// What was said to it and is not answered yet.
    pub(crate) deeds: JoinSet<()>,
    /// Ends when the agent is gone.
    pub(crate) heard: JoinHandle<()>,
}

impl House {
    pub(crate) fn new(scenario: &Scenario) -> Arc<Self> {
        Arc::new(Self {
            scenario: scenario.clone(),
            stage: Stage::new(),
            clock: WallClock::starting_at(0),
            limit: scenario.model_limit().map(ModelLimit::new),
            seats: Mutex::default(),
        })
    }

    /// Opens a new agent; `parent` makes it the child of a call.
    pub(crate) async fn open(
        self: &Arc<Self>,
        role: &str,
        name: &str,
        parent: Option<(&ToolCx, &Seat)>,
    ) -> Result<Arc<Seat>, OpenError> {
        let (role, config) = self.scenario.role(role);
        let seat = self.seat(role, name, parent.map(|(_, seat)| seat));
        let mut builder = self.builder(&seat, config, lock(&seat.disk).clone());
        if let Some((cx, _)) = parent {
            builder = builder.child_of(cx);
        }
        self.hold(&seat, builder).await?;
        Ok(seat)
    }

    fn seat(&self, role: Arc<Role>, name: &str, parent: Option<&Seat>) -> Arc<Seat> {
        let mut seats = lock(&self.seats);
        let rank = seats.len() + 1;
        seats.push(Arc::new(Seat {
            name: name.to_owned(),
            rank,
            home: parent.map_or(rank, |parent| parent.home),
            cast: Mutex::new(Cast::new(role.clone())),
            role,
            opening: AtomicU32::new(0),
            held: Mutex::default(),
            disk: Mutex::default(),
            fate: Mutex::default(),
            seen: Mutex::default(),
            refused: Mutex::default(),
            looks: Mutex::default(),
            open: Mutex::default(),
        }));
        seats[rank - 1].clone()
    }

    /// An agent as the script wants it, for the opening that is on stage just now.
    pub(crate) fn builder(self: &Arc<Self>, seat: &Arc<Seat>, config: Config, disk: Disk) -> AgentBuilder {
        let player = Player { house: self.clone(), seat: seat.clone(), opening: seat.opening() };
        let fate = Arc::<Fate>::default();
        *lock(&seat.fate) = fate.clone();
        let offered = config.request.tools.clone();
        let mut builder = Agent::builder()
            .branch(BRANCH)
            .clock(self.clock)
            .watch_buffer(BEHIND)
            .config(|all| *all = config)
            .journal(Writing::new(disk, fate))
            .model(player.clone())
            .hooks(Hooked::new(player.clone(), &seat.role));
        let is_offered = |spec: &ToolSpec| offered.iter().any(|tool| tool.name == spec.name);
        let hidden = seat.role.tools().into_iter().filter(|spec| !is_offered(spec));
        for spec in offered.iter().cloned() {
            builder = builder.tool(Prop::new(player.clone(), spec, &seat.role));
        }
        for spec in hidden {
            builder = builder.hidden_tool(Prop::new(player.clone(), spec, &seat.role));
        }
        if let Some(limit) = &self.limit {
            builder = builder.model_limit(limit.clone());
        }
        builder
    }

    /// An agent is opened and takes its seat.
    pub(crate) async fn hold(&self, seat: &Arc<Seat>, builder: AgentBuilder) -> Result<(), OpenError> {
        let (agent, events) = builder.open_watched().await?;
        for watcher in &self.scenario.file.watchers {
            misbehave(*watcher, agent.events());
        }
        let heard = tokio::spawn(collect(seat.clone(), seat.opening(), events));
        *lock(&seat.held) = Some(Held { agent, deeds: JoinSet::new(), heard });
        Ok(())
    }

    /// The agent of this name that was opened last.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Seat>> {
        lock(&self.seats).iter().rfind(|seat| seat.name == name).cloned()
    }

    pub(crate) fn seats(&self) -> Vec<Arc<Seat>> {
        lock(&self.seats).clone()
    }
}

/// Keeps what an agent reports.
async fn collect(seat: Arc<Seat>, opening: u32, mut events: Events) {
    while let Some(Ok(seen)) = events.next().await {
        if seat.opening() == opening {
            lock(&seat.seen).push((seen.at, (*seen.event).clone()));
        }
    }
}

/// A watcher as it should not be.
fn misbehave(watcher: Watcher, mut events: Events) {
    match watcher {
        Watcher::NeverReads => drop(tokio::spawn(async move {
            let _never_read = events;
            std::future::pending::<()>().await;
        })),
        Watcher::Panics => drop(tokio::spawn(async move {
            if events.next().await.is_some() {
                // Without the message that the panic hook would print.
                std::panic::resume_unwind(Box::new("a watcher panics"));
            }
        })),
    }
}

impl Seat {
    pub(crate) fn agent(&self) -> Option<Agent> {
        lock(&self.held).as_ref().map(|held| held.agent.clone())
    }

    /// Which opening is on stage.
    pub(crate) fn opening(&self) -> u32 {
        self.opening.load(Ordering::SeqCst)
    }

    /// What plays now plays no more.
    pub(crate) fn clear_stage(&self) {
        self.opening.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether its process dies while it writes.
    pub(crate) fn fate(&self) -> Arc<Fate> {
        lock(&self.fate).clone()
    }

    /// Whether it did.
    pub(crate) fn is_dead(&self) -> bool {
        lock(&self.fate).is_dead()
    }

    /// What is on disk.
    pub(crate) fn records(&self) -> Vec<Record> {
        lock(&lock(&self.disk)).records().to_vec()
    }

    /// The agent is not needed any more: what is open with it now is open for ever.
    pub(crate) async fn leave(&self) {
        let held = lock(&self.held).take();
        if let Some(Held { agent, mut deeds, heard: _ }) = held {
            deeds.detach_all();
            self.keep_open(&agent).await;
        }
    }

    async fn keep_open(&self, agent: &Agent) {
        if let Ok(open) = agent.outstanding().await {
            *lock(&self.open) = open.iter().map(|open| open.ask.question.kind()).collect();
        }
    }

    /// Whether a timer or the time of a hook still runs.
    pub(crate) async fn has_timers(&self) -> bool {
        let Some(agent) = self.agent() else { return false };
        let open = agent.outstanding().await.unwrap_or_default();
        open.iter().any(|open| open.ask.question.kind() == "Timer" || open.ask.timeout_ms.is_some())
    }

    /// Somebody does something, and waits for the answer beside everything else.
    pub(crate) fn act(self: &Arc<Self>, word: String, deed: Deed) {
        if let Some(held) = &mut *lock(&self.held) {
            let (seat, agent) = (self.clone(), held.agent.clone());
            held.deeds.spawn(async move {
                if let Err(why) = act(&agent, deed).await {
                    lock(&seat.refused).push(format!("{word}: {why}"));
                }
            });
        }
    }

    pub(crate) async fn told(&self) -> Told {
        if let Some(agent) = self.agent() {
            self.keep_open(&agent).await;
        }
        let events = lock(&self.seen).clone();
        let history = match folded(&events) {
            Ok(history) => history,
            Err(error) => unreachable!("E01: the events fold to history: {error}"),
        };
        Told {
            history,
            events,
            refused: lock(&self.refused).clone(),
            looks: lock(&self.looks).clone(),
            open: lock(&self.open).clone(),
            journal: self.records(),
            ..Told::of_cast(&self.name, &lock(&self.cast))
        }
    }
}
