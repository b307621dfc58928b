//! Approvals: each answer reaches its own call, once, and what was approved is what runs (C02 to C06).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
mod story;

use std::sync::Arc;

use machine_core::ask::{Answer, Approval, Approved, Plan, Prepared, Question};
use machine_core::digest::Digest;
use machine_core::event::Event;
use machine_core::input::Input;
use machine_core::response::Failure;
use machine_testkit::script::{Behaviour, Reply, Response};
use story::*;

fn gated() -> Plan {
    Plan { approval: true, access: machine_core::access::Access::None, ..Plan::default() }
}

fn tool(says: &str) -> Behaviour {
    Behaviour::ok(says, 1).plan(gated())
}

fn no() -> Approval {
    Approval::Denied("no".into())
}

/// An answer to the n-th question about an approval.
fn approve(world: &World, n: usize, approval: Approval) -> Input {
    let ask = asked(world, "Approve")[n].1.clone();
    let Question::Approve { digest, .. } = ask.question else { panic!("{ask:?}") };
    Input::Answer {
        ask: ask.id,
        answer: Answer::Approve(Arc::new(Approved { digest, approval, rule: None })),
    }
}

fn strays(world: &World) -> usize {
    count(world, |event| matches!(event, Event::Stray { .. }))
}

/// C04, J05.
#[test]
fn s66_a_pause_for_approval_runs_nothing_again() {
    let script = model([calls(&["mail", "pay"]), text("ok")])
        .tool("mail", Behaviour::ok("sent", 1))
        .tool("pay", tool("paid"));
    let mut world = go(with(|_| {}), script);
    world.run_until(10).unwrap();
    assert_eq!(told(&world), "go | [mail pay] | mail ok", "durable while `pay` waits");
    world.crash().unwrap();
    let asks = asked(&world, "Approve");
    assert_eq!((asks.len(), asks[0].1.id), (2, asks[1].1.id), "asked again under the same id");
    let granted = approve(&world, 1, Approval::Granted);
    world.arrange(20, granted);
    assert_eq!(rest(&mut world), "go | [mail pay] | mail ok | pay ok | ok");
    assert_eq!((ran(&world).as_str(), requests(&world)), ("mail pay", 2));
    assert_eq!(ends(&world), "completed");
}

#[test]
fn s67_answers_reach_their_own_call() {
    let script = model([calls(&["a", "b", "c", "d"]), text("ok")])
        .tool("a", tool("A"))
        .tool("b", tool("B"))
        .tool("c", tool("C"))
        .tool("d", Behaviour::ok("D", 1));
    let mut world = go(with(|_| {}), script);
    world.run_until(10).unwrap();
    let questions: Vec<_> =
        asked(&world, "Approve").into_iter().map(|(at, ask)| (at, ask.timeout_ms)).collect();
    assert_eq!(questions, [(5, None), (5, None), (5, None)], "all at once, and nobody hurries a person");
    assert_eq!(ran(&world), "d", "a sibling that needs none runs meanwhile");
    assert_eq!(
        count(&world, |event| matches!(event, Event::CallSettled { .. })),
        1,
        "its outcome is durable"
    );
    for (at, n, approval) in [(11, 1, Approval::Granted), (12, 2, no()), (13, 0, Approval::Granted)] {
        let answer = approve(&world, n, approval);
        world.arrange(at, answer);
    }
    assert_eq!(rest(&mut world), "go | [a b c d] | a ok | b ok | c denied(no) | d ok | ok");
    assert_eq!(ran(&world), "d b a");
}

#[test]
fn s68_one_of_several_is_not_answered() {
    let script = || {
        model([calls(&["a", "b"]), text("ok")]).tool("a", tool("A")).tool("b", tool("B")).approve(
            "a",
            1,
            Approval::Granted,
        )
    };
    let mut world = go(with(|_| {}), script().approve("b", 60, Approval::Expired));
    assert_eq!(rest(&mut world), "go | [a b] | a ok | b not started(approvalexpired) | ok");
    assert!(result(&world, 1).contains("It was not denied."));
    let mut world = go(with(|_| {}), script());
    world.run().unwrap();
    assert_eq!((told(&world), ran(&world)), ("go | [a b] | a ok".into(), "a".into()));
    let waits: Vec<_> = world.engine.outstanding().map(|open| open.ask.question.kind()).collect();
    assert_eq!(waits, ["Approve"], "and it says what it waits for");
    world.send(abort()).unwrap();
    assert_eq!(rest(&mut world), "go | [a b] | a ok | b not started(abort) | marker");
}

#[test]
fn s69_old_and_second_answers_do_nothing() {
    let script = model([calls(&["a"]), text("1"), calls(&["a"]), text("2")]).tool("a", tool("A"));
    let mut world = go(with(|_| {}), script);
    world.run_until(5).unwrap();
    let (denied, granted) = (approve(&world, 0, no()), approve(&world, 0, Approval::Granted));
    world.arrange(6, denied);
    world.arrange(7, granted.clone());
    world.arrange(20, submit("x"));
    world.run_until(30).unwrap();
    assert_eq!(told(&world), "go | [a] | a denied(no) | 1 | x | [a]");
    assert_eq!(asked(&world, "Approve").len(), 2, "the second call asks on its own");
    let before = world.engine.clone();
    world.arrange(31, granted);
    world.run_until(31).unwrap();
    assert!(world.engine == before);
    assert_eq!((strays(&world), ran(&world).as_str()), (2, ""));
    // Nor does an answer about something else.
    let ask = asked(&world, "Approve")[1].1.id;
    let other = Approved { digest: Digest::of(&"something else"), approval: Approval::Granted, rule: None };
    world.arrange(32, Input::Answer { ask, answer: Answer::Approve(Arc::new(other)) });
    world.run_until(32).unwrap();
    assert!(world.engine == before);
    let right = approve(&world, 1, Approval::Granted);
    world.arrange(33, right);
    assert_eq!(rest(&mut world), "go | [a] | a denied(no) | 1 | x | [a] | a ok | 2");
}

#[test]
fn s70_an_approval_is_used_once() {
    let script = model([calls(&["a"]), Response::failure(Failure::Overloaded), calls(&["b"]), text("ok")])
        .tool("a", tool("A"))
        .tool("b", tool("B"))
        .approve("a", 1, Approval::Granted)
        .approve("b", 1, Approval::Granted);
    let mut world = go(with(|_| {}), script);
    assert_eq!(rest(&mut world), "go | [a] | a ok | [b] | b ok | ok");
    assert_eq!((ran(&world).as_str(), asked(&world, "Approve").len()), ("a b", 2));
    let said: Vec<_> = world.host.requests.iter().map(|request| lines(&request.history)).collect();
    assert_eq!(said[1], said[2], "the request that failed is made again");
    assert_eq!(said[3], format!("{} | [b] | b ok", said[2]), "and then only what is new");
}

#[test]
fn s72_a_hook_that_denies() {
    let script = model([calls(&["a", "b"]), text("ok")])
        .tool("a", Behaviour::ok("A", 1).prepared(Prepared::Denied("not on Sundays".into())))
        .tool("b", Behaviour::ok("B", 1));
    let mut world = go(with(|_| {}), script);
    assert_eq!(rest(&mut world), "go | [a b] | a denied(not on Sundays) | b ok | ok");
    assert!(result(&world, 0).contains("not on Sundays"));
}

/// C03, C06, E06.
#[test]
fn s75_what_was_approved_is_what_runs() {
    let safe = Plan { args: Some("{\"cmd\":\"safe\"}".into()), ..gated() };
    let first =
        streams([start(0, "", "a"), args(0, "{\"cmd\":\"rm\"}")], machine_core::response::Finish::ToolUse);
    let script = model([first, text("ok")]).tool("a", Behaviour::ok("A", 1).plan(safe)).approve(
        "a",
        5,
        Approval::Granted,
    );
    let mut world = go(with(|_| {}), script);
    assert_eq!(rest(&mut world), "go | [a] | a ok | ok");
    let told: Vec<_> = world
        .events
        .iter()
        .filter_map(|stamped| match &stamped.event {
            Event::CallAnnounced { args, .. } => Some(("announced", args.to_string())),
            Event::ApprovalAsked { args, .. } => Some(("asked", args.to_string())),
            Event::CallStarted { args, .. } => Some(("started", args.to_string())),
            _ => None,
        })
        .collect();
    let (rm, safe) = ("{\"cmd\":\"rm\"}".to_owned(), "{\"cmd\":\"safe\"}".to_owned());
    assert_eq!(told, [("announced", rm), ("asked", safe.clone()), ("started", safe.clone())]);
    let Question::Execute { args, .. } = &asked(&world, "Execute")[0].1.question else {
        panic!("an execution")
    };
    assert_eq!(**args, *safe);
    let (approve, execute) = (asked(&world, "Approve")[0].1.clone(), asked(&world, "Execute")[0].1.clone());
    let Question::Approve { tool, args, digest, .. } = approve.question else { panic!("an approval") };
    assert_eq!(digest, Digest::of(&(&tool, &args)), "over tool and final arguments");
    assert!(execute.id > approve.id);
}

#[test]
fn c_c05_an_abort_closes_the_question() {
    let script = model([calls(&["a", "b"])]).tool("a", tool("A")).tool("b", Behaviour::hang());
    let mut world = go(with(|_| {}), script);
    world.arrange(9, abort());
    world.run_until(8).unwrap();
    let late = approve(&world, 0, Approval::Granted);
    assert_eq!(rest(&mut world), "go | [a b] | a not started(abort) | b cancelled(may have run) | marker");
    let ask = asked(&world, "Approve")[0].1.id;
    assert_eq!(taken_back(&world, ask), [9]);
    let before = world.engine.clone();
    world.arrange(10, late);
    rest(&mut world);
    assert!(world.engine == before);
    assert_eq!((strays(&world), ran(&world).as_str()), (1, "b"));
    // In one tick: whichever is handled first.
    for granted_first in [true, false] {
        let mut world = go(with(|_| {}), model([calls(&["a"])]).tool("a", tool("A")));
        world.run_until(5).unwrap();
        let grant = approve(&world, 0, Approval::Granted);
        let order: [Input; 2] = if granted_first { [grant, abort().into()] } else { [abort().into(), grant] };
        for input in order {
            world.arrange(6, input);
        }
        let right = if granted_first { "cancelled(may have run)" } else { "not started(abort)" };
        assert_eq!(rest(&mut world), format!("go | [a] | a {right} | marker"));
    }
}

#[test]
fn c_c04_nobody_can_ask() {
    let script =
        model([calls(&["a"]), text("ok")]).tool("a", tool("A")).hook("Approve", Reply::now(hook_failed()));
    let mut world = go(with(|_| {}), script);
    assert_eq!(rest(&mut world), "go | [a] | a error(hookfailed) | ok");
    assert_eq!((ran(&world).as_str(), count(&world, |e| matches!(e, Event::HookFailed { .. }))), ("", 1));
}

/// Whoever goes on elsewhere is asked what a person may still answer; nothing is denied for them (J07).
#[test]
fn c_j07_an_approval_that_nobody_waits_for_any_more_is_asked_again() {
    let script = model([calls(&["pay"]), text("ok")]).tool("pay", tool("paid"));
    let mut world = go(with(|_| {}), script);
    world.run_until(10).unwrap();
    let ask = asked(&world, "Approve")[0].1.id;
    world.arrange(10, Input::Lost { ask });
    world.run_until(11).unwrap();
    let again: Vec<_> = asked(&world, "Approve").iter().map(|(_, ask)| ask.id).collect();
    assert_eq!(again, [ask, ask], "under its id");
    let granted = approve(&world, 1, Approval::Granted);
    world.arrange(20, granted);
    assert_eq!(rest(&mut world), "go | [pay] | pay ok | ok");
}
