//! What is found in one machine can be played by a whole engine: a way through its world, lifted, leads the machine through
//! the same states there, and is written as a scenario that brings the same durable events.
#![cfg(feature = "scenario")]
use std::path::Path as FilePath;
use std::sync::Arc;

use machine_adapter::trace::{Transition, Who};
use machine_adapter::{Engine, Out};
use machine_core::event::Event;
use machine_core::ids::TurnId;
use machine_core::machine::Path;
use machine_testkit::agent::{AgentSettings, AgentWorld};
use machine_testkit::call::{CallSettings, CallWorld};
use machine_testkit::explore::{World, walk};
use machine_testkit::scenario::Scenario;
use machine_testkit::scenario::lifted::{self, Lifted};
use machine_testkit::scenario::written::{Unwritable, write};
use machine_testkit::turn::{TurnSettings, TurnWorld};
use proptest::prelude::*;
use proptest::sample::Index;

const TURN: TurnId = TurnId { branch: 1, turn: 1 };

/// A random way through a world, up to its rest, and the leaves that its machine is at on the way.
fn wander<W: World>(
    world: &W,
    steps: usize,
    picks: &[Index],
    leaf: fn(&W) -> &'static str,
) -> (Vec<W::Move>, Vec<&'static str>) {
    let mut picks = picks.iter().cycle();
    let pick = |n: usize| picks.next().expect("a cycle").index(n);
    let way = walk(&mut world.clone(), steps, pick).expect("no violation");
    let mut world = world.clone();
    let mut leaves = vec![leaf(&world)];
    for one in &way {
        world.apply(one).expect("it was applied before");
        leaves.push(leaf(&world));
    }
    leaves.dedup();
    (way, leaves)
}

/// The leaves that a machine of the engine is at, and the durable events of the run.
fn ran((config, moves): &Lifted, who: Who) -> (Vec<&'static str>, Vec<Event>) {
    let mut engine = Engine::new(1, Arc::new(config.clone())).expect("sound");
    let (mut leaves, mut events, mut out) = (Vec::new(), Vec::new(), Out::default());
    for input in moves.iter().flatten() {
        out.clear();
        let admitted = engine.admit(input).expect("every input is admitted");
        let mut see = |transition: Transition| {
            if transition.machine == who {
                leaves.extend(transition.from.last());
                leaves.extend(transition.to.last());
            }
        };
        engine.handle_traced(0, admitted, &mut out, &mut see);
        events.extend(out.events.drain(..).filter(Event::is_durable));
    }
    leaves.dedup();
    (leaves, events)
}

fn played(text: &str) -> Vec<Event> {
    let scenario = Scenario::parse(FilePath::new("lifted.yaml"), text).expect("a written scenario loads");
    let verdict = scenario.simulate().expect("it plays");
    let events = verdict.played.agents[0].events.iter().map(|(_, event)| event.clone());
    events.filter(Event::is_durable).collect()
}

/// An event without its texts: a script says of itself that it is one, and has its own words for what hooks say.
fn unworded(event: &Event) -> String {
    format!("{event:?}").split('"').step_by(2).collect()
}

/// Checks one way. What cannot be lifted or written is rejected.
fn check(
    leaves: &[&str],
    lifted: Result<Lifted, Unwritable>,
    who: impl Fn(&Lifted) -> Who,
) -> Result<(), TestCaseError> {
    let Ok(lifted) = lifted else { return Err(TestCaseError::reject("it has no way there")) };
    let (came, events) = ran(&lifted, who(&lifted));
    // Where nothing comes to it, it stays.
    let came = if came.is_empty() { &leaves[..1] } else { &came[..] };
    prop_assert_eq!(came, leaves, "{:#?}", lifted.1);
    let text = match write("a walk", "", &lifted.0, &lifted.1) {
        Err(Unwritable::NoTimes | Unwritable::NoWords(_)) => {
            return Err(TestCaseError::reject("it cannot be written"));
        }
        Err(other) => return Err(TestCaseError::fail(other.to_string())),
        Ok(text) => text,
    };
    let came = played(&text);
    let differs = events.iter().zip(&came).position(|(ran, came)| unworded(ran) != unworded(came));
    let at = differs.unwrap_or(events.len().min(came.len()));
    prop_assert!(
        events.len() <= came.len() && differs.is_none(),
        "event {at}: ran {:#?}\ncame {:#?}\n{text}\n{:#?}",
        events.get(at),
        came.get(at),
        lifted.1
    );
    Ok(())
}

/// Half of all ways at least are lifted and written.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 400,
        max_global_rejects: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn picks() -> impl Strategy<Value = Vec<Index>> {
    prop::collection::vec(any::<Index>(), 60)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_call(flags in any::<[bool; 6]>(), counts in prop::array::uniform6(0..2u32), steps in 1..12usize, picks in picks()) {
        let [finalize, approve, timeout, refusals, detach, known] = flags;
        let [abort, cancel, steer, output, crash, hurry] = counts;
        let skip = refusals && steer == 1;
        let settings = CallSettings {
            finalize, known, approve, timeout, refusals, abort, hurry, cancel, steer, detach, output, skip, crash,
            stray: true, ..CallSettings::default()
        };
        let world = CallWorld::new(settings).expect("a sound start");
        let (way, leaves) = wander(&world, steps, &picks, |world| world.machine().state().leaf());
        // Where its batch has another call, that one is announced before it.
        let who = |(_, moves): &Lifted| {
            let started = moves[1].iter().filter(|input| format!("{input:?}").contains("CallStart")).count();
            Who::Call(TURN.step(1).call(u32::try_from(started).expect("one or two") - 1))
        };
        check(&leaves, lifted::call(&world, &way), who)?;
    }

    #[test]
    fn a_turn(flags in any::<[bool; 6]>(), counts in prop::array::uniform9(0..2u32), sizes in [0..3u32, 0..3u32, 0..2u32], steps in 1..40usize, picks in picks()) {
        let [gate, recover, stop, refusals, finishes, stop_turn] = flags;
        let [abort, hurry, steer, notify, deliver, pause, wait, crash, stray] = counts;
        let [calls, steps_with_calls, retries] = sizes;
        let ask = machine_core::config::Questions { gate, recover, stop, ..Default::default() };
        let limits = machine_core::config::TurnLimits { stream_idle_ms: 0, ..Default::default() };
        let settings = TurnSettings {
            calls, steps: steps_with_calls, retries, ask, limits, refusals, finishes, stop_turn, abort, hurry, steer, notify,
            deliver, pause, wait, crash, stray: stray == 1, ..TurnSettings::default()
        };
        let world = TurnWorld::new(settings).expect("a sound start");
        let (way, leaves) = wander(&world, steps, &picks, |world| world.machine().state().leaf());
        check(&leaves, lifted::turn(&world, &way), |_| Who::Turn(TURN))?;
    }

    #[test]
    fn an_agent(flags in any::<[bool; 4]>(), counts in prop::array::uniform14(0..2u32), steps in 1..20usize, picks in picks()) {
        let [screen, refusals, close, stray] = flags;
        let [prompts, steer, notify, inject, remind, change, abort, pause, maintain, detach, deaf, deliver, crash, notes] = counts;
        // A process that dies while nothing is open leaves nothing to recover: that has no way into an engine.
        let crash = crash.min(notes);
        let settings = AgentSettings {
            prompts: prompts + 1, steer, notify, inject, remind, change, screen, screen_notes: screen && notes == 1, refusals,
            abort, pause, maintain, close, detach, deaf, deliver, crash, stray, ..AgentSettings::default()
        };
        let world = AgentWorld::new(settings).expect("a sound start");
        let (way, leaves) = wander(&world, steps, &picks, |world| world.machine().state().leaf());
        check(&leaves, lifted::agent(&world, &way), |_| Who::Agent)?;
    }
}
