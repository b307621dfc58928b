//! The lives of one agent: opened, killed, parked, closed, and opened again, over one journal.
use std::sync::Arc;
use std::time::Duration;

use machine_core::config::Config;
use machine_core::ids::InputId;
use machine_host::{Agent, AgentBuilder, Events, OpenError, Parked, Wants};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::child::DEEPEST;
use super::disk::Disk;
use super::fault::Fault;
use super::hooks::{self, Meddler};
use super::model::Speaker;
use super::policies;
use super::tool::Worker;
use super::watch::{Manner, watch};
use super::world::World;

/// Openings that are tried with faults before one is made without.
const TRIES: u32 = 4;
/// Virtual time in which an answer must come that nothing holds up.
pub(super) const PATIENCE: Duration = Duration::from_secs(1_000);

/// An agent, its journal and its clients.
pub(super) struct Life {
    pub(super) world: Arc<World>,
    pub(super) disk: Disk,
    pub(super) agent: Agent,
    /// Clients that wait for something. They hold the agent.
    pub(super) clients: JoinSet<()>,
    /// Inputs that were sent, the last ones last.
    pub(super) sent: Vec<InputId>,
    pub(super) forks: u32,
    stage: Stage,
}

/// What an opening is made from; the same in all of them, but for the configuration.
pub(super) struct Stage {
    pub(super) wants: Wants,
    second: Option<Wants>,
    config: Config,
    watch_buffer: usize,
    rest_after: Duration,
}

impl Stage {
    fn drawn(world: &World) -> Self {
        let wants = hooks::drawn(world);
        let second = world.random.percent(30).then(|| hooks::drawn(world));
        Self {
            config: policies::drawn(world, wants.screen),
            wants,
            second,
            watch_buffer: world.random.of(&[1_024, 1_024, 64, 4]),
            rest_after: Duration::from_millis(world.random.of(&[1_000, 0, 1, 60_000])),
        }
    }

    /// Whether a hook of this kind is there.
    pub(super) fn has(&self, what: fn(&Wants) -> bool) -> bool {
        what(&self.wants) || self.second.as_ref().is_some_and(what)
    }

    fn builder(&self, world: &Arc<World>, disk: &Disk) -> AgentBuilder {
        let worker =
            |name, droppable, agents_below| Worker { world: world.clone(), name, droppable, agents_below };
        let meddler = |name, wants| Meddler { world: world.clone(), name, wants };
        let mut builder = Agent::builder()
            .branch(1)
            .clock(world.clock)
            .model(Speaker { world: world.clone() })
            .tool(worker("work", false, None))
            .tool(worker("drop", true, None))
            .tool(worker("agent", false, Some(DEEPEST - 1)))
            .hidden_tool(worker("hidden", false, None))
            .journal(disk.pen())
            .config(|config| *config = self.config.clone())
            .watch_buffer(self.watch_buffer)
            .rest_after(self.rest_after)
            .hooks(meddler("first", self.wants));
        if let Some(second) = self.second {
            builder = builder.hooks(meddler("second", second));
        }
        if let Some(limit) = &world.limit {
            builder = builder.model_limit(limit.clone());
        }
        builder
    }
}

impl Life {
    pub(super) async fn begins(world: &Arc<World>) -> Self {
        let in_file = world.random.below(12) == 0;
        let (disk, mut stage) = (Disk::new(world, in_file), Stage::drawn(world));
        let agent = open(world, &disk, &mut stage, None).await;
        let (clients, sent) = (JoinSet::new(), Vec::new());
        Self { world: world.clone(), disk, agent, clients, sent, forks: 0, stage }
    }

    pub(super) fn stage(&self) -> &Stage {
        &self.stage
    }

    /// The process dies, and another one opens the session.
    pub(super) async fn crashes(&mut self) {
        self.dies().await;
        self.disk.crash();
        self.opens(None).await;
    }

    /// The same, and it dies right after its opening: opening again adds nothing (J05).
    pub(super) async fn crashes_twice(&mut self) {
        self.crashes().await;
        let config = self.stage.config.clone();
        let before = self.agent.is_resting().then(|| self.disk.records());
        self.dies().await;
        self.disk.crash();
        self.agent = open(&self.world, &self.disk, &mut self.stage, None).await;
        // One that was tried too often has another configuration.
        if let Some(before) = before.filter(|_| config == self.stage.config) {
            let after = self.disk.records();
            self.world.check(before == after, || {
                let count = |records: Result<Vec<_>, _>| records.map(|records| records.len());
                format!("J05: opened again it has {:?} records for {:?}", count(after), count(before))
            });
        }
    }

    /// It is handed over to another process.
    pub(super) async fn is_handed_over(&mut self) {
        // What happened in memory only is not in its journal: parked, the two do not belong together.
        self.leaves_a_fault().await;
        let Some(parked) = self.parks().await else { return self.crashes().await };
        if self.disk.has_failed() || self.world.knows(Fault::SealPanics) {
            self.disk.crash();
            return self.opens(None).await;
        }
        self.opens(Some(parked)).await;
    }

    /// It is parked; none: it could not be.
    pub(super) async fn parks(&mut self) -> Option<Parked> {
        let parked = match timeout(PATIENCE, self.agent.park()).await {
            Ok(Ok(parked)) => parked,
            wrong => {
                self.world.violated(format!("J07: it cannot be parked: {:?}", wrong.map(|w| w.err())));
                return None;
            }
        };
        self.world.check(self.agent.is_gone(), || "J07: a parked agent is not gone".into());
        self.ends_clients().await;
        let text = serde_json::to_string(&parked).map_err(|error| error.to_string());
        match text.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string())) {
            Ok(parked) => Some(parked),
            Err(error) => {
                self.world.violated(format!("J07: a parked agent cannot be written: {error}"));
                None
            }
        }
    }

    /// It ends in order, and is opened again.
    pub(super) async fn closes(&mut self) {
        self.ends_in_order().await;
        self.dies().await;
        self.disk.crash();
        self.opens(None).await;
    }

    /// It must close, in a bounded time (A19).
    pub(super) async fn ends_in_order(&mut self) {
        let before = self.world.now();
        let closed = timeout(PATIENCE, self.agent.close()).await;
        let faulted = self.disk.has_failed() || self.stage.has(|wants| wants.seal);
        let fine = match &closed {
            Ok(Ok(())) => self.agent.is_gone(),
            // What cannot be written cannot be closed.
            Ok(Err(_)) => faulted,
            Err(_) => false,
        };
        self.world.check(fine, || format!("A19: it does not close: {closed:?}"));
        let grace = self.world.book().longest_grace;
        let took = self.world.now() - before;
        self.world.check(self.world.knows(Fault::DiskSlow) || took <= grace + 1_001, || {
            format!("A19: it took {took} ms to close; the grace is {grace} ms")
        });
    }

    /// Another opening, perhaps with another configuration (J06).
    pub(super) async fn opens(&mut self, parked: Option<Parked>) {
        if self.world.is_healed() {
            self.stage.config = policies::healthy(&self.world);
        } else if self.world.random.percent(30) {
            self.stage.config = policies::drawn(&self.world, self.stage.wants.screen);
        }
        self.agent = open(&self.world, &self.disk, &mut self.stage, parked).await;
    }

    /// The last handle goes. All that ran must be gone soon after.
    pub(super) async fn dies(&mut self) {
        self.ends_clients().await;
        let world = self.world.clone();
        // A handle that is gone stands for none.
        let gone = nobody(&world).await;
        drop(std::mem::replace(&mut self.agent, gone));
        until_free(&world, &self.disk).await;
    }

    async fn ends_clients(&mut self) {
        self.clients.shutdown().await;
    }
}

/// An agent that does nothing and has nothing.
async fn nobody(world: &Arc<World>) -> Agent {
    let builder = Agent::builder().branch(2).clock(world.clock).model(Speaker { world: world.clone() });
    match builder.open().await {
        Ok(agent) => agent,
        Err(error) => unreachable!("an agent without a journal cannot be opened: {error}"),
    }
}

async fn until_free(world: &World, disk: &Disk) {
    for _ in 0..2_000 {
        if !disk.is_open() && world.book().running() == 0 {
            return;
        }
        sleep(Duration::from_millis(1)).await;
    }
    let (open, running) = (disk.is_open(), world.book().running());
    world.violated(format!("P16: it is dead; its journal is open: {open}, {running} of its calls run"));
}

async fn open(world: &Arc<World>, disk: &Disk, stage: &mut Stage, mut parked: Option<Parked>) -> Agent {
    let mut tries = 0;
    loop {
        tries += 1;
        if tries > TRIES {
            world.be_calm(true);
            // What the hooks say at the start must have room.
            stage.config.inbox.next_step = 1_000;
        }
        world.say(|| format!("open, parked: {}", parked.is_some()));
        let mut builder = stage.builder(world, disk);
        if let Some(parked) = parked.take() {
            builder = builder.parked(parked);
        }
        if let Some((agent, events)) = opened(world, disk, stage, builder).await {
            world.be_calm(false);
            let now = world.now();
            world.book().opened_at = now;
            tokio::spawn(watch(world.clone(), events, Manner::Witness));
            return agent;
        }
        until_free(world, disk).await;
        disk.crash();
        if tries > 10 {
            world.violated("J05: it cannot be opened, without any fault");
            world.be_calm(false);
            return nobody(world).await;
        }
    }
}

async fn opened(world: &World, disk: &Disk, stage: &Stage, builder: AgentBuilder) -> Option<(Agent, Events)> {
    let dies = world.strikes(Fault::CrashInOpen);
    if dies {
        disk.hang_after(world.random.below(4));
    }
    // A hook without a bound may hang.
    let within = if dies { Duration::from_millis(world.random.of(&[0, 1, 500])) } else { PATIENCE };
    let opening = timeout(within, builder.open_watched()).await;
    disk.hangs_no_more();
    match opening {
        Err(_) => {
            let may = dies || stage.has(|wants| wants.session_start);
            world.check(may, || "J05: opening takes for ever".into());
            None
        }
        Ok(Ok(opened)) => Some(opened),
        Ok(Err(error)) => {
            world.say(|| format!("  not opened: {error}"));
            let may = match &error {
                OpenError::SessionStart(_) => stage.has(|wants| wants.session_start),
                OpenError::Journal(_) => disk.has_failed() || stage.has(|wants| wants.seal),
                OpenError::Seal(_) => stage.has(|wants| wants.seal),
                _ => false,
            };
            world.check(may, || format!("J05: it cannot be opened: {error}"));
            None
        }
    }
}
