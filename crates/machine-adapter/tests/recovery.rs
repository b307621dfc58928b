//! The process dies, the session is opened again: what cannot be repeated is closed, once, and nothing is lost (J05,
//! A14, U03). No tool ever runs a second time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
mod story;

use std::sync::Arc;

use machine_core::ask::{Answer, Approval, Approved, Plan, Question};
use machine_core::event::{Event, HeadTold, MaintenanceEnd, Sealed};
use machine_core::input::{Command, Input};
use machine_core::response::{Finish, ModelEvent};
use machine_core::usage::Usage;
use machine_testkit::script::{Behaviour, Reply};
use story::*;

fn recovered(world: &World) -> usize {
    count(world, |event| matches!(event, Event::Recovered))
}

fn held(world: &World) -> bool {
    world.engine.state().agent == ["Open", "Idle", "Held"]
}

/// The answer to the open approval.
fn granted(world: &World) -> Input {
    let (_, ask) = asked(world, "Approve").pop().unwrap();
    let Question::Approve { digest, .. } = ask.question else { panic!("{ask:?}") };
    Input::Answer {
        ask: ask.id,
        answer: Answer::Approve(Arc::new(Approved { digest, approval: Approval::Granted, rule: None })),
    }
}

#[test]
fn s04_killed_with_a_call_open() {
    let script =
        model([calls(&["a", "b"]), text("ok")]).tool("a", Behaviour::ok("A", 1)).tool("b", Behaviour::hang());
    let mut world = go(with(|_| {}), script);
    world.run_until(6).unwrap();
    world.crash().unwrap();
    let right = "go | [a b] | a ok | b unknown";
    assert_eq!((rest(&mut world).as_str(), recovered(&world)), (right, 1));
    assert_eq!((ends(&world).as_str(), held(&world)), ("interrupted", true));
    world.crash().unwrap();
    assert_eq!((rest(&mut world).as_str(), recovered(&world)), (right, 1), "opening again adds nothing");
    world.arrange(20, submit("continue"));
    assert_eq!(rest(&mut world), "go | [a b] | a ok | b unknown | continue | ok");
    assert_eq!(ran(&world), "a b", "it is not run again");
    assert!(result(&world, 1).contains("Check its effects before you repeat it"));
}

#[test]
fn c_j05_what_had_not_started_may_be_asked_again() {
    // `a` runs alone, `b` is queued; then `c` is still being prepared.
    let script = model([calls(&["a", "b", "c"]), text("ok")])
        .tool("a", Behaviour::hang())
        .tool("b", Behaviour::ok("B", 1))
        .tool("c", Behaviour::ok("C", 1))
        .hook("Prepare", Reply::now(ready()))
        .hook("Prepare", Reply::now(ready()))
        .hook("Prepare", Reply::never());
    let mut world = go(with(|config| config.calls.max_parallel = 1), script);
    world.run_until(9).unwrap();
    world.crash().unwrap();
    let right = "go | [a b c] | a unknown | b not started(crash) | c not started(crash)";
    assert_eq!(rest(&mut world), right);
    assert!(result(&world, 1).contains("You may send it again"));
}

fn ready() -> Answer {
    Answer::Prepare(machine_core::ask::Prepared::Ready(Arc::new(Plan::default())))
}

/// T06.
#[test]
fn s84_running_with_nobody_running() {
    // In an attempt, a backoff, a gate, a stop hook.
    let overloaded =
        || machine_testkit::script::Response::failure(machine_core::response::Failure::Overloaded);
    for (script, config) in [
        (model([text("half").silent()]), with(|_| {})),
        (model([overloaded()]), with(|_| {})),
        (model([]).hook("Gate", Reply::never()), with(|config| config.ask.gate = true)),
        (model([text("1")]).hook("Stop", Reply::never()), with(|config| config.ask.stop = true)),
    ] {
        let stop = config.ask.stop;
        let mut world = go(config, script);
        world.run_until(20).unwrap();
        world.crash().unwrap();
        let before = if stop { "go | 1" } else { "go" };
        assert_eq!(rest(&mut world), before, "an attempt in flight is void");
        assert_eq!((ends(&world).as_str(), held(&world)), ("interrupted", true));
        let sealed =
            |event: &Event| matches!(event, Event::StepEnded { sealed: Some(Sealed::Interrupted), .. });
        assert!(count(&world, sealed) <= 1);
        world.host.hooks.clear();
        world.host.responses = [text("hello")].into();
        world.arrange(200, submit("hi"));
        assert_eq!(rest(&mut world), format!("{before} | hi | hello"));
    }
}

#[test]
fn s46_pending_input_outlives_the_client() {
    let script = model([calls(&["a"]), text("1"), text("2")]).tool("a", Behaviour::hang());
    let mut world = go(with(|_| {}), script);
    world.arrange(2, submit("x"));
    world.arrange(2, notify("n"));
    world.arrange(2, remind("r", "r", false));
    world.run_until(3).unwrap();
    world.crash().unwrap();
    assert_eq!(rest(&mut world), "go | [a] | a unknown", "it is held");
    assert_eq!(world.engine.state().queued_prompts, 1);
    world.arrange(10, submit("y"));
    assert_eq!(rest(&mut world), "go | [a] | a unknown | note n | reminder r | x | 1 | y | 2");
    assert_eq!(receipts(&world, "x"), ["accepted", "held", "taken", "turn ended"]);
}

#[test]
fn s44_the_take_off_and_the_turn_start_are_one() {
    let script = model([text("done").silent(), text("2"), text("3")]);
    let mut world = go(with(|_| {}), script);
    world.arrange(1, submit("x"));
    world.run_until(1).unwrap();
    let attempt = asked(&world, "Attempt")[0].1.id;
    let finished = Arc::new(machine_core::response::Finished::new(Finish::EndTurn));
    world.arrange(2, Input::Answer { ask: attempt, answer: Answer::Finished(finished) });
    world.run_until(2).unwrap();
    assert_eq!(told(&world), "go | done | x");
    world.crash().unwrap();
    assert_eq!(rest(&mut world), "go | done | x", "once, and not again");
    world.send(Command::Resume).unwrap();
    assert_eq!(rest(&mut world), "go | done | x | 3", "history ends in what is not answered");
}

#[test]
fn c_u03_usage_steps_and_limits_survive() {
    let usage = ModelEvent::Usage(Usage { input: 5, output: 5, cached: 0 });
    let gated = Plan { approval: true, ..Plan::default() };
    let script = model([calls(&["a"]), streams([usage, start(0, "", "g")], Finish::ToolUse), calls(&["a"])])
        .tool("a", Behaviour::ok("A", 1))
        .tool("g", Behaviour::ok("G", 1).plan(gated));
    let mut world = go(with(|config| config.turn.max_steps = Some(3)), script);
    world.run_until(50).unwrap();
    for _ in 0..2 {
        world.crash().unwrap();
        assert_eq!(world.engine.state().agent, ["Open", "Running", "Active"], "its turn lives on");
    }
    let answer = granted(&world);
    world.arrange(60, answer);
    assert_eq!(rest(&mut world), "go | [a] | a ok | [g] | g ok | [a] | a ok");
    let end = world.ends()[0];
    assert_eq!((end.reason.name(), end.steps, end.usage.total()), ("step_limit", 3, 10));
}

#[test]
fn c_j05_an_abort_ends_a_turn_that_waits_for_an_approval() {
    let gated = || Behaviour::ok("G", 1).plan(Plan { approval: true, ..Plan::default() });
    let script = model([calls(&["g", "b"]), text("ok")]).tool("g", gated()).tool("b", Behaviour::hang());
    let mut world = go(with(|_| {}), script);
    world.run_until(9).unwrap();
    world.crash().unwrap();
    world.arrange(20, abort());
    assert_eq!(rest(&mut world), "go | [g b] | g not started(abort) | b unknown | marker");
    assert_eq!(ends(&world), "aborted");
}

#[test]
fn c_j05_background_work_is_told_once_and_does_not_wake() {
    let script =
        model([calls(&["job"]), text("1"), text("2")]).tool("job", Behaviour::ok("J", 90).detaches(1));
    let mut world = go(with(|_| {}), script);
    world.run_until(20).unwrap();
    world.crash().unwrap();
    assert_eq!(rest(&mut world), "go | [job] | job ok | 1");
    world.crash().unwrap();
    rest(&mut world);
    world.arrange(200, submit("x"));
    assert_eq!(rest(&mut world), "go | [job] | job ok | 1 | end of 1.1.1.0 | x | 2");
    assert_eq!(count(&world, |event| matches!(event, Event::BackgroundEnded { .. })), 1);
}

#[test]
fn c_j05_maintenance_counts_as_aborted_and_pause_is_kept() {
    let mut world = world(with(|_| {}), model([text("1")]).hook("Maintain", Reply::never()));
    world.arrange(0, Command::Maintain);
    world.arrange(1, Command::Pause);
    world.arrange(2, submit("x"));
    world.run_until(5).unwrap();
    world.crash().unwrap();
    assert_eq!(rest(&mut world), "");
    assert_eq!(
        count(&world, |e| matches!(e, Event::MaintenanceEnded { end: MaintenanceEnd::Aborted, .. })),
        1
    );
    assert!(held(&world) && world.engine.state().paused);
    world.arrange(9, submit("y"));
    assert_eq!(rest(&mut world), "", "released, and paused still");
    world.host.responses.push_back(text("2"));
    world.send(Command::Resume).unwrap();
    assert_eq!(rest(&mut world), "x | 1 | y | 2");
}

#[test]
fn c_j05_a_screen_is_asked_again() {
    let script = model([text("1"), text("2")]).hook("Screen", Reply::never());
    let mut world = go(
        with(|config| {
            config.ask.screen = true;
            config.ask.timeout_ms = 0;
        }),
        script,
    );
    world.run_until(5).unwrap();
    world.crash().unwrap();
    assert_eq!(rest(&mut world), "");
    assert!(held(&world));
    world.send(Command::Resume).unwrap();
    assert_eq!(rest(&mut world), "go | 1");
    assert_eq!(asked(&world, "Screen").len(), 2);
}

#[test]
fn c_j05_a_call_that_was_being_stopped() {
    let script =
        model([calls(&["a", "b"])]).tool("a", Behaviour::hang().deaf()).tool("b", Behaviour::ok("B", 1));
    let mut world = go(with(|_| {}), script);
    world.arrange(9, abort());
    world.run_until(20).unwrap();
    world.crash().unwrap();
    let right = "go | [a b] | a unknown | b ok | marker";
    assert_eq!(rest(&mut world), right, "the abort was handled: it stays the reason");
    assert_eq!(ends(&world), "aborted");
    assert!(held(&world));
}

/// T21.
#[test]
fn c_j05_the_first_request_of_an_opening_says_so() {
    let heads = |world: &World| {
        let heads = world.events.iter().filter_map(|stamped| match &stamped.event {
            Event::AttemptStarted { with, .. } => Some(with.as_ref().map(|head| head.why)),
            _ => None,
        });
        heads.collect::<Vec<_>>()
    };
    let mut world = go(with(|_| {}), model([text("half").silent(), text("1"), text("2")]));
    world.run_until(5).unwrap();
    world.crash().unwrap();
    world.arrange(9, submit("x"));
    world.arrange(20, submit("y"));
    rest(&mut world);
    assert_eq!(heads(&world), [Some(HeadTold::First), Some(HeadTold::Resumed), None]);
}

/// A08, A11.
#[test]
fn c_j05_a_steered_prompt_that_was_being_screened() {
    let gated = Plan { approval: true, ..Plan::default() };
    let script = model([calls(&["g"]), text("1"), text("2")])
        .tool("g", Behaviour::ok("G", 1).plan(gated))
        .hook("Screen", Reply::now(Answer::Screen(machine_core::ask::Screened::Admit)))
        .hook("Screen", Reply::never());
    let config = with(|config| {
        config.ask.screen = true;
        config.ask.timeout_ms = 0;
    });
    let mut world = go(config, script);
    world.arrange(4, join("x"));
    world.run_until(9).unwrap();
    world.crash().unwrap();
    let answer = granted(&world);
    world.arrange(20, answer);
    assert_eq!(rest(&mut world), "go | [g] | g ok | x | 1");
}
