//! What the record says, and what it does not depend on (V16, E03, A09).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
mod story;

use std::sync::Arc;

use machine_core::event::Event;
use machine_core::input::{Command, Note, Refused, Submit};
use machine_core::response::{Finish, ModelEvent};
use machine_testkit::script::{Behaviour, Response};
use story::*;

#[test]
fn c_v16_a_hosts_own_data_stand_on_the_entry_and_are_never_sent() {
    let data = r#"{"from":"the web","seat":7}"#;
    let mut world = world(with(|_| {}), model([text("one"), text("two")]));
    let prompt = Submit { meta: Some(data.into()), ..(*Submit::text("go", "go")).clone() };
    world.arrange(0, Command::Submit(Arc::new(prompt)));
    world.arrange(
        10,
        Command::Notify(Arc::new(Note { meta: Some(data.into()), ..(*Note::text("n", "n")).clone() })),
    );
    assert_eq!(rest(&mut world), "go | one | note n | two");
    let metas: Vec<_> = world.engine.history().iter().map(|entry| entry.meta.as_deref()).collect();
    assert_eq!(metas, [Some(data), None, Some(data), None]);
    let told = count(
        &world,
        |event| matches!(event, Event::Committed { entry, .. } if entry.meta.as_deref() == Some(data)),
    );
    assert_eq!(told, 2, "events carry it, too");
    for request in &world.host.requests {
        let said: String = request.history.iter().map(|entry| entry.message.text()).collect();
        assert!(!said.contains("seat"), "{said}");
    }
}

#[test]
fn c_e03_the_record_does_not_depend_on_how_a_stream_was_cut_into_deltas() {
    let run = |pieces: &[&str]| {
        let events = pieces.iter().map(|piece| ModelEvent::Text((*piece).into()));
        let call = [start(0, "c", "a"), args(0, "{\"x\""), args(0, ":1}")];
        let streams = Response { pause: 0, ..streams(events.chain(call), Finish::ToolUse) };
        let script = model([streams, text("done")]).tool("a", Behaviour::ok("ok", 1));
        let mut world = go(with(|_| {}), script);
        rest(&mut world);
        let durable = |event: &&Event| event.is_durable();
        world.events.iter().map(|stamped| &stamped.event).filter(durable).cloned().collect::<Vec<_>>()
    };
    let whole = run(&["Hello, world"]);
    assert_eq!(whole, run(&["Hel", "lo, ", "", "wor", "ld"]));
    assert_ne!(whole, run(&["Hello, World"]));
}

#[test]
fn c_a09_a_queued_prompt_is_taken_back_and_an_unknown_one_is_refused() {
    let script = model([calls(&["a"]), text("done")]).tool("a", Behaviour::ok("ok", 10));
    let mut world = go(with(|_| {}), script);
    world.arrange(2, submit("later"));
    world.run_until(5).unwrap();
    world.send(Command::Withdraw("later".into())).unwrap();
    assert_eq!(world.send(Command::Withdraw("later".into())), Err(Refused::UnknownInput("later".into())));
    assert_eq!(rest(&mut world), "go | [a] | a ok | done");
    assert_eq!(receipts(&world, "later"), ["accepted", "returned"]);
}
