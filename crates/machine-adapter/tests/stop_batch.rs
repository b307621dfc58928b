//! A call that may end its batch: later ones wait for it, and do not run if it ends well (T17).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
mod story;

use std::sync::Arc;

use machine_core::access::Access;
use machine_core::ask::{Approval, Executed, Plan};
use machine_core::event::{EndReason, Event};
use machine_core::outcome::ToolResult;
use machine_testkit::script::{Behaviour, Script};
use story::*;

fn barring() -> Plan {
    Plan { access: Access::None, stop_batch: true, ..Plan::default() }
}

fn asking() -> Plan {
    Plan { access: Access::None, approval: true, ..Plan::default() }
}

/// `s` may end its batch after 5; `a`, `b` and `c` take 1.
fn script(s: Behaviour) -> Script {
    let free = || Behaviour::ok("ok", 1);
    model([calls(&["a", "s", "b", "c"]), text("2")])
        .tool("a", Behaviour::ok("A", 9))
        .tool("s", s)
        .tool("b", free())
        .tool("c", free())
}

fn stopped_by(world: &World) -> (u32, String) {
    match &world.ends()[0].reason {
        EndReason::Completed { stopped_by: Some((call, reason)) } => (call.index, reason.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn c_t17_a_call_that_ends_well_ends_its_batch() {
    let mut world = go(with(|_| {}), script(Behaviour::ok("S", 5).plan(barring())));
    let skipped = "b not started(batchstopped) | c not started(batchstopped)";
    assert_eq!(rest(&mut world), format!("go | [a s b c] | a ok | s ok | {skipped}"));
    assert_eq!(ran(&world), "a s", "earlier calls run beside it, later ones wait");
    assert_eq!(
        (ends(&world).as_str(), stopped_by(&world)),
        ("completed", (1, "the call ended its batch".into()))
    );
    // The result may say why.
    let result = ToolResult { stop_turn: Some("the plan is made".into()), ..ToolResult::text("S") };
    let s = Behaviour::ok("S", 5).plan(barring()).ends(Executed::Done(Arc::new(result)));
    let mut world = go(with(|_| {}), script(s));
    rest(&mut world);
    assert_eq!(stopped_by(&world), (1, "the plan is made".into()));
    // With several the first in call order gives the reason, though it comes later.
    let result = ToolResult { stop_turn: Some("first".into()), ..ToolResult::text("A") };
    let a = Behaviour::ok("A", 9).ends(Executed::Done(Arc::new(result)));
    let mut world = go(with(|_| {}), script(Behaviour::ok("S", 5).plan(barring())).tool("a", a));
    rest(&mut world);
    assert_eq!(stopped_by(&world), (0, "first".into()));
    // As by `stop_turn`, a steered prompt comes first (T13).
    let mut world = go(with(|_| {}), script(Behaviour::ok("S", 5).plan(barring())));
    world.arrange(9, join("x"));
    assert!(rest(&mut world).ends_with("| x | 2"));
}

#[test]
fn c_t17_a_call_that_does_not_end_well_lets_the_others_run() {
    let mut world = go(with(|_| {}), script(Behaviour::error("no", 5).plan(barring())));
    assert_eq!(rest(&mut world), "go | [a s b c] | a ok | s error(failed) | b ok | c ok | 2");
    // Refused, or cancelled before it started.
    let s = Behaviour::ok("S", 5).plan(Plan { approval: true, ..barring() });
    let mut world = go(with(|_| {}), script(s.clone()).approve("s", 20, Approval::Denied("no".into())));
    world.run_until(15).unwrap();
    assert_eq!(ran(&world), "a", "they wait while a person thinks");
    assert_eq!(rest(&mut world), "go | [a s b c] | a ok | s denied(no) | b ok | c ok | 2");
    let mut world = go(with(|_| {}), script(s));
    world.arrange(15, cancel(call(1, 1, 1)));
    assert_eq!(rest(&mut world), "go | [a s b c] | a ok | s cancelled | b ok | c ok | 2");
    // One that does not stop when it is told to is answered, and holds nobody up that it does not conflict with.
    let mut world = go(with(|_| {}), script(Behaviour::hang().deaf().plan(barring())));
    world.arrange(15, cancel(call(1, 1, 1)));
    assert_eq!(rest(&mut world), "go | [a s b c] | a ok | s cancelled(may have run) | b ok | c ok | 2");
}

#[test]
fn c_t17_questions_about_later_calls_are_taken_back() {
    let script = script(Behaviour::ok("S", 5).plan(barring()))
        .tool("b", Behaviour::ok("ok", 1).plan(asking()))
        .tool("c", Behaviour::ok("ok", 1).plan(asking()))
        .approve("c", 1, Approval::Granted);
    let mut world = go(with(|_| {}), script);
    rest(&mut world);
    assert_eq!(ran(&world), "a s", "one that was granted meanwhile does not run either");
    let asks = asked(&world, "Approve");
    assert_eq!(asks.len(), 2, "they are asked at once (C04)");
    assert_eq!(taken_back(&world, asks[0].1.id).len(), 1);
    assert_eq!(ends(&world), "completed");
}

#[test]
fn c_t17_two_that_may_end_the_batch() {
    let bar = |text| Behaviour::ok(text, 5).plan(barring());
    let no = Behaviour::error("no", 5).plan(barring());
    let script = model([calls(&["s", "a", "t", "b"]), text("2")])
        .tool("s", no)
        .tool("t", bar("T"))
        .tool("a", Behaviour::ok("A", 1))
        .tool("b", Behaviour::ok("B", 1));
    let mut world = go(with(|_| {}), script);
    assert_eq!(
        rest(&mut world),
        "go | [s a t b] | s error(failed) | a ok | t ok | b not started(batchstopped)"
    );
    assert_eq!(stopped_by(&world), (2, "the call ended its batch".into()));
}

#[test]
fn c_t17_with_an_abort_and_with_a_finalizer() {
    let mut world = go(with(|_| {}), script(Behaviour::ok("S", 50).plan(barring())));
    world.arrange(20, abort());
    let right =
        "go | [a s b c] | a ok | s cancelled(may have run) | b not started(abort) | c not started(abort)";
    assert_eq!(rest(&mut world), format!("{right} | marker"));
    let mut script = script(Behaviour::ok("S", 5).plan(barring()));
    script.hooks_take = 10;
    let mut world = go(with(|config| config.ask.finalize = true), script);
    let skipped = "b not started(batchstopped) | c not started(batchstopped)";
    assert_eq!(rest(&mut world), format!("go | [a s b c] | a ok | s ok | {skipped}"));
    assert_eq!(ran(&world), "a s", "its answer counts, finalizing included");
}

/// B07.
#[test]
fn c_t17_a_call_that_waits_behind_another_is_not_held_up_by_deaf_ones() {
    let script = model([calls(&["d"]), calls(&["s", "b"]), text("2")])
        .tool("d", Behaviour::hang().deaf())
        .tool("s", Behaviour::ok("S", 5).plan(Plan { approval: true, ..barring() }))
        .tool("b", Behaviour::ok("B", 1))
        .approve("s", 100_000, Approval::Denied("no".into()));
    let mut world = go(with(|config| config.calls.max_parallel = 1), script);
    world.arrange(10, cancel(call(1, 1, 0)));
    let right = "go | [d] | d cancelled(may have run) | [s b] | s denied(no) | b not started(busy) | 2";
    assert_eq!(rest(&mut world), right);
    let b = call(1, 2, 1);
    let settled = when(&world, |event| matches!(event, Event::CallSettled { call, .. } if *call == b));
    assert!(settled[0] >= 130_000, "the time to be busy begins when the other is answered: {settled:?}");
}
