//! Every call gets exactly one result, in call order, whatever the provider and the tools do (V02 to V13, C09, B04 to
//! B09).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
mod story;

use std::sync::Arc;

use machine_core::access::{Access, Mode, Touch};
use machine_core::ask::{Answer, By, Cause, Executed, Plan, Prepared};
use machine_core::event::Event;
use machine_core::input::{Command, Input};
use machine_core::message::{Body, Message, ToolCall};
use machine_core::outcome::ToolResult;
use machine_core::response::Finish;
use machine_testkit::script::{Behaviour, Reply};
use story::*;

fn touching(mode: Mode, path: &str) -> Plan {
    Plan { access: Access::from(Touch::path(mode, path)), ..Plan::default() }
}

fn prepared(plan: Plan) -> Answer {
    Answer::Prepare(Prepared::Ready(Arc::new(plan)))
}

/// The calls that stand in history.
fn called(world: &World) -> Vec<ToolCall> {
    let parts = world.engine.history().iter().flat_map(|entry| entry.message.content().iter());
    let call = |part: &machine_core::message::Part| match &part.body {
        Body::Call(call) => Some(call.clone()),
        _ => None,
    };
    parts.filter_map(call).collect()
}

/// The wire ids of the results, in order.
fn answered(world: &World) -> Vec<String> {
    let wire = |message: &Message| match message {
        Message::Tool(tool) => Some(tool.wire.to_string()),
        _ => None,
    };
    world.engine.history().iter().filter_map(|entry| wire(&entry.message)).collect()
}

/// The tools of events like these, in the order in which they came.
fn in_order(world: &World, tools: &[&str], like: impl Fn(&Event) -> Option<u32>) -> String {
    let found = world.events.iter().filter_map(|stamped| like(&stamped.event));
    found.map(|index| tools[index as usize]).collect::<Vec<_>>().join(" ")
}

fn settled(event: &Event) -> Option<u32> {
    match event {
        Event::CallSettled { call, .. } => Some(call.index),
        _ => None,
    }
}

#[test]
fn s06_a_batch_is_never_left_early() {
    let script = model([calls(&["a", "b", "c", "d", "e"]), text("ok")])
        .tool("a", Behaviour::ok("A", 1))
        .tool("b", Behaviour::error("disk on fire", 1))
        .tool("c", Behaviour::ok("C", 1).prepared(Prepared::Skipped("storm".into())))
        .tool("d", Behaviour::ok("D", 1))
        .tool("e", Behaviour::ok("E", 1));
    let mut world = go(with(|config| config.calls.max_parallel = 1), script);
    let right = "go | [a b c d e] | a ok | b error(failed) | c not started(hook) | d ok | e ok | ok";
    assert_eq!(rest(&mut world), right);
}

/// C09: one call's failure does not touch its siblings.
#[test]
fn s09_a_tool_that_panics() {
    let script = model([calls(&["a", "b", "c", "d"]), text("ok")])
        .tool("a", Behaviour::ok("", 1).ends(Executed::Panicked("index out of bounds".into())))
        .tool("b", Behaviour::ok("B", 1))
        .tool("c", Behaviour::ok("", 1).ends(Executed::Nothing))
        .tool("d", Behaviour::ok("", 1).ends(Executed::Malformed("not UTF-8".into())));
    let mut world = go(with(|_| {}), script);
    let right =
        "go | [a b c d] | a error(panicked) | b ok | c error(noresult) | d error(malformedresult) | ok";
    assert_eq!(rest(&mut world), right);
    assert_eq!(answered(&world), called(&world).iter().map(|call| call.wire.to_string()).collect::<Vec<_>>());
}

#[test]
fn s10_c02_an_unknown_tool() {
    let invalid = Prepared::InvalidArguments("`path` is missing; `n` must be a number".into());
    let script = model([calls(&["a", "b", "c"]), text("ok")])
        .tool("b", Behaviour::ok("B", 1))
        .tool("c", Behaviour::ok("C", 1).prepared(invalid));
    let mut world = go(with(|_| {}), script);
    let right = "go | [a b c] | a error(unknowntool) | b ok | c error(invalidarguments) | ok";
    assert_eq!(rest(&mut world), right);
    assert_eq!(ran(&world), "b");
    assert!(result(&world, 2).contains("`path` is missing; `n` must be a number"), "all errors are named");
    let started = |event: &Event| match event {
        Event::CallStarted { call, .. } => Some(call.index),
        _ => None,
    };
    assert_eq!(in_order(&world, &["a", "b", "c"], started), "b", "E06: only what started is started");
    assert_eq!(in_order(&world, &["a", "b", "c"], settled), "a c b");
}

/// V13.
#[test]
fn s12_two_results_for_one_call() {
    let script = model([calls(&["a"]), text("ok")]).tool("a", Behaviour::error("first", 2));
    let mut world = go(with(|_| {}), script);
    world.run_until(3).unwrap();
    let ask = asked(&world, "Execute")[0].1.id;
    let again = Answer::Execute(Executed::Done(Arc::new(ToolResult::text("second"))));
    world.arrange(5, Input::Answer { ask, answer: again });
    assert_eq!(rest(&mut world), "go | [a] | a error(failed) | ok");
    assert_eq!(when(&world, |event| matches!(event, Event::Stray { .. })), [5]);
    // A timeout and a success in one tick: the first that is handled decides; a success within the grace is kept.
    for success_first in [true, false] {
        let limited = Plan { timeout_ms: Some(5), ..Plan::default() };
        let script = model([calls(&["a"]), text("ok")]).tool("a", Behaviour::hang().deaf().plan(limited));
        let mut world = go(with(|_| {}), script);
        world.run_until(if success_first { 1 } else { 6 }).unwrap();
        let ask = machine_core::ids::AskId { branch: 1, serial: 4 };
        let done = Answer::Execute(Executed::Done(Arc::new(ToolResult::text("done"))));
        world.arrange(7, Input::Answer { ask, answer: done });
        assert_eq!(rest(&mut world), "go | [a] | a ok | ok");
        assert!(matches!(asked(&world, "Execute")[..], [(2, ref execution)] if execution.id == ask));
        let timed_out = taken_back(&world, ask);
        assert_eq!(timed_out, if success_first { vec![] } else { vec![7] });
    }
}

#[test]
fn s13_v04_the_same_id_twice_in_one_response() {
    let twins = || streams([start(0, "x", "a"), start(1, "x", "b")], Finish::ToolUse);
    let script =
        model([twins(), text("ok")]).tool("a", Behaviour::ok("A", 2)).tool("b", Behaviour::ok("B", 1));
    let mut world = go(with(|_| {}), script);
    assert_eq!(rest(&mut world), "go | [a b] | a ok | b ok | ok");
    assert_eq!(answered(&world), ["x", "x__2"]);
    assert_eq!((result(&world, 0), result(&world, 1)), ("A".into(), "B".into()));
    assert_eq!(called(&world)[1].raw.as_ref().map(|raw| &*raw.id), Some("x"), "what came is kept aside");
}

#[test]
fn s14_an_answered_call_that_comes_again() {
    let pay = || streams([start(0, "k", "pay"), args(0, "{\"n\":5}")], Finish::ToolUse);
    let script = model([pay(), pay(), text("ok")]).tool("pay", Behaviour::ok("paid", 1));
    let mut world = go(with(|_| {}), script);
    assert_eq!(rest(&mut world), "go | [pay] | pay ok | [pay] | pay ok | ok", "a new response is a new call");
    // Where a hook filters it, it is answered all the same.
    let script = model([pay(), pay(), text("ok")])
        .tool("pay", Behaviour::ok("paid", 1))
        .hook("Prepare", Reply::now(prepared(Plan::default())))
        .hook("Prepare", Reply::now(Answer::Prepare(Prepared::Skipped("sent before".into()))));
    let mut world = go(with(|_| {}), script);
    assert_eq!(rest(&mut world), "go | [pay] | pay ok | [pay] | pay not started(hook) | ok");
    assert_eq!(world.ends()[0].steps, 3, "the step counts");
}

#[test]
fn s15_calls_without_an_id() {
    let bare = streams([start(0, "", "a"), start(1, "", "b")], Finish::ToolUse);
    let script =
        model([bare, text("1"), text("2")]).tool("a", Behaviour::ok("A", 1)).tool("b", Behaviour::ok("B", 1));
    let mut world = go(with(|_| {}), script);
    rest(&mut world);
    let before = (called(&world), answered(&world));
    assert_eq!(before.1, ["call_1_1_0", "call_1_1_1"]);
    world.crash().unwrap();
    world.arrange(50, submit("x"));
    assert_eq!(rest(&mut world), "go | [a b] | a ok | b ok | 1 | x | 2");
    assert_eq!((called(&world), answered(&world)), before);
    // Calls are claimed and there are none: an empty response.
    let script = model([text("").finish(Finish::ToolUse), text("2")]);
    let mut world = go(with(|_| {}), script);
    assert_eq!(rest(&mut world), "go | 2");
}

#[test]
fn s16_m01_pieces_of_parallel_calls() {
    let pieces = [
        start(0, "1", "a"),
        start(1, "2", "b"),
        args(0, "{\"x\""),
        args(1, "{\"y\""),
        args(0, ":1}"),
        args(1, ":2}"),
    ];
    // The provider uses one index for both: a start with a new id opens a new call.
    let reused = [
        start(0, "1", "a"),
        args(0, "{\"x\":1}"),
        start(0, "2", "b"),
        start(0, "2", "b"),
        args(None, "{\"y\""),
        args(0, ":2}"),
    ];
    for pieces in [pieces, reused] {
        let script = model([streams(pieces, Finish::ToolUse), text("ok")])
            .tool("a", Behaviour::ok("A", 1))
            .tool("b", Behaviour::ok("B", 1));
        let mut world = go(with(|_| {}), script);
        assert_eq!(rest(&mut world), "go | [a b] | a ok | b ok | ok");
        let args: Vec<_> = called(&world).iter().map(|call| call.args.to_string()).collect();
        assert_eq!(args, ["{\"x\":1}", "{\"y\":2}"]);
    }
    // Arguments before any call fit nothing.
    let script = model([streams([args(7, "{}"), start(0, "1", "a")], Finish::ToolUse), text("ok")])
        .tool("a", Behaviour::ok("A", 1));
    let mut world = go(with(|_| {}), script);
    assert_eq!(rest(&mut world), "go | [a] | a ok | ok");
    assert_eq!(when(&world, |event| matches!(event, Event::Stray { .. })), [1]);
}

#[test]
fn s17_b08_results_come_in_call_order() {
    let mut seen = None;
    for [a, b] in [[30, 10], [10, 30], [20, 20]] {
        let script = model([calls(&["a", "b", "c"]), text("ok")])
            .tool("a", Behaviour::ok("A", a))
            .tool("b", Behaviour::ok("B", b))
            .tool("c", Behaviour::ok("C", 1).prepared(Prepared::Denied("no".into())));
        let mut world = go(with(|_| {}), script);
        assert_eq!(rest(&mut world), "go | [a b c] | a ok | b ok | c denied(no) | ok");
        let completed = if a > b { "c b a" } else { "c a b" };
        assert_eq!(in_order(&world, &["a", "b", "c"], settled), completed, "outcomes: as they complete");
        let digest = world.host.requests[1].history.digest();
        assert_eq!(*seen.get_or_insert(digest), digest, "the request is the same, byte for byte");
    }
}

#[test]
fn s19_a_failure_says_so_inside_its_result() {
    let script = model([calls(&["a", "b", "c"]), text("ok")])
        .tool("a", Behaviour::ok("A", 1))
        .tool("b", Behaviour::error("no such file", 1))
        .tool("c", Behaviour::ok("C", 1));
    let mut world = go(with(|_| {}), script);
    assert_eq!(rest(&mut world), "go | [a b c] | a ok | b error(failed) | c ok | ok");
    assert_eq!(result(&world, 1), "no such file");
}

#[test]
fn s64_b04_parallel_edits_of_one_file() {
    let script = model([calls(&["a", "b", "c", "d"]), text("ok")])
        .tool("a", Behaviour::ok("A", 10).plan(touching(Mode::ReadWrite, "f")))
        .tool("b", Behaviour::ok("B", 10).plan(touching(Mode::ReadWrite, "./x/../f")))
        .tool("c", Behaviour::ok("C", 10).plan(touching(Mode::Read, "g")))
        .tool("d", Behaviour::ok("D", 10).plan(touching(Mode::ReadWrite, "g")));
    let mut world = go(with(|_| {}), script);
    assert_eq!(rest(&mut world), "go | [a b c d] | a ok | b ok | c ok | d ok | ok");
    // The response ends at 5; work on f and on g overlaps.
    let starts: Vec<_> = asked(&world, "Execute").into_iter().map(|(at, _)| at).collect();
    assert_eq!((ran(&world), starts), ("a c b d".into(), vec![5, 5, 15, 15]));
}

#[test]
fn c_b04_a_call_waits_until_all_earlier_ones_are_prepared() {
    let script = model([calls(&["a", "b", "c"]), text("ok")])
        .tool("a", Behaviour::ok("A", 1))
        .tool("b", Behaviour::ok("B", 1))
        .tool("c", Behaviour::ok("C", 1))
        .hook("Prepare", Reply::now(prepared(touching(Mode::Read, "/1"))))
        .hook("Prepare", Reply::after(20, prepared(touching(Mode::Read, "/2"))))
        .hook("Prepare", Reply::now(prepared(touching(Mode::Read, "/3"))));
    let mut world = go(with(|_| {}), script);
    rest(&mut world);
    let times = |kind| asked(&world, kind).into_iter().map(|(at, _)| at).collect::<Vec<_>>();
    assert_eq!(times("Prepare"), [4, 4, 4], "they are asked together");
    assert_eq!(times("Execute"), [4, 24, 24]);
    assert_eq!(ran(&world), "a b c");
}

#[test]
fn c_b05_everything_is_a_barrier() {
    let all = Plan::default();
    let none = Plan { access: Access::None, ..Plan::default() };
    let script = model([calls(&["r", "all", "n", "w"]), text("ok")])
        .tool("r", Behaviour::ok("R", 10).plan(touching(Mode::Read, "/f")))
        .tool("all", Behaviour::ok("ALL", 10).plan(all))
        .tool("n", Behaviour::ok("N", 1).plan(none))
        .tool("w", Behaviour::ok("W", 1).plan(touching(Mode::Write, "/g")));
    let config = with(|config| config.ask.finalize = true);
    let mut world = go(config, script);
    world.host.hooks_take = 3;
    rest(&mut world);
    // All are prepared at 8. `r` works and is finalized until 21, `all` until 34.
    let starts: Vec<_> = asked(&world, "Execute").into_iter().map(|(at, _)| at).collect();
    assert_eq!((ran(&world), starts), ("r n all w".into(), vec![8, 8, 21, 34]));
}

#[test]
fn c_b06_what_counts_is_the_declaration_at_the_start() {
    let script = || {
        model([calls(&["a", "b", "c"]), text("ok")])
            .tool("a", Behaviour::ok("A", 20).plan(touching(Mode::Write, "/f")))
            .tool("b", Behaviour::ok("B", 20).plan(touching(Mode::Write, "/f")))
            .tool("c", Behaviour::ok("C", 1).plan(touching(Mode::Write, "/f")))
    };
    let mut world = go(with(|_| {}), script());
    world.arrange(9, Command::Declare(call(1, 1, 1), Access::from(Touch::path(Mode::Write, "/g"))));
    assert_eq!(rest(&mut world), "go | [a b c] | a ok | b ok | c ok | ok");
    let starts: Vec<_> = asked(&world, "Execute").into_iter().map(|(at, _)| at).collect();
    assert_eq!((ran(&world), starts), ("a b c".into(), vec![4, 9, 24]));
    // Not any more when it runs.
    let mut world = go(with(|_| {}), script());
    world.run_until(9).unwrap();
    assert!(world.send(Command::Declare(call(1, 1, 0), Access::None)).is_err());
    rest(&mut world);
}

#[test]
fn c_b09_nothing_is_asked_before_the_batch_is_answered() {
    let script = model([calls(&["a", "b"]), text("ok")])
        .tool("a", Behaviour::ok("A", 1))
        .tool("b", Behaviour::ok("B", 50));
    let mut world = go(with(|_| {}), script);
    world.arrange(9, notify("n"));
    world.arrange(10, join("j"));
    world.run_until(52).unwrap();
    assert_eq!((told(&world), requests(&world)), ("go | [a b] | a ok".into(), 1));
    assert_eq!(rest(&mut world), "go | [a b] | a ok | b ok | note n | j | ok");
}

#[test]
fn c_c13_one_call_is_cancelled_and_no_other() {
    let script = model([calls(&["a", "b", "c"]), text("ok")])
        .tool("a", Behaviour::hang())
        .tool("b", Behaviour::ok("B", 20))
        .tool("c", Behaviour::ok("C", 1));
    let mut world = go(with(|config| config.calls.max_parallel = 2), script);
    world.arrange(9, cancel(call(1, 1, 2)));
    world.arrange(10, Command::CancelCall(call(1, 1, 0), Cause::by(By::Program)));
    let right = "go | [a b c] | a cancelled(may have run) | b ok | c cancelled | ok";
    assert_eq!(rest(&mut world), right);
    assert_eq!(ran(&world), "a b");
    assert!(world.send(cancel(call(1, 1, 0))).is_err(), "it is over");
}
