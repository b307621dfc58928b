//! What the explorer finds can be played: a way through the world, written as a scenario file, brings the same durable
//! events on the simulator.
#![cfg(feature = "scenario")]
use std::path::Path;
use std::sync::Arc;

use machine_adapter::{Engine, Out};
use machine_core::config::{CallLimits, Questions};
use machine_core::event::Event;
use machine_core::input::Input;
use machine_testkit::engine::{Allowed, EngineWorld, Menu};
use machine_testkit::explore::{World, walk};
use machine_testkit::scenario::Scenario;
use machine_testkit::scenario::written::{Unwritable, write};
use proptest::prelude::*;

fn world(seed: [bool; 6]) -> EngineWorld {
    let [approve, timeout, screen, gate, stop, conflict] = seed;
    let may = Allowed {
        abort: 2,
        steer: 1,
        notify: 1,
        prompts: 1,
        detach: 1,
        cancel: 1,
        pause: 1,
        crash: 1,
        approve,
        timeout,
        ..Allowed::default()
    };
    let ask = Questions { screen, gate, stop, recover: false, finalize: false, timeout_ms: 0 };
    let calls = CallLimits { max_parallel: 2, ..CallLimits::default() };
    EngineWorld::new(Menu { calls: 2, steps: 2, failures: 1, may, conflict }, ask, calls)
        .expect("a sound start")
}

/// The durable events of a run, without times.
fn told(world: &EngineWorld, moves: &[Vec<Input>]) -> Vec<Event> {
    let mut engine = Engine::new(1, Arc::clone(world.engine().config())).expect("sound");
    let (mut events, mut out) = (Vec::new(), Out::default());
    for input in moves.iter().flatten() {
        out.clear();
        engine.feed(0, input, &mut out).expect("it was admitted before");
        events.extend(out.events.drain(..).filter(Event::is_durable));
    }
    events
}

fn played(text: &str) -> Vec<Event> {
    let scenario = Scenario::parse(Path::new("written.yaml"), text).expect("a written scenario loads");
    let verdict = scenario.simulate().expect("it plays");
    let events = verdict.played.agents[0].events.iter().map(|(_, event)| event.clone());
    events.filter(Event::is_durable).collect()
}

/// Writes a way and plays it; where the two differ first. What the scenario answers after the way's end may follow.
fn differs(world: &EngineWorld, moves: &[Vec<Input>], text: &str) -> Result<(), String> {
    let (ran, came) = (told(world, moves), played(text));
    let differs = ran.iter().zip(&came).position(|(ran, came)| ran != came);
    let at = differs.unwrap_or(ran.len().min(came.len()));
    match ran.len() <= came.len() && differs.is_none() {
        true => Ok(()),
        false => Err(format!("event {at}: ran {:#?}\ncame {:#?}\n{text}", ran.get(at), came.get(at))),
    }
}

#[test]
fn what_another_process_asks_again_is_answered_each_time() {
    let may = Allowed { steer: 1, crash: 1, approve: true, ..Allowed::default() };
    let ask =
        Questions { screen: true, gate: false, stop: false, recover: false, finalize: false, timeout_ms: 0 };
    let menu = Menu { calls: 2, steps: 1, failures: 0, may, conflict: false };
    let mut world = EngineWorld::new(menu, ask, CallLimits::default()).expect("a sound start");
    let mut moves = vec![world.start()];
    // A prompt joins while one call runs and the other waits for an approval. It is admitted when the turn is over.
    let way = "Admit pieces Finished Ready Ready Submit Recovered Granted Done Model Finished Admit";
    for what in way.split(' ') {
        let all = [world.owed(), world.volunteered()].concat();
        let next = all.into_iter().find(|happens| format!("{happens:?}").contains(what)).expect(what);
        world.apply(&next).expect("no violation");
        moves.push(next.inputs);
    }
    let text = write("asked again", "", world.engine().config(), &moves).expect("it can be written");
    assert_eq!(differs(&world, &moves, &text), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_plays_as_it_was(
        seed in any::<[bool; 6]>(),
        steps in 1..30usize,
        picks in prop::collection::vec(any::<prop::sample::Index>(), 200),
    ) {
        let mut world = world(seed);
        let start = world.start();
        let mut next = picks.iter().cycle();
        let way = walk(&mut world, steps, |n| next.next().expect("a cycle").index(n)).expect("no violation");
        let moves: Vec<Vec<Input>> = std::iter::once(start).chain(way.into_iter().map(|happens| happens.inputs)).collect();
        let text = write("a walk", "", world.engine().config(), &moves);
        // The world lets timers fire in any order; a clock does not.
        prop_assume!(!matches!(text, Err(Unwritable::NoTimes)));
        let text = text.map_err(|error| TestCaseError::fail(error.to_string()))?;
        differs(&world, &moves, &text).map_err(TestCaseError::fail)?;
    }
}
