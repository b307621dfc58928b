//! Screens, pause, taking back, bounds and receipts (A08, A11, A12, A23, A24, E08).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
mod story;

use machine_core::ask::{Answer, Screened};
use machine_core::config::Config;
use machine_core::event::{DroppedBecause, EndReason, Event, Receipt};
use machine_core::input::{Command, Refused};
use machine_core::message::text_content;
use machine_testkit::script::{Behaviour, Reply, Response};
use story::*;

fn screening() -> Config {
    with(|config| config.ask.screen = true)
}

fn says_ok(n: usize) -> Vec<Response> {
    (1..=n).map(|n| text(&n.to_string())).collect()
}

fn verdict(screened: Screened) -> Answer {
    Answer::Screen(screened)
}

#[test]
fn c_a08_a_steered_prompt_is_screened_and_nobody_waits_for_it() {
    let script = model([calls(&["a"]), text("1"), text("2")])
        .tool("a", Behaviour::ok("A", 20))
        .hook("Screen", Reply::now(verdict(Screened::Admit)))
        .hook("Screen", Reply::after(100, verdict(Screened::Rewrite(text_content("X")))));
    let mut world = go(screening(), script);
    world.arrange(3, submit("x"));
    world.arrange(5, steer(&["x"]));
    assert_eq!(rest(&mut world), "go | [a] | a ok | 1 | X | 2", "the turn was over before the verdict");
    assert_eq!(ends(&world), "completed, completed");
    assert_eq!(asked(&world, "Screen").len(), 2, "once per prompt");
}

#[test]
fn c_a11_a_screen_may_say_anything() {
    let script = model(says_ok(2))
        .hook("Screen", Reply::now(verdict(Screened::Block("no".into()))))
        .hook("Screen", Reply::now(hook_failed()))
        .hook("Screen", Reply::never())
        .hook("Screen", Reply::now(verdict(Screened::Rewrite(text_content("D")))))
        .hook("Screen", Reply::never());
    let mut world = world(screening(), script);
    for id in ["a", "b", "c", "d", "e", "f"] {
        world.arrange(0, submit(id));
    }
    world.arrange(5, Command::Withdraw("c".into()));
    world.arrange(20, abort());
    assert_eq!(rest(&mut world), "D | 1 | f | 2");
    let dropped: Vec<_> = world
        .events
        .iter()
        .filter_map(|stamped| match &stamped.event {
            Event::Receipt { receipt: Receipt::Dropped(why), .. } => Some(why.clone()),
            _ => None,
        })
        .collect();
    let right = [DroppedBecause::Blocked("no".into()), DroppedBecause::ScreenFailed, DroppedBecause::Aborted];
    assert_eq!(dropped, right, "`e` was being screened when the abort came (A13)");
    assert_eq!(receipts(&world, "c"), ["accepted", "returned"]);
    // The verdict on `c` would be stale.
    let ask = asked(&world, "Screen")[2].1.id;
    let before = world.engine.clone();
    let late = machine_core::input::Input::Answer { ask, answer: verdict(Screened::Admit) };
    world.arrange(60, late);
    rest(&mut world);
    assert!(world.engine == before);
}

#[test]
fn c_a12_pause_and_resume() {
    let script = || model([calls(&["a"]), text("1"), text("2")]).tool("a", Behaviour::ok("A", 20));
    let mut world = go(with(|_| {}), script());
    world.arrange(4, Command::Pause);
    world.arrange(5, notify("n"));
    assert_eq!(rest(&mut world), "go | [a] | a ok", "before anything is drained");
    assert_eq!((ends(&world), requests(&world)), ("paused".into(), 1));
    world.send(Command::Resume).unwrap();
    assert_eq!(rest(&mut world), "go | [a] | a ok | note n | 1");
    // Nothing waits: what the model has not answered goes on.
    let mut world = go(with(|_| {}), script());
    world.arrange(4, Command::Pause);
    rest(&mut world);
    world.send(Command::Resume).unwrap();
    assert_eq!(rest(&mut world), "go | [a] | a ok | 1");
    world.send(Command::Pause).unwrap();
    world.send(Command::Resume).unwrap();
    assert_eq!(rest(&mut world), "go | [a] | a ok | 1", "a final answer is answered");
    // After a final answer it completes; and both before the drain leave no trace.
    let mut world = go(with(|_| {}), model(says_ok(2)));
    world.arrange(1, Command::Pause);
    world.arrange(1, submit("x"));
    assert_eq!(rest(&mut world), "go | 1");
    assert_eq!(ends(&world), "completed");
    let mut world = go(with(|_| {}), script());
    world.arrange(4, Command::Pause);
    world.arrange(5, Command::Resume);
    assert_eq!(rest(&mut world), "go | [a] | a ok | 1");
    assert_eq!(ends(&world), "completed");
}

/// A09.
#[test]
fn c_a23_pending_input_is_taken_back_or_changed() {
    let mut world = go(with(|_| {}), model([text("1").silent(), text("2")]));
    for (at, command) in [
        (3, submit("x")),
        (3, submit("y")),
        (3, notify("n")),
        (3, remind("r", "r", false)),
        (4, Command::Replace("y".into(), text_content("Y"))),
        (5, Command::Withdraw("x".into())),
        (5, Command::Withdraw("n".into())),
        (5, Command::Withdraw("r".into())),
        (9, abort()),
    ] {
        world.arrange(at, command);
    }
    world.run_until(8).unwrap();
    assert_eq!(world.send(Command::Withdraw("x".into())), Err(Refused::UnknownInput("x".into())));
    let replace = |id: &str| Command::Replace(id.into(), text_content("Z"));
    assert_eq!(world.send(replace("x")), Err(Refused::UnknownInput("x".into())));
    assert_eq!(rest(&mut world), "go | salvaged 1 | marker | Y | 2");
    for id in ["x", "n", "r"] {
        assert_eq!(receipts(&world, id), ["accepted", "returned"]);
    }
    // A prompt that was changed is screened again.
    let script = model(says_ok(2))
        .hook("Screen", Reply::now(verdict(Screened::Admit)))
        .hook("Screen", Reply::after(20, verdict(Screened::Admit)))
        .hook("Screen", Reply::after(20, verdict(Screened::Block("no".into()))));
    let mut world = go(screening(), script);
    world.arrange(5, submit("x"));
    world.arrange(10, replace("x"));
    assert_eq!(rest(&mut world), "go | 1");
    assert_eq!(receipts(&world, "x"), ["accepted", "dropped"]);
}

#[test]
fn c_a24_every_bound_has_its_refusal() {
    let config = with(|config| {
        config.inbox.prompts = 2;
        config.inbox.next_step = 1;
    });
    let mut world = go(config, model([text("1").silent()]));
    for (at, command) in [
        (3, submit("1")),
        (3, submit("2")),
        (3, submit("3")),
        (4, notify("4")),
        (4, inject("5")),
        (4, join("6")),
        (5, remind("7", "x", false)),
        (5, remind("7", "y", false)),
        (5, remind("8", "x", false)),
    ] {
        world.arrange(at, command);
    }
    world.run_until(9).unwrap();
    let full = |what, limit| Refused::Full { what, limit };
    let right = [
        (3, full("inbox.prompts", 2)),
        (4, full("inbox.next_step", 1)),
        (4, full("inbox.next_step", 1)),
        (5, full("inbox.next_step", 1)),
    ];
    assert_eq!(world.refused, right);
}

#[test]
fn c_e08_a_prompts_last_receipt_names_the_end_of_its_turn() {
    let mut world = go(with(|_| {}), model([text("1"), text("2").silent()]));
    world.arrange(1, join("x"));
    world.arrange(9, abort());
    rest(&mut world);
    for id in ["go", "x"] {
        let last = world.events.iter().rev().find_map(|stamped| match &stamped.event {
            Event::Receipt { input, receipt } if &*input.0 == id => Some(receipt.clone()),
            _ => None,
        });
        assert!(matches!(last, Some(Receipt::TurnEnded(of, EndReason::Aborted(_))) if of == turn(1)), "{id}");
    }
}
