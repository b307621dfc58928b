//! Text that hooks put into history has a budget per turn (H09).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
mod story;

use std::sync::Arc;

use machine_core::ask::{Answer, Gated, Proceed, StopVerdict};
use machine_core::config::Config;
use machine_core::event::Event;
use machine_core::input::Command;
use machine_core::message::{Body, Message, Origin, Part, Said, text_content};
use machine_core::outcome::ToolResult;
use machine_testkit::script::{Behaviour, Reply};
use story::*;

fn room(chars: usize) -> Config {
    with(|config| {
        config.turn.hook_chars = chars;
        config.ask.gate = true;
        config.ask.stop = true;
        config.ask.finalize = true;
    })
}

fn said(hook: &str, says: &str) -> Said {
    Said { hook: hook.into(), content: text_content(says) }
}

fn gate(messages: Vec<Said>) -> Reply {
    Reply::now(Answer::Gate(Gated::Proceed(Arc::new(Proceed { messages, ..Proceed::default() }))))
}

fn stop(message: Said) -> Reply {
    Reply::now(Answer::Stop(StopVerdict::Continue(Arc::from([message]))))
}

/// Hook, length and what was kept of every message that was cut.
fn cuts(world: &World) -> Vec<(String, usize, usize)> {
    let cuts = world.events.iter().filter_map(|stamped| match &stamped.event {
        Event::HookTextCut { hook, chars, kept } => Some((hook.to_string(), *chars, *kept)),
        _ => None,
    });
    cuts.collect()
}

const MARKER: &str = "characters left out: hooks said too much in this turn.]";

#[test]
fn c_h09_messages_of_gates_and_stop_hooks_share_a_budget() {
    let script = model([text("1"), text("2")])
        .hook("Gate", gate(vec![said("clock", "ääää"), said("memory", "bbbb")]))
        .hook("Stop", stop(said("tests", "cccc")));
    let mut world = go(room(10), script);
    let right = format!("go | gate ääää | gate bbbb | 1 | hook cc[2 {MARKER} | 2");
    assert_eq!(rest(&mut world), right, "characters, not bytes");
    assert_eq!(cuts(&world), [("tests".into(), 4, 2)]);
    let origins: Vec<_> = world.engine.history().iter().map(|entry| entry.origin.clone()).collect();
    assert_eq!(origins[1], Origin::Gate { hook: "clock".into() });
    assert_eq!(origins[2], Origin::Gate { hook: "memory".into() });
    assert_eq!(origins[4], Origin::StopHook { hook: "tests".into() });
    // Exactly the budget is within it.
    let script = model([text("1")]).hook("Gate", gate(vec![said("clock", "aaaa")]));
    let mut world = go(room(4), script);
    assert_eq!(rest(&mut world), "go | gate aaaa | 1");
    assert_eq!(cuts(&world), []);
}

#[test]
fn c_h09_the_budget_begins_again_with_each_turn() {
    let script = model([text("1"), text("2"), text("3")])
        .hook("Gate", gate(vec![said("clock", "aaaaaa")]))
        .hook("Stop", stop(said("tests", "b")))
        .hook("Gate", gate(vec![said("clock", "cccccc")]))
        .hook("Gate", gate(vec![said("clock", "dddddd")]));
    let mut world = go(room(6), script);
    world.arrange(0, submit("x"));
    let right =
        format!("go | gate aaaaaa | 1 | hook [1 {MARKER} | gate [6 {MARKER} | 2 | x | gate dddddd | 3");
    assert_eq!(rest(&mut world), right);
    assert_eq!(cuts(&world), [("tests".into(), 1, 0), ("clock".into(), 6, 0)]);
}

/// What a stop hook said while the agent pauses is read in a later turn: it takes that one's room.
#[test]
fn c_h09_a_message_counts_in_the_turn_that_reads_it() {
    let script = model([text("1"), text("2")])
        .hook("Gate", gate(vec![]))
        .hook("Stop", Reply { after: 5, ..stop(said("tests", "aaaaaa")) })
        .hook("Gate", gate(vec![said("clock", "bbbb")]));
    let mut world = go(room(6), script);
    world.arrange(3, Command::Pause);
    world.arrange(20, Command::Configure(Arc::new(room(4))));
    world.arrange(30, Command::Resume);
    let right = format!("go | 1 | hook aaaa[2 {MARKER} | gate [4 {MARKER} | 2");
    assert_eq!(rest(&mut world), right);
    assert_eq!(cuts(&world), [("tests".into(), 6, 4), ("clock".into(), 4, 0)]);
    assert_eq!(world.ends().len(), 2);
}

/// Part by part: what is no text stays, and no part is left empty.
#[test]
fn c_h09_a_message_of_several_parts_is_cut_as_one_text() {
    let image = Part::from(Body::Media { kind: "image/png".into(), at: "file:a.png".into() });
    let content = || [Part::text("aaaa"), image.clone(), Part::text("bbbb")].into();
    for (budget, kept) in
        [(6, vec!["aaaa", "bb"]), (5, vec!["aaaa", "b"]), (4, vec!["aaaa"]), (3, vec!["aaa"])]
    {
        let message = Said { hook: "clock".into(), content: content() };
        let mut world = go(room(budget), model([text("1")]).hook("Gate", gate(vec![message])));
        rest(&mut world);
        let entry = world.engine.history().iter().nth(1).unwrap();
        let Message::User { content } = &entry.message else { panic!("a gate speaks as a user") };
        let marker = format!("[{} {MARKER}", 8 - budget);
        let mut wanted: Vec<Part> = kept.into_iter().map(Part::text).chain([Part::text(marker)]).collect();
        wanted.insert(1, image.clone());
        assert_eq!(**content, *wanted, "{budget}");
    }
}

/// H09.
#[test]
fn s76_a_hook_that_eats_the_context() {
    let added = |hook: Option<&str>| {
        let result = ToolResult {
            note: Some("n".repeat(10_000).into()),
            deliver: Some(text_content("d".repeat(10_000))),
            hook: hook.map(Into::into),
            ..ToolResult::text("ok")
        };
        Reply::now(Answer::Finalize(Arc::new(result)))
    };
    let calls_of = |n: usize| calls(&vec!["a"; n]);
    let mut script = model([calls_of(100), text("done")]).tool("a", Behaviour::ok("", 1));
    for _ in 0..100 {
        script = script.hook("Finalize", added(Some("talker")));
    }
    let mut world = go(with(|config| config.ask.finalize = true), script);
    rest(&mut world);
    let chars: usize = world.engine.history().iter().map(|entry| entry.message.text().chars().count()).sum();
    assert!((100_000..120_000).contains(&chars), "{chars}");
    assert_eq!(cuts(&world).len(), 190, "ten are whole");
    assert!(cuts(&world).iter().all(|(hook, ..)| hook == "talker"));
    assert!(result(&world, 99).contains(MARKER));
    // What a tool says itself does not count.
    let script = model([calls(&["a"]), text("done")]).tool("a", Behaviour::ok("", 1));
    let mut world = go(room(10), script.hook("Finalize", added(None)));
    rest(&mut world);
    assert_eq!(cuts(&world), []);
}

#[test]
fn c_h09_the_end_of_a_background_call_counts_too() {
    let added = ToolResult {
        note: Some("much too long".into()),
        hook: Some("talker".into()),
        ..ToolResult::text("ok")
    };
    let script = model([calls(&["a"]), text("1"), text("2")])
        .tool("a", Behaviour::ok("", 50).detaches(1))
        .hook("Finalize", Reply::now(Answer::Finalize(Arc::new(added))));
    let mut world = go(with(|config| (config.turn.hook_chars, config.ask.finalize) = (4, true)), script);
    assert_eq!(rest(&mut world), "go | [a] | a ok | 1 | end of 1.1.1.0 | 2");
    assert_eq!(cuts(&world), [("talker".into(), 13, 4)]);
}
