//! A scenario on the real host, in a runtime whose time is paused. One conductor holds everything that the script
//! brings, in the order of the simulator, and lets the host come to rest between two things: so both drivers see the
//! same story.
mod disk;
mod house;
mod openings;
mod props;
mod stage;

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use machine_core::ask::Question;
use machine_core::ids::CallId;
use machine_core::input::{Command, Lane};
use machine_core::message::Content;
use machine_host::{Agent, CommandError, Decision, Rule, Say};
use tokio::task::yield_now;
use tokio::time::{Instant, advance, sleep_until};

use crate::scenario::hosted::house::House;
use crate::scenario::hosted::stage::Key;
use crate::scenario::phases;
use crate::scenario::played::{Cue, Played};
use crate::scenario::says::{self, Deed};
use crate::scenario::simulated::{GONE, NOT_ASKED, PATIENCE, in_agent};
use crate::scenario::trace;
use crate::scenario::verb::{Allows, Opening, Place, Verb};
use crate::scenario::{Fault, Scenario};

/// Polls that the host gets to come to rest between two things of the script. The longest way in it is about a dozen.
const POLLS: usize = 64;
/// Virtual time in which a scenario must come to rest.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

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
    let house = House::new(scenario);
    house.open("", "", None).await.map_err(|error| Fault::Host(error.to_string()))?;
    for role in scenario.standalone() {
        house.open(role, role, None).await.map_err(|error| Fault::Host(error.to_string()))?;
    }
    let mut conductor = Conductor { house: house.clone(), gaps: Vec::new(), unheard: false };
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

async fn act(agent: &Agent, deed: Deed) -> Result<(), String> {
    let said = |id: machine_core::ids::InputId, message: Content, meta: Option<machine_core::Text>| {
        let say = Say::new(message).id(id);
        match meta {
            Some(meta) => say.meta(meta),
            None => say,
        }
    };
    let done: Result<(), CommandError> = match deed {
        Deed::Opening(how) => unreachable!("{how:?}: no handle of an agent can do that"),
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
    /// Something was said, and the host did not come to rest since.
    unheard: bool,
}

impl Conductor {
    async fn run(&mut self, mut cues: std::collections::VecDeque<(Key, Cue)>) -> Result<(), Fault> {
        let mut in_one_go = false;
        for _ in 0..PATIENCE {
            if !std::mem::take(&mut in_one_go) {
                self.settle().await?;
            }
            let staged = self.house.stage.next();
            let next = staged.into_iter().chain(cues.front().map(|(key, _)| *key)).min();
            let Some(key) = next else {
                // An agent that leaves its seat lets its own things come to rest first.
                self.settle().await?;
                self.settle().await?;
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
                    self.due(cue, !first || !more).await?;
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

    async fn due(&mut self, cue: Cue, settles: bool) -> Result<(), Fault> {
        let now = self.house.stage.now();
        match cue {
            Cue::Do { agent, moment } => {
                let first = moment.order == Place::First;
                for verb in moment.verbs.0 {
                    self.act(&agent, verb, now).await?;
                    if settles && !first {
                        self.settle().await?;
                    }
                }
                if settles && first {
                    self.settle().await?;
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
        Ok(())
    }

    async fn act(&mut self, name: &str, verb: Verb, now: u64) -> Result<(), Fault> {
        let word = trace::verb(&verb);
        let Some(seat) =
            self.house.find(name).filter(|seat| seat.home == seat.rank || seat.agent().is_some())
        else {
            self.gaps.push(format!("tick {now}: there is no agent `{name}` for `{word}`"));
            return Ok(());
        };
        let closes = matches!(verb, Verb::Close);
        let deed = says::deed(verb, &lock(&seat.cast));
        match deed {
            Ok(Deed::Opening(how)) => {
                if self.unheard {
                    self.settle().await?;
                }
                let opened = self.house.open_again(&seat, how, &word).await;
                return opened.map_err(|why| Fault::Reopen { agent: seat.name.clone(), why });
            }
            Ok(_) if seat.agent().is_none() => {
                let refused = (!closes).then(|| format!("{word}: {GONE}"));
                lock(&seat.refused).extend(refused);
            }
            Ok(deed) => {
                seat.act(word, deed);
                self.unheard = true;
            }
            Err(why) => self.gaps.push(format!("tick {now}: `{word}`: {why}")),
        }
        Ok(())
    }

    /// The host does what there is to do at this tick. Who died meanwhile is opened again.
    async fn settle(&mut self) -> Result<(), Fault> {
        loop {
            settle().await;
            self.unheard = false;
            let Some(seat) = self.house.seats().into_iter().find(|seat| seat.is_dead()) else {
                return Ok(());
            };
            let opened = self.house.open_again(&seat, Opening::Crash, "crash").await;
            opened.map_err(|why| Fault::Reopen { agent: seat.name.clone(), why })?;
        }
    }

    async fn played(self) -> Result<Played, Fault> {
        let mut played = Played { gaps: self.gaps, ..Played::default() };
        let seats = self.house.seats();
        for seat in &seats {
            let gaps = lock(&seat.cast).gaps.clone();
            played.gaps.extend(gaps.iter().map(|gap| in_agent(&seat.name, gap)));
            played.agents.push(seat.told().await);
        }
        // Whatever they bring now is not told any more.
        for (seat, told) in seats.iter().zip(&mut played.agents) {
            told.flaws.extend(self.house.flaw(seat).await);
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
