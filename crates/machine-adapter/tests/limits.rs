//! Cut, empty and endless responses: every loop is bounded, and the end says which bound it was (T05, T07 to T13, T17,
//! A24).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
mod story;

use std::sync::Arc;

use machine_core::ask::Executed;
use machine_core::config::Config;
use machine_core::event::{EndReason, Event, Sealed, TurnError};
use machine_core::input::Command;
use machine_core::outcome::ToolResult;
use machine_core::response::{Failure, Finish, ModelEvent};
use machine_testkit::script::{Behaviour, Response, Script};
use story::*;

fn max_steps(max: u32) -> Config {
    with(|config| config.turn.max_steps = Some(max))
}

/// A model that always calls `a`.
fn always(response: impl Fn() -> Response) -> Script {
    model((0..30).map(|_| response())).tool("a", Behaviour::ok("A", 1))
}

fn stops(reason: &str) -> Behaviour {
    let result = ToolResult { stop_turn: Some(reason.into()), ..ToolResult::text("ok") };
    Behaviour::ok("", 5).ends(Executed::Done(Arc::new(result)))
}

fn failed(world: &World) -> TurnError {
    match last_end(world).1 {
        EndReason::Failed(error) => (*error).clone(),
        other => panic!("{other:?}"),
    }
}

/// T09, T10.
#[test]
fn s20_arguments_that_were_cut_are_not_run() {
    let script = model([calls(&["a", "b"]).finish(Finish::MaxTokens), calls(&["a"]), text("done")])
        .tool("a", Behaviour::ok("written", 1))
        .tool("b", Behaviour::ok("read", 1));
    let mut world = go(with(|_| {}), script);
    let right = "go | [a b] | a not started(truncated) | b not started(truncated) | [a] | a ok | done";
    assert_eq!(rest(&mut world), right);
    assert!(result(&world, 0).contains("Send the call again, smaller"));
    assert_eq!(ran(&world), "a", "exactly one write");
    assert_eq!(ends(&world), "max_tokens", "sticky: it replaces `completed`");
    assert!(world.ends()[0].truncated);
    assert_eq!(count(&world, |event| matches!(event, Event::CallAnnounced { .. })), 3, "E06");
}

/// T09.
#[test]
fn s21_responses_that_are_always_cut() {
    for (finish, end, code) in [
        (Finish::MaxTokens, "max_tokens", "truncated"),
        (Finish::Suspended, "suspended", "suspended"),
        (Finish::Other, "other", "other"),
    ] {
        let mut world = go(with(|_| {}), always(|| calls(&["a"]).finish(finish)));
        let step = format!(" | [a] | a not started({code})");
        assert_eq!(rest(&mut world), format!("go{}", step.repeat(3)));
        assert_eq!((ends(&world).as_str(), requests(&world), ran(&world).as_str()), (end, 3, ""));
        // At once, if that is wanted; and only in a row.
        let mut world = go(with(|config| config.turn.truncated = 1), always(|| calls(&["a"]).finish(finish)));
        assert_eq!(rest(&mut world), format!("go{step}"));
        let cut = || calls(&["a"]).finish(finish);
        let script =
            model([cut(), cut(), calls(&["a"]), cut(), cut(), text("done")]).tool("a", Behaviour::ok("A", 1));
        let mut world = go(with(|_| {}), script);
        assert!(rest(&mut world).ends_with("done"), "{}", told(&world));
        // Without calls it ends with its reason, whatever waits.
        let mut world = go(with(|_| {}), model([text("so far").finish(finish), text("2")]));
        world.arrange(1, notify("n"));
        assert_eq!(rest(&mut world), "go | so far | note n | 2");
        assert_eq!(ends(&world), format!("{end}, completed"));
    }
}

#[test]
fn c_t09_a_filtered_response_ends_the_turn() {
    let script = always(|| calls(&["a"]).finish(Finish::Filtered));
    let mut world = go(with(|_| {}), script);
    assert_eq!(rest(&mut world), "go | [a] | a not started(filtered)");
    assert_eq!((ends(&world).as_str(), ran(&world).as_str()), ("filtered", ""));
}

#[test]
fn c_t11_filtered_then_max_tokens_then_empty() {
    for (finish, end, asked) in [
        (Finish::Filtered, "filtered", 1),
        (Finish::MaxTokens, "max_tokens", 1),
        (Finish::EndTurn, "failed", 3),
    ] {
        let mut world = go(with(|_| {}), model((0..9).map(|_| Response::nothing().finish(finish))));
        assert_eq!(rest(&mut world), "go");
        assert_eq!((ends(&world).as_str(), requests(&world)), (end, asked));
    }
    let image = ModelEvent::Media { kind: "image/png".into(), at: "sha256:1".into() };
    let mut world = go(with(|_| {}), model([streams([image], Finish::EndTurn)]));
    rest(&mut world);
    assert_eq!((ends(&world).as_str(), requests(&world)), ("completed", 1), "an image is not nothing");
}

#[test]
fn s25_reasoning_only_is_no_answer() {
    let script = model([calls(&["a"]), streams([thinking("hm")], Finish::EndTurn), text("answer")])
        .tool("a", Behaviour::ok("A", 1));
    let mut world = go(with(|_| {}), script);
    assert_eq!(rest(&mut world), "go | [a] | a ok | answer");
    assert_eq!((ends(&world).as_str(), requests(&world), world.ends()[0].steps), ("completed", 3, 2));
    let waits = when(&world, |event| matches!(event, Event::Retrying { .. }));
    let asked: Vec<_> = asked(&world, "Attempt").into_iter().map(|(at, _)| at).collect();
    assert!((500..=625).contains(&(asked[2] - waits[0])), "the delay of M05");
}

#[test]
fn s26_empty_responses_for_ever() {
    for nothing in [Response::nothing(), text(" \n"), streams([thinking("hm")], Finish::EndTurn)] {
        let script = model([vec![calls(&["a"])], vec![nothing; 9]].concat()).tool("a", Behaviour::ok("A", 1));
        let mut world = go(with(|_| {}), script);
        assert_eq!(rest(&mut world), "go | [a] | a ok", "old text is never passed off as the answer");
        assert_eq!(failed(&world), TurnError::EmptyResponse { tries: 3 });
        assert_eq!(requests(&world), 4);
    }
    // Text or calls begin the count again.
    let empty = Response::nothing;
    let script = model([empty(), empty(), calls(&["a"]), empty(), empty(), text("done")])
        .tool("a", Behaviour::ok("A", 1));
    let mut world = go(with(|_| {}), script);
    assert_eq!(rest(&mut world), "go | [a] | a ok | done");
}

#[test]
fn s27_nothing_after_a_large_result() {
    let script = model([calls(&["a"]), Response::nothing(), text("summary")])
        .tool("a", Behaviour::ok(&"x".repeat(46_000), 1));
    let mut world = go(with(|_| {}), script);
    assert_eq!(rest(&mut world), "go | [a] | a ok | summary");
    let [_, second, third] = &world.host.requests[..] else { panic!("three requests") };
    assert_eq!(second.history.digest(), third.history.digest(), "asked again with the same input");
}

/// T12.
#[test]
fn s30_exactly_so_many_steps() {
    for max in [0, 1, 3] {
        let mut world = go(max_steps(max), always(|| calls(&["a"])));
        assert_eq!(rest(&mut world), format!("go{}", " | [a] | a ok".repeat(max as usize)));
        assert_eq!((ends(&world).as_str(), requests(&world)), ("step_limit", max as usize));
        assert_eq!(world.ends()[0].steps, max);
    }
    // Attempts do not count.
    let mut script = always(|| calls(&["a"]));
    script.responses.push_front(Response::failure(Failure::Overloaded));
    let mut world = go(max_steps(3), script);
    rest(&mut world);
    assert_eq!((requests(&world), world.ends()[0].steps), (4, 3));
    // A final answer in the last allowed step completes the turn; what waits, waits for the next.
    let mut world = go(max_steps(1), model([text("1"), text("2")]));
    world.arrange(1, notify("n"));
    assert_eq!(rest(&mut world), "go | 1 | note n | 2");
    assert_eq!(ends(&world), "completed, completed");
}

#[test]
fn c_t12_only_a_steered_prompt_resets_the_budget() {
    let mut world = go(max_steps(2), always(|| calls(&["a"])));
    world.arrange(6, join("x"));
    let right = "go | [a] | a ok | [a] | a ok | x | [a] | a ok | [a] | a ok";
    assert_eq!(rest(&mut world), right);
    assert_eq!((ends(&world).as_str(), world.ends()[0].steps), ("step_limit", 4));
    let mut world = go(max_steps(2), always(|| calls(&["a"])));
    world.arrange(5, inject("n"));
    assert_eq!(rest(&mut world), "go | [a] | a ok | [a] | a ok");
    assert_eq!(ends(&world), "step_limit");
}

#[test]
fn c_t05_the_order_inside_a_step() {
    let script = model([calls(&["a"]), text("done")]).tool("a", Behaviour::ok("A", 1));
    let mut world = go(with(|_| {}), script);
    rest(&mut world);
    let right = [
        "turn",
        "committed", // the prompt
        "step",
        "attempt",
        "attempt ended",
        "committed",
        "announced",
        "started",
        "settled",
        "committed",
        "step ended",
        "step",
        "attempt",
        "attempt ended",
        "committed",
        "step ended",
        "turn ended",
    ];
    assert_eq!(kinds(&world), right);
}

#[test]
fn c_t07_calls_decide_not_the_finish_reason() {
    let script = model([calls(&["a"]).finish(Finish::EndTurn), text("done").finish(Finish::ToolUse)])
        .tool("a", Behaviour::ok("A", 1));
    let mut world = go(with(|_| {}), script);
    assert_eq!(rest(&mut world), "go | [a] | a ok | done");
    assert_eq!(ends(&world), "completed");
}

#[test]
fn c_t10_max_tokens_replaces_completed_and_only_that() {
    let first = || calls(&["a"]).finish(Finish::MaxTokens);
    let mut world = go(max_steps(1), model([first()]).tool("a", Behaviour::ok("A", 1)));
    rest(&mut world);
    assert_eq!((ends(&world).as_str(), world.ends()[0].truncated), ("step_limit", true));
    let script = model([first(), calls(&["s"])]).tool("s", stops("enough"));
    let mut world = go(with(|_| {}), script);
    assert_eq!(rest(&mut world), "go | [a] | a not started(truncated) | [s] | s ok");
    assert_eq!(ends(&world), "max_tokens", "nor does it lose the results that are owed");
}

#[test]
fn c_t17_a_result_ends_the_turn_after_its_batch() {
    let script = || {
        model([calls(&["a", "s", "t"]), text("2")])
            .tool("a", Behaviour::ok("A", 9))
            .tool("s", stops("first"))
            .tool("t", Behaviour { takes: Some(1), ..stops("second") })
    };
    let mut world = go(with(|_| {}), script());
    assert_eq!(rest(&mut world), "go | [a s t] | a ok | s ok | t ok", "siblings still run");
    let stopped_by = Some((call(1, 1, 1), "first".into()));
    assert_eq!(last_end(&world).1, EndReason::Completed { stopped_by }, "the first in call order");
    // A steered prompt comes before it, a notification after it (T13).
    let mut world = go(with(|_| {}), script());
    world.arrange(6, join("x"));
    assert_eq!(rest(&mut world), "go | [a s t] | a ok | s ok | t ok | x | 2");
    assert_eq!(ends(&world), "completed");
    let mut world = go(with(|_| {}), script());
    world.arrange(6, notify("n"));
    assert_eq!(rest(&mut world), "go | [a s t] | a ok | s ok | t ok | note n | 2");
    assert_eq!(ends(&world), "completed, completed");
    // Only with the outcome `Ok`.
    let failing = ToolResult { stop_turn: Some("no".into()), ..ToolResult::error("failed") };
    let script = model([calls(&["a"]), text("2")])
        .tool("a", Behaviour::ok("", 1).ends(Executed::Done(Arc::new(failing))));
    let mut world = go(with(|_| {}), script);
    assert_eq!(rest(&mut world), "go | [a] | a error(failed) | 2");
}

#[test]
fn c_t13_pause_comes_first() {
    let script = model([calls(&["s"]), text("2")]).tool("s", stops("enough"));
    let mut world = go(max_steps(1), script);
    world.arrange(3, Command::Pause);
    world.arrange(3, join("x"));
    assert_eq!(rest(&mut world), "go | [s] | s ok");
    assert_eq!(ends(&world), "paused");
    assert_eq!(receipts(&world, "x"), ["accepted", "steered"], "what stays pending stays");
    world.send(Command::Resume).unwrap();
    assert_eq!(rest(&mut world), "go | [s] | s ok | x | 2");
}

#[test]
fn c_a24_calls_arguments_and_bytes_of_a_response_are_bounded() {
    let config = || {
        with(|config| {
            config.turn.calls = 2;
            config.turn.argument_bytes = 8;
            config.turn.response_bytes = 100;
        })
    };
    let long =
        streams([start(0, "", "a"), args(0, "{\"x\":\"123456\"}"), start(1, "", "a")], Finish::ToolUse);
    let script = model([calls(&["a", "a", "a"]), long, text("done")]).tool("a", Behaviour::ok("A", 1));
    let mut world = go(config(), script);
    let right =
        "go | [a a a] | a ok | a ok | a not started(limit) | [a a] | a not started(limit) | a ok | done";
    assert_eq!(rest(&mut world), right);
    let mut world = go(config(), model([text(&"x".repeat(101)), text("never")]));
    assert_eq!(rest(&mut world), "go");
    assert!(matches!(failed(&world), TurnError::Model { error, .. } if error.kind == Failure::TooLarge));
    assert_eq!(requests(&world), 1);
}

#[test]
fn c_t06_a_step_that_was_cut_short_is_sealed() {
    let sealed = |world: &World| {
        let ends = world.events.iter().filter_map(|stamped| match &stamped.event {
            Event::StepEnded { sealed, .. } => Some(*sealed),
            _ => None,
        });
        ends.collect::<Vec<_>>()
    };
    let mut world =
        go(with(|_| {}), model([calls(&["a"]), text("x").silent()]).tool("a", Behaviour::ok("A", 1)));
    world.arrange(9, abort());
    rest(&mut world);
    assert_eq!(sealed(&world), [None, Some(Sealed::Aborted)]);
    let mut world = go(with(|_| {}), model([Response::failure(Failure::Auth)]));
    rest(&mut world);
    assert_eq!(sealed(&world), [Some(Sealed::Failed)]);
}
