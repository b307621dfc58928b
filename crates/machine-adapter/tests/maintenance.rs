//! Compaction and import: exclusive, undone unless done, and never at the cost of what waits (A17, A18, J06).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
mod story;

use std::sync::Arc;

use machine_core::ask::{Answer, Gated, Proceed};
use machine_core::config::Config;
use machine_core::event::{Event, MaintenanceEnd};
use machine_core::history::Edit;
use machine_core::input::{Command, Refused};
use machine_core::message::{Entry, Message, Origin, text_content};
use machine_testkit::script::{Behaviour, Reply, Response, Script};
use story::*;

fn summary() -> Arc<Entry> {
    let message = Message::User { content: text_content("S") };
    Arc::new(Entry { origin: Origin::Summary, turn: None, message, meta: None })
}

fn fold(up_to: usize) -> Edit {
    Edit::Fold { up_to, into: vec![summary()] }
}

/// A turn that ends at 5: `go | [a] | a ok | 1`; then three answers.
fn worked() -> Script {
    model([calls(&["a"]), text("1"), text("2"), text("3"), text("4")]).tool("a", Behaviour::ok("A", 1))
}

fn maintained(after: u64) -> Reply {
    Reply::after(after, Answer::Maintained)
}

fn maintenance(world: &World) -> Vec<(u64, MaintenanceEnd)> {
    let ends = world.events.iter().filter_map(|stamped| match &stamped.event {
        Event::MaintenanceEnded { end, .. } => Some((stamped.at, end.clone())),
        _ => None,
    });
    ends.collect()
}

#[test]
fn c_a17_maintenance_edits_history_when_it_is_done() {
    let mut world = go(with(|_| {}), worked().hook("Maintain", maintained(10).edit(fold(3))));
    world.arrange(20, Command::Maintain);
    assert_eq!(rest(&mut world), "summary S | 1");
    assert_eq!(maintenance(&world), [(30, MaintenanceEnd::Done)]);
    world.arrange(40, submit("x"));
    assert_eq!(rest(&mut world), "summary S | 1 | x | 2");
}

#[test]
fn s39_a_stop_during_compaction() {
    let edits = Reply { after: 2, edits: vec![fold(3)], answer: None };
    let mut world = go(with(|_| {}), worked().hook("Maintain", edits));
    world.run_until(19).unwrap();
    let before = world.engine.history().digest();
    world.arrange(20, Command::Maintain);
    world.arrange(25, abort());
    rest(&mut world);
    assert_eq!(world.engine.history().digest(), before, "history stays as it was");
    assert_eq!(maintenance(&world), [(25, MaintenanceEnd::Aborted)]);
    assert_eq!(count(&world, |event| matches!(event, Event::Edited { .. })), 0);
    world.arrange(30, submit("hi"));
    assert_eq!(rest(&mut world), "go | [a] | a ok | 1 | hi | 2");
}

#[test]
fn s47_input_that_comes_during_compaction() {
    let hang = Reply { after: 0, edits: Vec::new(), answer: None };
    for (reply, end) in
        [(maintained(10), "done"), (Reply::after(10, hook_failed()), "failed"), (hang, "aborted")]
    {
        let mut world = world(with(|_| {}), model([text("1"), text("2")]).hook("Maintain", reply));
        world.arrange(0, Command::Maintain);
        world.arrange(3, submit("x"));
        world.arrange(4, join("y"));
        if end == "aborted" {
            world.arrange(10, abort());
        }
        assert_eq!(rest(&mut world), "x | 1 | y | 2", "{end}");
        assert_eq!(asked(&world, "Attempt")[0].0, 10);
        assert_eq!((ends(&world).as_str(), maintenance(&world).len()), ("completed, completed", 1));
    }
    // What does not wake waits on.
    let mut world = world(with(|_| {}), model([text("1")]).hook("Maintain", maintained(10)));
    world.arrange(0, Command::Maintain);
    world.arrange(3, inject("i"));
    assert_eq!(rest(&mut world), "");
    assert_eq!(world.engine.state().next_step, 1);
}

#[test]
fn s56_no_compaction_in_an_open_batch() {
    let script = model([calls(&["a", "b"]), text("ok")])
        .tool("a", Behaviour::ok("A", 5))
        .tool("b", Behaviour::ok("B", 9))
        .hook("Gate", Reply::now(Answer::Gate(Gated::Proceed(Arc::new(Proceed::default())))))
        .hook("Gate", Reply::now(Answer::Gate(Gated::Proceed(Arc::new(Proceed::default())))).edit(fold(1)));
    let mut world = go(with(|config| config.ask.gate = true), script);
    world.run_until(9).unwrap();
    assert_eq!(world.send(Command::Maintain), Err(Refused::Busy("Active")));
    assert_eq!(
        rest(&mut world),
        "summary S | [a b] | a ok | b ok | ok",
        "at the next gate, in the same turn"
    );
    assert_eq!(ends(&world), "completed");
}

#[test]
fn c_a18_an_edit_never_cuts_a_batch() {
    let with_edit = |edit| Reply::now(Answer::Gate(Gated::Proceed(Arc::new(Proceed::default())))).edit(edit);
    for edit in [fold(2), fold(9), Edit::Replace { with: vec![] }] {
        let script = model([calls(&["a"]), text("ok")])
            .tool("a", Behaviour::ok("A", 5))
            .hook("Gate", Reply::now(Answer::Gate(Gated::Proceed(Arc::new(Proceed::default())))))
            .hook("Gate", with_edit(edit));
        let mut world = go(with(|config| config.ask.gate = true), script);
        assert_eq!(rest(&mut world), "go | [a] | a ok | ok");
        assert_eq!(count(&world, |event| matches!(event, Event::EditRefused { .. })), 1);
    }
    // One that is refused in maintenance leaves the others.
    let reply = maintained(1).edit(fold(2)).edit(fold(3));
    let mut world = go(with(|_| {}), worked().hook("Maintain", reply));
    world.arrange(20, Command::Maintain);
    assert_eq!(rest(&mut world), "summary S | 1");
    // Where nothing may edit, an edit is stray.
    let mut world = go(with(|_| {}), model([text("1").silent()]));
    world.run_until(5).unwrap();
    let before = world.engine.clone();
    let ask = asked(&world, "Attempt")[0].1.id;
    let piece = machine_core::ask::Piece::Edit(Arc::new(fold(0)));
    world.arrange(6, machine_core::input::Input::Piece { ask, piece });
    world.run_until(6).unwrap();
    assert!(world.engine == before);
}

#[test]
fn c_a17_maintenance_while_input_is_held() {
    let failing = || Response::failure(machine_core::response::Failure::Auth);
    let held = |world: &World| world.engine.state().agent == ["Open", "Idle", "Held"];
    let script = || model([failing(), text("1"), text("2")]).hook("Maintain", maintained(10));
    let mut world = go(with(|_| {}), script());
    world.arrange(0, submit("x"));
    world.arrange(20, Command::Maintain);
    assert_eq!(rest(&mut world), "go", "it is held on");
    assert!(held(&world));
    let mut world = go(with(|_| {}), script());
    world.arrange(0, submit("x"));
    world.arrange(20, Command::Maintain);
    world.arrange(25, submit("y"));
    assert_eq!(rest(&mut world), "go | x | 1 | y | 2", "and a prompt releases it, when maintenance is over");
}

#[test]
fn c_a17_pause_and_resume_during_maintenance() {
    let script = || model([text("1")]).hook("Maintain", maintained(10));
    let mut world = world(with(|_| {}), script());
    world.arrange(0, Command::Maintain);
    world.arrange(3, Command::Pause);
    world.arrange(4, submit("x"));
    assert_eq!(rest(&mut world), "");
    world.send(Command::Resume).unwrap();
    assert_eq!(rest(&mut world), "x | 1");
    assert_eq!(world.send(Command::Withdraw("x".into())), Err(Refused::UnknownInput("x".into())));
}

#[test]
fn c_j06_a_configuration_is_valid_from_the_next_turn() {
    let mut changed = Config::default();
    changed.request.system = "new".into();
    changed.turn.max_steps = Some(1);
    let script =
        model([calls(&["a"]), text("1"), calls(&["a"]), text("never")]).tool("a", Behaviour::ok("A", 1));
    let mut world = go(with(|_| {}), script);
    world.arrange(1, Command::Configure(Arc::new(changed)));
    world.arrange(2, submit("x"));
    assert_eq!(rest(&mut world), "go | [a] | a ok | 1 | x | [a] | a ok");
    assert_eq!(ends(&world), "completed, step_limit");
    let systems: Vec<_> = world.host.requests.iter().map(|request| request.system.to_string()).collect();
    assert_eq!(systems, ["", "", "new"]);
    let nonsense = with(|config| config.calls.max_parallel = 0);
    assert!(matches!(world.send(Command::Configure(Arc::new(nonsense))), Err(Refused::Config(_))), "B11");
}
