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
use machine_testkit::explore::walk;
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
        let (ran, came) = (told(&world, &moves), played(&text));
        let differs = ran.iter().zip(&came).position(|(ran, came)| ran != came);
        let at = differs.unwrap_or(ran.len().min(came.len()));
        prop_assert!(ran.len() <= came.len() && differs.is_none(), "event {at}: ran {:#?}\ncame {:#?}\n{text}", ran.get(at), came.get(at));
    }
}
