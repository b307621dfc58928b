//! A model, tools, hooks and clients that do anything, at any time; processes that die and agents that are handed
//! over. Then the world heals, and everything must have an end. `SEED=n` runs one seed alone.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
#![expect(clippy::panic, reason = "a test may also fail in a helper")]
mod common;
#[path = "chaos/world.rs"]
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use machine_core::ask::{By, Cause};
use machine_core::event::Event;
use machine_core::history::History;
use machine_core::outcome::Outcome;
use machine_host::{Agent, CommandError, Parked, Seen};
use machine_journal::reopen;
use world::{Random, World};

const SEEDS: u64 = 300;

#[tokio::test(start_paused = true)]
async fn whatever_happens_everything_ends() {
    let seeds = match std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..SEEDS,
    };
    for seed in seeds {
        eprintln!("SEED={seed}");
        run(seed).await;
    }
}

async fn run(seed: u64) {
    let world = World::new(seed);
    let mut random = Random::new(seed ^ 0xC11E);
    let mut agent = world.open(None).await;
    for _ in 0..random.below(40) {
        let pause = [0, 0, 1, 50, 3_000, 40_000][random.index(6)];
        tokio::time::sleep(Duration::from_millis(pause)).await;
        match random.below(20) {
            0 => agent = crash(agent, &world).await,
            1 => {
                let parked = hand_over(&agent).await;
                drop(agent);
                agent = world.open(Some(parked)).await;
            }
            _ => client(&agent, &mut random).await,
        }
    }
    world.heal();
    allowed(agent.resume().await);
    if tokio::time::timeout(Duration::from_secs(1_000_000), agent.idle()).await.is_err() {
        panic!("it never comes to rest: {:#?}", agent.state().await.unwrap());
    }
    let end = agent.prompt("are you well?").await.unwrap();
    assert_eq!(end.reason.name(), "completed");
    check(&agent, &world).await;
    let parked = serde_json::to_value(agent.park().await.unwrap()).unwrap();
    let replayed = reopen(world.journal.lock().unwrap().records()).unwrap().engine;
    let replayed = serde_json::to_value(replayed.snapshot()).unwrap();
    assert_eq!(parked["snapshot"], replayed, "J07: a replay equals the run");
}

/// One thing that a client may do at any time.
async fn client(agent: &Agent, random: &mut Random) {
    let waits = agent.state().await.unwrap();
    let call = waits.calls.get(random.index(waits.calls.len().max(1))).map(|call| call.id);
    match random.below(14) {
        0..=3 => drop(agent.submit("do something").await.unwrap()),
        4 => drop(agent.steer("look here").await.unwrap()),
        5 => drop(agent.notify("it rains").await.unwrap()),
        6 => drop(agent.inject("by the way").await.unwrap()),
        7 => allowed(agent.remind("time", "it is late").await),
        8 => allowed(agent.pause().await),
        9 => allowed(agent.resume().await),
        10 => {
            // A client may go away while it waits; one that waits does not wait longer than the grace.
            let patience = Duration::from_millis([random.below(2_000), 2_600][random.index(2)]);
            let aborted = tokio::time::timeout(patience, agent.abort(who(random))).await;
            assert!(
                aborted.is_ok() || patience < Duration::from_millis(2_600),
                "P15: the abort took too long"
            );
        }
        11 => {
            if let Some(call) = call {
                allowed(agent.cancel_call(call, who(random)).await);
            }
        }
        12 => allowed(agent.maintain().await.map(|_| ())),
        _ => {
            let mut config = Arc::unwrap_or_clone(agent.config().await.unwrap());
            config.calls.max_parallel = u32::try_from(random.below(3)).unwrap() + 1;
            agent.configure(config).await.unwrap();
        }
    }
}

fn who(random: &mut Random) -> Arc<Cause> {
    Cause::by([By::User, By::Program][random.index(2)])
}

/// Refused is a fine answer here, anything else is not.
fn allowed(done: Result<(), CommandError>) {
    assert!(matches!(done, Ok(()) | Err(CommandError::Refused(_))), "{done:?}");
}

async fn crash(agent: Agent, world: &World) -> Agent {
    drop(agent);
    world.until_nobody_writes().await;
    world.journal.lock().unwrap().crash();
    world.open(None).await
}

async fn hand_over(agent: &Agent) -> Parked {
    let parked = agent.park().await.unwrap();
    serde_json::from_str(&serde_json::to_string(&parked).unwrap()).unwrap()
}

async fn check(agent: &Agent, world: &World) {
    let history = agent.history().await.unwrap();
    history.audit().unwrap();
    let seen = agent.recorded(0).await.unwrap();
    assert_eq!(fold(&seen), history, "P10: folding the durable events gives history");
    brackets(&seen);
    honest(&seen, world);
    let replayed = reopen(world.journal.lock().unwrap().records()).unwrap();
    assert_eq!(replayed.engine.history(), &history, "P11");
    world.nothing_ran_twice();
}

fn fold(seen: &[Seen]) -> History {
    let mut history = History::new();
    for seen in seen {
        match &*seen.event {
            Event::Committed { at, entry } => {
                assert_eq!(*at, history.len());
                history.append(entry.clone()).unwrap();
            }
            Event::Edited { edit } => history.edit(edit).unwrap(),
            _ => {}
        }
    }
    history
}

/// One end per beginning (E06, T18).
fn brackets(seen: &[Seen]) {
    let (mut turns, mut steps) = (BTreeSet::new(), BTreeSet::new());
    let mut calls = BTreeMap::new();
    for seen in seen {
        match &*seen.event {
            Event::TurnStarted { turn, .. } => assert!(turns.insert(*turn), "T18: {turn}"),
            Event::TurnEnded(end) => assert!(turns.remove(&end.turn), "T18: {}", end.turn),
            Event::StepStarted { step } => assert!(steps.insert(*step), "T06: {step}"),
            Event::StepEnded { step, .. } => assert!(steps.remove(step), "T06: {step}"),
            Event::CallAnnounced { call, .. } => assert!(calls.insert(*call, 0).is_none(), "E06: {call}"),
            Event::CallSettled { call, .. } => *calls.get_mut(call).unwrap() += 1,
            _ => {}
        }
    }
    assert!(turns.is_empty() && steps.is_empty(), "open: {turns:?} {steps:?}");
    assert!(calls.values().all(|settled| *settled == 1), "V13: {calls:?}");
}

/// What ran is never said not to have run (J05, V12).
fn honest(seen: &[Seen], world: &World) {
    for seen in seen {
        let Event::CallSettled { call, outcome, .. } = &*seen.event else { continue };
        let unstarted = match outcome {
            Outcome::NotStarted { .. } | Outcome::Denied { .. } => true,
            Outcome::Cancelled { may_have_run } | Outcome::TimedOut { may_have_run } => !may_have_run,
            Outcome::Ok | Outcome::Error { .. } | Outcome::Unknown => false,
        };
        assert!(!unstarted || !world.ran(*call), "{call} ran, and was answered {outcome:?}");
    }
}
