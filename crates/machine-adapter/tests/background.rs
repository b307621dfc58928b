//! Calls that outlive their turn: told once, stopped at any time, never forgotten (A20, A25, B07, C08, C10, C13, X09).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
mod story;

use std::sync::Arc;

use machine_core::access::{Access, Mode, Touch};
use machine_core::ask::{Answer, By, Executed, Piece, Plan};
use machine_core::event::Event;
use machine_core::history::Edit;
use machine_core::input::{Command, Input, Refused};
use machine_core::message::{Entry, Message, Origin, text_content};
use machine_core::outcome::{Outcome, ToolResult};
use machine_testkit::script::{Behaviour, Reply, Response};
use story::*;

/// Detaches 1 after it started, and says `done` after `takes`.
fn job(takes: u64) -> Behaviour {
    Behaviour::ok("done", takes).detaches(1)
}

/// Calls the job at 2, detached at 3; `n` final answers follow.
fn script(job: Behaviour, n: usize) -> machine_testkit::script::Script {
    let answers = (1..=n).map(|n| text(&n.to_string()));
    model(std::iter::once(calls(&["job"])).chain(answers)).tool("job", job)
}

fn short_grace() -> machine_core::config::Config {
    with(|config| config.calls.grace_ms = 10)
}

fn ended(world: &World) -> Vec<(u64, String)> {
    let ends = world.events.iter().filter_map(|stamped| match &stamped.event {
        Event::BackgroundEnded { outcome, .. } => Some((stamped.at, short(outcome))),
        _ => None,
    });
    ends.collect()
}

fn roster(world: &World) -> Vec<(String, u64, bool)> {
    let calls = world.engine.agent().data().roster.iter();
    calls.map(|(_, lingering)| (lingering.tool.to_string(), lingering.since, lingering.detached)).collect()
}

fn last_said(world: &World, like: impl Fn(&Origin) -> bool) -> String {
    world.engine.history().iter().rfind(|entry| like(&entry.origin)).unwrap().message.text()
}

/// A20.
#[test]
fn c_c08_the_acknowledgement_is_the_answer() {
    let mut world = go(with(|_| {}), script(job(50), 2));
    world.run_until(20).unwrap();
    assert_eq!(told(&world), "go | [job] | job ok | 1");
    assert_eq!(result(&world, 0), "works in the background");
    assert_eq!(world.engine.state().agent, ["Open", "Idle", "Waiting"]);
    assert_eq!(roster(&world), [("job".into(), 3, true)], "A25");
    let right = "go | [job] | job ok | 1 | end of 1.1.1.0 | 2";
    assert_eq!(rest(&mut world), right, "its end wakes, and is told once");
    assert_eq!(ended(&world), [(52, "ok".into())]);
    assert!(last_said(&world, |origin| matches!(origin, Origin::BackgroundEnd { .. })).contains("done"));
    assert_eq!((roster(&world), world.engine.state().agent), (vec![], &["Open", "Idle", "Ready"][..]));
    // In a running turn: at its next drain.
    let slow = Response { pause: 30, ..text("1") };
    let script = model([calls(&["job"]), slow, text("2")]).tool("job", job(40));
    let mut world = go(with(|_| {}), script);
    assert_eq!(rest(&mut world), "go | [job] | job ok | 1 | end of 1.1.1.0 | 2");
    assert_eq!(ends(&world), "completed");
}

#[test]
fn c_c08_a_second_detach_is_ignored_and_the_time_goes_on() {
    let again = Piece::Detached(text_content("again"));
    let limited = Plan { timeout_ms: Some(30), access: Access::None, ..Plan::default() };
    let mut world =
        go(short_grace(), script(Behaviour::hang().detaches(1).brings(2, again).plan(limited), 2));
    assert_eq!(rest(&mut world), "go | [job] | job ok | 1 | end of 1.1.1.0 | 2");
    assert_eq!(result(&world, 0), "works in the background");
    assert_eq!(when(&world, |event| matches!(event, Event::Stray { .. })), [4]);
    assert_eq!(ended(&world), [(32, "timed out(may have run)".into())]);
}

#[test]
fn s51_killed_and_completed_are_never_both_told() {
    // It ignores the cancel and returns at 100.
    let mut world = go(short_grace(), script(job(98).deaf(), 2));
    world.arrange(20, cancel(call(1, 1, 0)));
    assert_eq!(rest(&mut world), "go | [job] | job ok | 1 | end of 1.1.1.0 | 2");
    assert_eq!(ended(&world), [(30, "cancelled(may have run)".into())]);
    assert_eq!(when(&world, |e| matches!(e, Event::LateResult { outcome: Outcome::Ok, .. })), [100]);
    // A real outcome within the grace is the one that is told.
    let done = Executed::Done(Arc::new(ToolResult::text("just in time")));
    let mut world = go(short_grace(), script(Behaviour::hang().detaches(1).when_cancelled(done), 2));
    world.arrange(20, cancel(call(1, 1, 0)));
    rest(&mut world);
    assert_eq!(ended(&world), [(20, "ok".into())]);
    assert_eq!(count(&world, |event| matches!(event, Event::LateResult { .. })), 0);
}

#[test]
fn s53_compaction_keeps_the_handles_of_running_work() {
    let summary = Entry {
        origin: Origin::Summary,
        turn: None,
        message: Message::User { content: text_content("S") },
        meta: None,
    };
    let edit = Edit::Replace { with: vec![Arc::new(summary)] };
    let script = script(Behaviour::hang().detaches(1), 2)
        .hook("Maintain", Reply::after(10, Answer::Maintained).edit(edit));
    let mut world = go(with(|_| {}), script);
    world.arrange(20, Command::Maintain);
    world.run_until(40).unwrap();
    assert_eq!(told(&world), "summary S");
    assert_eq!(roster(&world), [("job".into(), 3, true)]);
    world.send(cancel(call(1, 1, 0))).unwrap();
    assert_eq!(rest(&mut world), "summary S | end of 1.1.1.0 | 2");
    assert_eq!(roster(&world), []);
}

#[test]
fn s52_what_was_told_is_not_told_again() {
    let mut world = go(with(|_| {}), script(job(50), 3));
    rest(&mut world);
    world.arrange(60, Command::Maintain);
    rest(&mut world);
    world.crash().unwrap();
    world.arrange(70, submit("hi"));
    assert_eq!(rest(&mut world), "go | [job] | job ok | 1 | end of 1.1.1.0 | 2 | hi | 3");
    assert_eq!(ended(&world).len(), 1);
}

#[test]
fn c_x09_background_calls_survive_the_abort_of_their_turn() {
    let script = model([calls(&["job", "b"]), text("2")]).tool("job", job(50)).tool("b", Behaviour::hang());
    let mut world = go(with(|_| {}), script);
    world.arrange(9, abort());
    world.run_until(20).unwrap();
    assert_eq!(told(&world), "go | [job b] | job ok | b cancelled(may have run) | marker");
    assert_eq!(roster(&world), [("job".into(), 4, true)]);
    assert!(rest(&mut world).ends_with("marker | end of 1.1.1.0 | 2"), "its end wakes");
}

#[test]
fn c_b07_what_a_detached_call_gives_back() {
    for (keep_access, starts) in [(false, 8), (true, 52)] {
        let plan =
            Plan { keep_access, access: Access::from(Touch::path(Mode::Write, "/f")), ..Plan::default() };
        let script = model([calls(&["job"]), calls(&["b"]), text("1"), text("2")])
            .tool("job", job(50).plan(plan.clone()))
            .tool("b", Behaviour::ok("B", 1).plan(plan));
        let mut world = go(with(|config| config.calls.max_parallel = 1), script);
        world.run_until(60).unwrap();
        let at = when(&world, |event| matches!(event, Event::CallStarted { .. }))[1];
        assert_eq!(at, if keep_access { starts } else { 5 }, "the slot is free, the path only without it");
        assert!(starts >= 8);
        rest(&mut world);
    }
}

/// One that kept its accesses in the background and does not stop holds nobody up for ever, nor anybody else's slot.
#[test]
fn c_b07_a_detached_call_that_is_deaf_keeps_its_accesses() {
    let path = Access::from(Touch::path(Mode::Write, "/f"));
    let kept = Plan { keep_access: true, timeout_ms: Some(30), access: path.clone(), ..Plan::default() };
    let script = model([calls(&["job"]), calls(&["b", "c"]), text("1"), text("2")])
        .tool("job", Behaviour::hang().deaf().detaches(1).plan(kept))
        .tool("b", Behaviour::ok("B", 1).plan(Plan { access: path, ..Plan::default() }))
        .tool("c", Behaviour::ok("C", 200).plan(Plan { access: Access::None, ..Plan::default() }));
    let config = with(|config| {
        config.calls.max_parallel = 1;
        config.calls.grace_ms = 10;
        config.calls.busy_after_ms = 50;
    });
    let mut world = go(config, script);
    world.run_until(400).unwrap();
    let right = "go | [job] | job ok | [b c] | b not started(busy) | c ok | end of 1.1.1.0 | 1";
    assert_eq!(told(&world), right);
    // `c` runs meanwhile: the slot is free. While it runs nobody knows that only a deaf call is in the way.
    assert_eq!(when(&world, |event| matches!(event, Event::CallStarted { .. })), [2, 6]);
    assert_eq!(when(&world, |event| matches!(event, Event::CallSettled { .. })), [3, 206, 256]);
}

#[test]
fn c_b07_a_deaf_call_holds_its_slot() {
    let script = model([calls(&["a"]), calls(&["b"]), text("ok")])
        .tool("a", Behaviour::ok("A", 100).deaf())
        .tool("b", Behaviour::ok("B", 1));
    let config = with(|config| {
        config.calls.max_parallel = 1;
        config.calls.grace_ms = 10;
    });
    let mut world = go(config, script);
    world.arrange(5, abort_by(By::Program));
    world.arrange(20, submit("x"));
    world.run_until(50).unwrap();
    assert_eq!(roster(&world), [("a".into(), 15, false)]);
    assert_eq!(rest(&mut world), "go | [a] | a cancelled(may have run) | x | [b] | b ok | ok");
    assert_eq!(when(&world, |event| matches!(event, Event::CallStarted { .. })), [2, 102]);
    // The host says that it is gone.
    let script = model([calls(&["a"]), calls(&["b"]), text("ok")])
        .tool("a", Behaviour::hang().deaf())
        .tool("b", Behaviour::ok("B", 1));
    let config = with(|config| {
        config.calls.max_parallel = 1;
        config.calls.grace_ms = 10;
    });
    let mut world = go(config, script);
    world.arrange(5, abort_by(By::Program));
    world.arrange(20, submit("x"));
    world.run_until(50).unwrap();
    let ask = asked(&world, "Execute")[0].1.id;
    world.arrange(60, Input::Lost { ask });
    assert_eq!(rest(&mut world), "go | [a] | a cancelled(may have run) | x | [b] | b ok | ok");
    assert_eq!(when(&world, |event| matches!(event, Event::CallStarted { .. })), [2, 60]);
}

#[test]
fn c_c13_an_end_that_was_told_otherwise() {
    // Before it came.
    let mut world = go(with(|_| {}), script(job(50), 1));
    world.arrange(20, Command::Consume(call(1, 1, 0)));
    assert_eq!(rest(&mut world), "go | [job] | job ok | 1");
    assert_eq!(ended(&world).len(), 1, "it is an event all the same");
    assert_eq!(world.send(Command::Consume(call(1, 1, 0))), Err(Refused::UnknownCall(call(1, 1, 0))));
    // While it waits to be told.
    let mut world = go(with(|_| {}), script(job(50), 1));
    world.arrange(20, Command::Pause);
    world.arrange(60, Command::Consume(call(1, 1, 0)));
    world.arrange(61, Command::Resume);
    assert_eq!(rest(&mut world), "go | [job] | job ok | 1");
    assert_eq!(world.engine.state().next_step, 0);
}

#[test]
fn c_c11_the_end_is_finalized_and_the_acknowledgement_is_not() {
    let config = || {
        with(|config| {
            config.ask.finalize = true;
            config.ask.timeout_ms = 5;
        })
    };
    let clean = Answer::Finalize(Arc::new(ToolResult::text("clean")));
    for (reply, says, outcome) in [
        (Reply::now(clean), "clean", "ok"),
        (Reply::now(hook_failed()), "withheld", "error(withheld)"),
        (Reply::never(), "withheld", "error(withheld)"),
    ] {
        let mut world = go(config(), script(job(50), 2).hook("Finalize", reply));
        assert_eq!(rest(&mut world), "go | [job] | job ok | 1 | end of 1.1.1.0 | 2");
        assert_eq!(result(&world, 0), "works in the background");
        assert_eq!(ended(&world)[0].1, outcome);
        let said = last_said(&world, |origin| matches!(origin, Origin::BackgroundEnd { .. }));
        assert!(said.contains(says) && !said.contains("done"), "{said}");
    }
}

#[test]
fn c_c07_progress_is_live_and_over_when_the_call_is() {
    let progress = |at| (at, Piece::Progress(format!("{at}").into()));
    let tool = Behaviour { pieces: vec![progress(1), progress(2), progress(9)], ..Behaviour::ok("A", 5) };
    let mut world = go(with(|_| {}), model([calls(&["a"]), text("1")]).tool("a", tool));
    rest(&mut world);
    assert_eq!(when(&world, |event| matches!(event, Event::Progress { .. })), [3, 4]);
    assert_eq!(when(&world, |event| matches!(event, Event::Stray { .. })), [11]);
    assert!(world.events.iter().all(|s| s.event.is_durable()
        != matches!(s.event, Event::Progress { .. } | Event::Delta { .. } | Event::Stray { .. })));
}
