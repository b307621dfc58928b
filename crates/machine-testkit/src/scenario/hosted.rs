//! A scenario on the real host, in a runtime whose time is paused. One conductor holds everything that the script
//! brings, in the order of the simulator, and lets the host come to rest between two things: so both drivers see the
//! same story.
mod props;
mod stage;

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use machine_adapter::view::View;
use machine_core::ask::Question;
use machine_core::event::Event;
use machine_core::history::History;
use machine_core::ids::CallId;
use machine_core::input::{Command, Lane};
use machine_core::message::Content;
use machine_host::{
    Agent, AgentBuilder, CommandError, Decision, Events, ModelLimit, OpenError, Rule, Say, WallClock,
};
use tokio::task::yield_now;
use tokio::time::{Instant, advance, sleep_until};

use crate::scenario::cast::Cast;
use crate::scenario::file::Watcher;
use crate::scenario::hosted::props::{Hooked, Player, Prop};
use crate::scenario::hosted::stage::{Key, Stage};
use crate::scenario::phases;
use crate::scenario::played::{Cue, Look, Played, Told};
use crate::scenario::says::{self, BRANCH, Deed};
use crate::scenario::simulated::{NOT_ASKED, PATIENCE, in_agent};
use crate::scenario::trace;
use crate::scenario::verb::{Allows, Place, Verb};
use crate::scenario::{Fault, Scenario};

/// Polls that the host gets to come to rest between two things of the script. The longest way in it is about a dozen.
const POLLS: usize = 64;
/// Virtual time in which a scenario must come to rest.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
/// Events that the runner may be behind.
const BEHIND: usize = 1 << 14;

/// Plays a scenario on the real host. In a thread of its own, so that it may be called from anywhere.
pub(crate) fn play(scenario: &Scenario) -> Result<Played, Fault> {
    let played = std::thread::scope(|scope| {
        let run = || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_time().start_paused(true).build();
            runtime.map_err(|error| Fault::Host(error.to_string()))?.block_on(conduct(scenario))
        };
        scope.spawn(run).join()
    });
    played.unwrap_or_else(|_| Err(Fault::Host("the runner panicked".into())))
}

async fn conduct(scenario: &Scenario) -> Result<Played, Fault> {
    let limit = scenario.model_limit().map(ModelLimit::new);
    let house = Arc::new(House {
        scenario: scenario.clone(),
        stage: Stage::new(),
        clock: WallClock::starting_at(0),
        limit,
        seats: Mutex::default(),
    });
    house.open("", "", None).await.map_err(|error| Fault::Host(error.to_string()))?;
    for role in scenario.standalone() {
        house.open(role, role, None).await.map_err(|error| Fault::Host(error.to_string()))?;
    }
    let mut conductor = Conductor { house: house.clone(), gaps: Vec::new() };
    let cues = scenario.cues().into_iter().map(|(at, phase, cue)| {
        let key = house.stage.key(at, phase, 0);
        (key, cue)
    });
    let cues: std::collections::VecDeque<_> = {
        let mut cues: Vec<_> = cues.collect();
        cues.sort_by_key(|(key, _)| *key);
        cues.into()
    };
    conductor.run(cues).await?;
    conductor.played().await
}

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
    pub(crate) cast: Mutex<Cast>,
    agent: Mutex<Option<Agent>>,
    seen: Mutex<Vec<(u64, Event)>>,
    refused: Mutex<Vec<String>>,
    looks: Mutex<Vec<(Look, View)>>,
    open: Mutex<Vec<&'static str>>,
}

impl House {
    /// Opens an agent; `parent` makes it the child of a call.
    async fn open(
        self: &Arc<Self>,
        role: &str,
        name: &str,
        parent: Option<&machine_host::ToolCx>,
    ) -> Result<Arc<Seat>, OpenError> {
        let (role, config) = self.scenario.role(role);
        let seat = Arc::new(Seat {
            name: name.to_owned(),
            cast: Mutex::new(Cast::new(role.clone())),
            agent: Mutex::default(),
            seen: Mutex::default(),
            refused: Mutex::default(),
            looks: Mutex::default(),
            open: Mutex::default(),
        });
        let rank = {
            let mut seats = lock(&self.seats);
            seats.push(seat.clone());
            seats.len()
        };
        let player = Player { house: self.clone(), seat: seat.clone(), rank };
        let offered = config.request.tools.clone();
        let mut builder: AgentBuilder = Agent::builder()
            .branch(BRANCH)
            .clock(self.clock)
            .watch_buffer(BEHIND)
            .config(|all| *all = config)
            .model(player.clone())
            .hooks(Hooked::new(player.clone(), &role));
        for spec in role.tools() {
            let prop = Prop::new(player.clone(), spec.clone(), &role);
            let offer = offered.iter().any(|tool| tool.name == spec.name);
            builder = if offer { builder.tool(prop) } else { builder.hidden_tool(prop) };
        }
        if let Some(limit) = &self.limit {
            builder = builder.model_limit(limit.clone());
        }
        if let Some(parent) = parent {
            builder = builder.child_of(parent);
        }
        let (agent, events) = builder.open_watched().await?;
        for watcher in &self.scenario.file.watchers {
            misbehave(*watcher, agent.events());
        }
        *lock(&seat.agent) = Some(agent);
        tokio::spawn(collect(seat.clone(), events));
        Ok(seat)
    }

    /// The agent of this name that was opened last.
    fn find(&self, name: &str) -> Option<Arc<Seat>> {
        lock(&self.seats).iter().rfind(|seat| seat.name == name).cloned()
    }

    fn seats(&self) -> Vec<Arc<Seat>> {
        lock(&self.seats).clone()
    }
}

/// Keeps what an agent reports.
async fn collect(seat: Arc<Seat>, mut events: Events) {
    while let Some(Ok(seen)) = events.next().await {
        lock(&seat.seen).push((seen.at, (*seen.event).clone()));
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
        lock(&self.agent).clone()
    }

    /// The agent is not needed any more: what is open with it now is open for ever.
    pub(crate) async fn leave(&self) {
        let agent = lock(&self.agent).take();
        if let Some(agent) = agent
            && let Ok(open) = agent.outstanding().await
        {
            *lock(&self.open) = open.iter().map(|open| open.ask.question.kind()).collect();
        }
    }

    /// Whether a timer or the time of a hook still runs.
    async fn has_timers(&self) -> bool {
        let Some(agent) = self.agent() else { return false };
        let open = agent.outstanding().await.unwrap_or_default();
        open.iter().any(|open| open.ask.question.kind() == "Timer" || open.ask.timeout_ms.is_some())
    }

    async fn act(self: Arc<Self>, word: String, deed: Deed) {
        let Some(agent) = self.agent() else { return };
        if let Err(why) = act(&agent, deed).await {
            lock(&self.refused).push(format!("{word}: {why}"));
        }
    }

    async fn told(&self) -> Told {
        if let Some(agent) = self.agent()
            && let Ok(open) = agent.outstanding().await
        {
            *lock(&self.open) = open.iter().map(|open| open.ask.question.kind()).collect();
        }
        let events = lock(&self.seen).clone();
        Told {
            history: folded(&events),
            events,
            refused: lock(&self.refused).clone(),
            looks: lock(&self.looks).clone(),
            open: lock(&self.open).clone(),
            ..Told::of_cast(&self.name, &lock(&self.cast))
        }
    }
}

/// History as the durable events tell it (E01).
fn folded(events: &[(u64, Event)]) -> History {
    let mut history = History::new();
    for (_, event) in events {
        let folded = match event {
            Event::Committed { entry, .. } => history.append(entry.clone()),
            Event::Edited { edit } => history.edit(edit),
            _ => Ok(()),
        };
        if let Err(error) = folded {
            unreachable!("E01: the events fold to history: {error}");
        }
    }
    history
}

async fn act(agent: &Agent, deed: Deed) -> Result<(), String> {
    let said = |id: machine_core::ids::InputId, message: Content, meta: Option<machine_core::Text>| {
        let say = Say::new(message).id(id);
        match meta {
            Some(meta) => say.meta(meta),
            None => say,
        }
    };
    let done: Result<(), CommandError> = match deed {
        Deed::Decide(call, approval) => return decide(agent, call, Decision::Once(approval)).await,
        Deed::Rule(call, allows) => return decide(agent, call, rule(allows).into()).await,
        Deed::Command(command) => match command {
            Command::Submit(submit) => {
                let mut say = said(submit.id.clone(), submit.message.clone(), submit.meta.clone());
                if submit.lane == Lane::NextStep {
                    say = say.next_step();
                }
                if !submit.wake {
                    say = say.parked();
                }
                agent.submit(say).await.map(drop)
            }
            Command::Notify(note) => {
                agent.notify(said(note.id.clone(), note.message.clone(), note.meta.clone())).await.map(drop)
            }
            Command::Inject(note) => {
                agent.inject(said(note.id.clone(), note.message.clone(), note.meta.clone())).await.map(drop)
            }
            Command::Remind(reminder) => {
                let say = Say::new(reminder.message.clone());
                match reminder.only_if_changed {
                    true => agent.remind_if_changed(reminder.key.clone(), say).await,
                    false => agent.remind(reminder.key.clone(), say).await,
                }
            }
            Command::Steer(ids) => agent.steer_queued(ids.iter().cloned()).await,
            Command::Withdraw(id) => agent.withdraw(id).await,
            Command::Replace(id, message) => agent.replace(id, Say::new(message)).await,
            Command::Declare(call, access) => agent.declare(call, access).await,
            Command::CancelCall(call, cause) => agent.cancel_call(call, cause).await,
            Command::Consume(call) => agent.consume(call).await,
            Command::Abort(abort) => match &abort.target {
                Some(target) => agent.abort_only(target.clone(), abort.cause.clone()).await.map(drop),
                None => agent.abort(abort.cause.clone()).await.map(drop),
            },
            Command::Pause => agent.pause().await,
            Command::Resume => agent.resume().await,
            Command::Maintain => agent.maintain().await.map(drop),
            Command::Configure(config) => agent.configure(Arc::unwrap_or_clone(config)).await,
            Command::Close => agent.close().await,
        },
    };
    done.map_err(|why| why.to_string())
}

/// Answers the open approval of a call.
async fn decide(agent: &Agent, call: CallId, decision: Decision) -> Result<(), String> {
    let open = agent.outstanding().await.unwrap_or_default();
    let digest = open.iter().find_map(|open| match &open.ask.question {
        Question::Approve { call: of, digest, .. } if *of == call => Some(*digest),
        _ => None,
    });
    let Some(digest) = digest else { return Err(NOT_ASKED.to_owned()) };
    agent.decide(call, digest, decision).await.map_err(|why| why.to_string())
}

fn rule(allows: Allows) -> Rule {
    Rule::new(allows.name, move |question| allows.tools.contains(&question.tool))
}

/// Lets things happen, one after the other.
struct Conductor {
    house: Arc<House>,
    gaps: Vec<String>,
}

impl Conductor {
    async fn run(&mut self, mut cues: std::collections::VecDeque<(Key, Cue)>) -> Result<(), Fault> {
        let mut in_one_go = false;
        for _ in 0..PATIENCE {
            if !std::mem::take(&mut in_one_go) {
                settle().await;
            }
            let staged = self.house.stage.next();
            let next = staged.into_iter().chain(cues.front().map(|(key, _)| *key)).min();
            let Some(key) = next else {
                // An agent that leaves its seat lets its own things come to rest first.
                settle().await;
                settle().await;
                if self.house.stage.next().is_some() {
                    continue;
                }
                if self.is_at_rest().await {
                    return Ok(());
                }
                self.wait_until(Instant::now() + LONGEST).await;
                continue;
            };
            if !self.is_time(key).await {
                continue;
            }
            if cues.front().is_some_and(|(front, _)| *front == key) {
                if let Some((_, cue)) = cues.pop_front() {
                    // What comes before timers comes in one go.
                    let first = key.phase == phases::verbs(Place::First);
                    let more =
                        cues.front().is_some_and(|(next, _)| (next.at, next.phase) == (key.at, key.phase));
                    self.due(cue, !first || !more).await;
                    in_one_go = first && more;
                }
            } else {
                self.house.stage.fire(key);
            }
        }
        Err(Fault::Restless(PATIENCE))
    }

    /// Lets time pass towards a thing of the script; whether its time has come. What comes before the timers of its
    /// tick has its time when the clock shows it and no timer has fired yet.
    async fn is_time(&self, key: Key) -> bool {
        let due = self.house.stage.instant(key.at);
        if Instant::now() >= due {
            return true;
        }
        if key.phase >= phases::TIMERS {
            self.wait_until(due).await;
            return false;
        }
        let before = due - Duration::from_millis(1);
        if Instant::now() < before {
            self.wait_until(before).await;
            return false;
        }
        // The first poll moves the clock; timers fire at the next park.
        let mut moved = pin!(advance(Duration::from_millis(1)));
        std::future::poll_fn(|cx| {
            let _ = moved.as_mut().poll(cx);
            std::task::Poll::Ready(())
        })
        .await;
        true
    }

    /// Until this time, or until something new is to come.
    async fn wait_until(&self, due: Instant) {
        tokio::select! {
            biased;
            () = self.house.stage.changed() => {}
            () = sleep_until(due) => {}
        }
    }

    async fn is_at_rest(&self) -> bool {
        for seat in self.house.seats() {
            if seat.has_timers().await {
                return false;
            }
        }
        true
    }

    async fn due(&mut self, cue: Cue, settles: bool) {
        let now = self.house.stage.now();
        match cue {
            Cue::Do { agent, moment } => {
                let first = moment.order == Place::First;
                for verb in moment.verbs.0 {
                    self.act(&agent, verb, now);
                    if settles && !first {
                        settle().await;
                    }
                }
                if settles && first {
                    settle().await;
                }
            }
            Cue::Look { agent, look } => match self.house.find(&agent) {
                Some(seat) => {
                    let view = match seat.agent() {
                        Some(agent) => agent.state().await.ok(),
                        None => None,
                    };
                    lock(&seat.looks).extend(view.map(|view| (look, view)));
                }
                None => self.gaps.push(format!("tick {now}: there is no agent `{agent}`")),
            },
        }
    }

    fn act(&mut self, name: &str, verb: Verb, now: u64) {
        let word = trace::verb(&verb);
        let Some(seat) = self.house.find(name).filter(|seat| seat.agent().is_some()) else {
            return self.gaps.push(format!("tick {now}: there is no agent `{name}` for `{word}`"));
        };
        let deed = says::deed(verb, &lock(&seat.cast));
        match deed {
            Ok(deed) => drop(tokio::spawn(seat.act(word, deed))),
            Err(why) => self.gaps.push(format!("tick {now}: `{word}`: {why}")),
        }
    }

    async fn played(self) -> Result<Played, Fault> {
        let mut played = Played { gaps: self.gaps, ..Played::default() };
        for seat in self.house.seats() {
            let gaps = lock(&seat.cast).gaps.clone();
            played.gaps.extend(gaps.iter().map(|gap| in_agent(&seat.name, gap)));
            played.agents.push(seat.told().await);
        }
        Ok(played)
    }
}

/// The host does what there is to do at this tick.
async fn settle() {
    for _ in 0..POLLS {
        yield_now().await;
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
