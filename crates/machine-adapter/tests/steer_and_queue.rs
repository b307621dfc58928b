//! What is sent while the agent works, and where it goes (A02 to A08, A10, A21, T13 to T15). Accepted input is used,
//! pending, returned, or dropped with a reason; never lost.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
mod story;

use std::sync::Arc;

use machine_core::ask::{Answer, StopVerdict};
use machine_core::config::Config;
use machine_core::event::Receipt;
use machine_core::input::{Command, Note, Refused, Submit};
use machine_core::message::text_content;
use machine_core::outcome::ToolResult;
use machine_testkit::script::{Behaviour, Reply, Response};
use story::*;

fn screening() -> Config {
    with(|config| config.ask.screen = true)
}

fn says_ok(n: usize) -> Vec<Response> {
    (1..=n).map(|n| text(&n.to_string())).collect()
}

#[test]
fn s18_nothing_stands_between_a_call_and_its_result() {
    let delivers = ToolResult { deliver: Some(text_content("hook")), ..ToolResult::text("A") };
    let a = || Behaviour::ok("", 5).ends(machine_core::ask::Executed::Done(Arc::new(delivers.clone())));
    let script = model([calls(&["a", "b"]), text("ok")]).tool("a", a()).tool("b", Behaviour::ok("B", 9));
    let mut world = go(with(|_| {}), script);
    world.arrange(4, notify("1"));
    world.arrange(9, notify("2"));
    assert_eq!(rest(&mut world), "go | [a b] | a ok | b ok | deliver hook | note 1 | note 2 | ok");
    // The same with an abort: they come after the results, with whatever starts next.
    let script = model([calls(&["a", "b"]), text("ok")]).tool("a", a()).tool("b", Behaviour::hang());
    let mut world = go(with(|_| {}), script);
    world.arrange(4, notify("1"));
    world.arrange(9, notify("2"));
    world.arrange(12, abort());
    world.arrange(20, submit("hi"));
    let right =
        "go | [a b] | a ok | b cancelled(may have run) | marker | deliver hook | note 1 | note 2 | hi | ok";
    assert_eq!(rest(&mut world), right);
}

#[test]
fn s43_a05_a_steer_in_the_last_window_of_the_turn() {
    // The answer streams at 1 and ends at 2. Before it, in its tick before it: the turn goes on.
    for at in [1, 2] {
        let mut world = go(with(|_| {}), model(says_ok(2)));
        world.arrange(at, join("x"));
        assert_eq!(rest(&mut world), "go | 1 | x | 2", "{at}");
        assert_eq!(ends(&world), "completed");
        assert_eq!(receipts(&world, "x"), ["accepted", "steered", "taken", "turn ended"]);
    }
    // In its tick after it: the next turn.
    let mut world = go(with(|_| {}), model(says_ok(2)));
    world.run_until(2).unwrap();
    world.send(join("x")).unwrap();
    assert_eq!(rest(&mut world), "go | 1 | x | 2");
    assert_eq!(ends(&world), "completed, completed");
    assert_eq!(receipts(&world, "x"), ["accepted", "taken", "turn ended"]);
    // While the stop hook is asked: what is pending is looked at again after it (T15).
    for end in [Answer::Stop(StopVerdict::End), hook_failed()] {
        let script = model(says_ok(2)).hook("Stop", Reply::after(10, end));
        let mut world = go(with(|config| config.ask.stop = true), script);
        world.arrange(5, join("x"));
        assert_eq!(rest(&mut world), "go | 1 | x | 2");
        assert_eq!(ends(&world), "completed");
    }
}

#[test]
fn s44_a_message_that_was_accepted_opens_the_next_turn() {
    let script = model([calls(&["a"]), text("done"), text("2")]).tool("a", Behaviour::ok("A", 1));
    let mut world = go(with(|_| {}), script);
    world.arrange(2, submit("x"));
    assert_eq!(rest(&mut world), "go | [a] | a ok | done | x | 2");
    assert_eq!(receipts(&world, "x"), ["accepted", "taken", "turn ended"]);
}

#[test]
fn s45_a10_the_same_message_sent_twice() {
    let mut world = go(with(|_| {}), model(says_ok(2)));
    world.arrange(1, join("9"));
    world.run_until(1).unwrap();
    let pending = Refused::Duplicate { id: "9".into(), first: Receipt::Steered };
    assert_eq!(world.send(join("9")), Err(pending));
    rest(&mut world);
    let taken = Refused::Duplicate { id: "9".into(), first: Receipt::Taken(turn(1)) };
    for again in [join("9"), submit("9"), notify("9"), inject("9"), remind("9", "x", false)] {
        assert_eq!(world.send(again), Err(taken.clone()), "the first outcome");
    }
    assert_eq!(rest(&mut world), "go | 1 | 9 | 2");
    // Only the last ids are remembered.
    let mut world = go(with(|config| config.inbox.remembered_ids = 1), model(says_ok(3)));
    world.arrange(5, submit("x"));
    world.arrange(9, submit("go"));
    assert_eq!(rest(&mut world), "go | 1 | x | 2 | go | 3");
}

/// A21.
#[test]
fn s49_one_turn_at_a_time() {
    let mut world = world(screening(), model(says_ok(3)));
    world.host.hooks_take = 10;
    for id in ["u1", "u2", "heartbeat"] {
        world.arrange(0, submit(id));
    }
    assert_eq!(rest(&mut world), "u1 | 1 | u2 | 2 | heartbeat | 3");
    let turns: Vec<_> = world.ends().iter().map(|end| end.turn).collect();
    assert_eq!(turns, [turn(1), turn(2), turn(3)]);
    let brackets: Vec<_> = kinds(&world).into_iter().filter(|kind| kind.starts_with("turn")).collect();
    assert_eq!(brackets, ["turn", "turn ended"].repeat(3));
}

#[test]
fn c_a03_who_wakes_and_who_does_not() {
    let mut world = world(with(|_| {}), model(says_ok(3)));
    world.arrange(0, inject("i"));
    world.arrange(1, park("p"));
    world.arrange(2, remind("r", "r", false));
    assert_eq!(rest(&mut world), "", "none of these wakes");
    world.arrange(10, submit("q"));
    assert_eq!(rest(&mut world), "note i | reminder r | p | 1 | q | 2", "the parked prompt goes first");
    world.arrange(50, notify("n"));
    assert!(rest(&mut world).ends_with("note n | 3"));
    for (command, id) in [
        (Command::Submit(Submit::text("e", " ")), "e"),
        (Command::Notify(Note::text("e", "")), "e"),
        (remind("e", "\n", false), "e"),
    ] {
        assert_eq!(world.send(command), Err(Refused::Empty(id.into())));
    }
    // In a running turn an injection is pending input: one more step.
    let mut world = go(with(|_| {}), model(says_ok(2)));
    world.arrange(1, inject("i"));
    assert_eq!(rest(&mut world), "go | 1 | note i | 2");
    // Without a running turn a prompt for the next step is an ordinary one.
    let mut world = go(with(|_| {}), model(says_ok(3)));
    world.arrange(5, join("x"));
    world.arrange(5, join("y"));
    assert_eq!(rest(&mut world), "go | 1 | x | 2 | y | 3");
}

#[test]
fn c_a05_the_order_of_a_turn_start_and_of_a_drain() {
    let mut world = world(with(|_| {}), model(says_ok(2)));
    let commands = [
        Command::Pause,
        submit("q1"),
        remind("r1", "old", false),
        remind("r2", "r2", false),
        inject("i1"),
        notify("n1"),
        remind("r1", "new", false),
        submit("q2"),
        inject("i2"),
    ];
    for (at, command) in (0..).zip(commands) {
        world.arrange(at, command);
    }
    assert_eq!(rest(&mut world), "");
    world.send(Command::Resume).unwrap();
    let right = "note i1 | note n1 | note i2 | reminder r2 | reminder new | q1 | 1 | q2 | 2";
    assert_eq!(rest(&mut world), right);
    // A batch's messages come in call order, directly after its last result.
    let delivers = |says: &str, takes| {
        let result = ToolResult { deliver: Some(text_content(says)), ..ToolResult::text("ok") };
        Behaviour::ok("", takes).ends(machine_core::ask::Executed::Done(Arc::new(result)))
    };
    let script =
        model([calls(&["a", "b"]), text("ok")]).tool("a", delivers("A", 9)).tool("b", delivers("B", 1));
    let mut world = go(with(|_| {}), script);
    world.arrange(4, join("j"));
    world.arrange(5, inject("i"));
    world.arrange(5, remind("r", "r", false));
    let right = "go | [a b] | a ok | b ok | deliver A | deliver B | j | note i | reminder r | ok";
    assert_eq!(rest(&mut world), right);
}

#[test]
fn c_a07_reminders_never_start_anything() {
    let script = model([calls(&["a"]), text("1"), text("2"), text("3")]).tool("a", Behaviour::ok("A", 1));
    let mut world = go(with(|_| {}), script);
    world.arrange(2, remind("r", "r", true));
    world.arrange(4, remind("s", "s", false));
    assert_eq!(rest(&mut world), "go | [a] | a ok | reminder r | 1", "`s` came in a final answer: no step");
    world.arrange(50, remind("r", "r", true));
    world.arrange(51, submit("x"));
    assert!(rest(&mut world).ends_with("1 | reminder s | x | 2"), "`r` says nothing new");
    assert_eq!(receipts(&world, "r"), ["accepted", "taken", "accepted", "dropped"]);
    world.arrange(60, remind("r", "other", true));
    world.arrange(61, submit("y"));
    assert!(rest(&mut world).ends_with("2 | reminder other | y | 3"));
}

#[test]
fn c_a08_queued_prompts_join_the_running_turn() {
    let script = || model([calls(&["a"]), text("1"), text("2")]).tool("a", Behaviour::ok("A", 20));
    let queued = |world: &mut World| {
        for id in ["x", "y", "z"] {
            world.arrange(3, submit(id));
        }
    };
    let mut world = go(with(|_| {}), script());
    queued(&mut world);
    world.arrange(5, steer(&["z", "x"]));
    assert_eq!(rest(&mut world), "go | [a] | a ok | x | z | 1 | y | 2", "in queue order");
    assert_eq!(receipts(&world, "x"), ["accepted", "steered", "taken", "turn ended"]);
    // Refused: nothing changes.
    let mut world = go(with(|_| {}), script());
    assert_eq!(world.send(steer(&["x"])), Err(Refused::NoTurn));
    queued(&mut world);
    world.arrange(4, inject("i"));
    world.run_until(5).unwrap();
    let before = world.engine.clone();
    assert_eq!(world.send(steer(&["x", "w"])), Err(Refused::UnknownInput("w".into())));
    assert_eq!(world.send(steer(&["x", "i"])), Err(Refused::NotAPrompt("i".into())));
    assert!(world.engine == before);
    world.run_until(100).unwrap();
    assert_eq!(world.send(steer(&["x"])), Err(Refused::NoTurn));
    // The turn ends first: to the head of the queue, in order.
    let mut world = go(with(|_| {}), script());
    queued(&mut world);
    world.arrange(5, steer(&["y", "z"]));
    world.arrange(6, abort());
    world.host.responses.extend(says_ok(2));
    assert!(rest(&mut world).ends_with("marker | y | 1 | z | 2 | x | 1"), "{}", told(&world));
}
