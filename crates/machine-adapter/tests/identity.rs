//! Ids: nothing of one session fits another, and turns are counted on.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
mod story;

use std::sync::Arc;

use machine_adapter::{Engine, Order, Out};
use machine_core::event::Event;
use machine_core::input::Input;
use machine_journal::Record;
use machine_testkit::script::Behaviour;
use story::*;

/// The same prompt in two branches: whatever was answered in the first means nothing to the second (E07).
#[test]
fn c_v02_nothing_of_one_branch_fits_another() {
    let config = || {
        with(|config| {
            config.ask.gate = true;
            config.turn.stream_idle_ms = 1_000;
        })
    };
    let script = model([calls(&["a", "a"]), text("ok")]).tool("a", Behaviour::ok("A", 1));
    let mut world = go(config(), script);
    rest(&mut world);
    let mut other = Engine::new(2, Arc::new(config())).unwrap();
    let mut out = Out::default();
    other.feed(0, &submit("go").into(), &mut out).unwrap();
    let mut answers = 0;
    for record in world.journal.records() {
        let Record::In { at, input: input @ (Input::Answer { .. } | Input::Piece { .. }), .. } = record
        else {
            continue;
        };
        let (before, mut out) = (other.clone(), Out::default());
        other.feed(*at, input, &mut out).unwrap();
        assert!(matches!(out.events[..], [Event::Stray { .. }]), "{input:?} was taken: {:?}", out.events);
        assert_eq!(before, other);
        answers += 1;
    }
    assert!(answers > 8, "a gate, an attempt, two calls");
    for (_, order) in &world.orders {
        let Order::Ask(ask) = order else { continue };
        assert_eq!(ask.id.branch, 1);
    }
}

#[test]
fn c_a21_turns_count_on_after_a_crash() {
    let mut world = go(with(|_| {}), model([text("1"), text("half").silent(), text("3"), text("4")]));
    world.arrange(10, submit("x"));
    world.run_until(15).unwrap();
    world.crash().unwrap();
    world.arrange(20, submit("y"));
    world.arrange(30, submit("z"));
    rest(&mut world);
    let turns: Vec<_> = world.ends().iter().map(|end| end.turn).collect();
    assert_eq!(turns, [turn(1), turn(2), turn(3), turn(4)]);
}
