//! What a stop does, wherever it hits (X01 to X12): every call gets its result, nothing starts, the turn ends, and the
//! next prompt works.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
mod story;

use std::sync::Arc;

use machine_core::ask::{Answer, By, Cause, Piece, Plan, Prepared};
use machine_core::event::{EndReason, Event};
use machine_core::input::{Abort, Command, Input, Refused, Target};
use machine_core::response::{Failure, Finish, ModelEvent};
use machine_core::usage::Usage;
use machine_testkit::script::{Behaviour, Reply, Response};
use story::*;

fn ready(plan: Plan) -> Answer {
    Answer::Prepare(Prepared::Ready(Arc::new(plan)))
}

/// X01, X07, X11.
#[test]
fn s01_abort_while_one_tool_runs() {
    let usage = ModelEvent::Usage(Usage { input: 5, output: 1, cached: 0 });
    let first = streams([usage, start(0, "", "a")], Finish::ToolUse);
    let mut world = go(with(|_| {}), model([first, text("hello")]).tool("a", Behaviour::hang()));
    world.arrange(5, abort());
    world.arrange(9, submit("hi"));
    assert_eq!(rest(&mut world), "go | [a] | a cancelled(may have run) | marker | hi | hello");
    assert_eq!(ends(&world), "aborted, completed");
    assert_eq!(world.ends()[0].usage.total(), 6, "U01: usage survives the abort");
    assert_eq!(world.ends()[0].reason, EndReason::Aborted(Cause::by(By::User)));
    assert!(result(&world, 0).contains("The user cancelled this call on purpose."));
    let asked = lines(&world.host.requests[1].history);
    assert_eq!(asked, "go | [a] | a cancelled(may have run) | marker | hi");
}

#[test]
fn s02_x03_abort_of_a_partly_done_batch() {
    let script = model([calls(&["a", "b", "c", "d"]), text("ok")])
        .tool("a", Behaviour::ok("A", 1))
        .tool("b", Behaviour::hang())
        .tool("c", Behaviour::hang())
        .tool("d", Behaviour::ok("D", 1));
    let mut world = go(with(|config| config.calls.max_parallel = 2), script);
    world.arrange(8, abort());
    world.arrange(9, submit("next"));
    let right = "go | [a b c d] | a ok | b cancelled(may have run) | c cancelled(may have run) | \
                 d not started(abort) | marker | next | ok";
    assert_eq!(rest(&mut world), right);
    assert_eq!(result(&world, 0), "A");
    assert_eq!(ran(&world), "a b c");
}

#[test]
fn s03_abort_between_the_results_and_the_next_response() {
    let script = model([calls(&["a"]), text("never"), text("hello")]).tool("a", Behaviour::ok("A", 1));
    let mut world = go(with(|_| {}), script);
    world.run_until(3).unwrap();
    assert_eq!(requests(&world), 2, "the next response is asked for");
    world.send(abort()).unwrap();
    world.arrange(9, submit("hi"));
    assert_eq!(rest(&mut world), "go | [a] | a ok | marker | hi | hello");
}

#[test]
fn s22_x05_a_call_that_comes_after_the_stop_does_not_run() {
    // Text at 5, the call at 10, the end at 15.
    let first = || Response {
        pause: 5,
        ..streams([ModelEvent::Text("text".into()), start(0, "", "a")], Finish::ToolUse)
    };
    let script = || model([first()]).tool("a", Behaviour::ok("A", 1));
    // Before the call, in its tick before it, in its tick after it, and in the last tick before the end.
    for (at, after) in [(7, false), (10, false), (10, true), (15, false)] {
        let mut world = go(with(|_| {}), script());
        if after {
            world.run_until(at).unwrap();
            world.send(abort()).unwrap();
        } else {
            world.arrange(at, abort());
        }
        assert_eq!(rest(&mut world), "go | salvaged text | marker", "{at} {after}");
        assert_eq!((requests(&world), ran(&world)), (1, String::new()));
        assert_eq!(last_end(&world).0, at);
    }
    // The response is complete: its call is answered.
    let mut world = go(with(|_| {}), script());
    world.host.hooks_take = 1;
    world.run_until(15).unwrap();
    world.send(abort()).unwrap();
    assert_eq!(rest(&mut world), "go | text [a] | a not started(abort) | marker");
    assert_eq!(ran(&world), "");
}

#[test]
fn s24_m11_half_a_reasoning_block_is_not_kept() {
    let half = streams([thinking("let me")], Finish::EndTurn).silent();
    let mut world = go(with(|_| {}), model([half, text("ok")]));
    world.arrange(5, abort());
    world.arrange(9, submit("hi"));
    assert_eq!(rest(&mut world), "go | marker | hi | ok");
    assert_eq!(count(&world, |event| matches!(event, Event::AttemptDiscarded { .. })), 1);
}

#[test]
fn s34_what_has_not_begun_does_not_begin() {
    for cap in [1, 4] {
        let script = model([calls(&["a", "b", "c"])])
            .tool("a", Behaviour::hang())
            .tool("b", Behaviour::ok("B", 1).plan(Plan { approval: true, ..Plan::default() }))
            .tool("c", Behaviour::ok("C", 1).plan(Plan { approval: true, ..Plan::default() }))
            .hook("Prepare", Reply::now(ready(Plan::default())))
            .hook("Prepare", Reply::after(100, ready(Plan { approval: true, ..Plan::default() })))
            .hook("Prepare", Reply::after(50, ready(Plan { approval: true, ..Plan::default() })));
        let config = with(|config| {
            config.calls.max_parallel = cap;
            config.ask.finalize = true;
        });
        let mut world = go(config, script);
        world.arrange(5, abort());
        let right =
            "go | [a b c] | a cancelled(may have run) | b not started(abort) | c not started(abort) | marker";
        assert_eq!(rest(&mut world), right);
        assert_eq!(ran(&world), "a");
        assert_eq!(asked(&world, "Approve"), []);
        assert_eq!(asked(&world, "Finalize").len(), 1, "C12: for `a` alone");
    }
}

#[test]
fn s41_x07_the_model_sees_that_it_was_stopped() {
    let script = model([calls(&["a"]), text("never"), text("ok")]).tool("a", Behaviour::hang());
    let mut world = go(with(|_| {}), script);
    world.arrange(5, abort());
    world.arrange(6, Command::Resume);
    world.run_until(6).unwrap();
    world.send(abort()).unwrap();
    world.arrange(9, submit("other"));
    let right = "go | [a] | a cancelled(may have run) | marker | other | ok";
    assert_eq!(rest(&mut world), right, "not twice in a row");
    assert_eq!(ends(&world), "aborted, aborted, completed");
    // Nor after an abort that is not a user's.
    let mut world = go(with(|_| {}), model([calls(&["a"])]).tool("a", Behaviour::hang()));
    world.arrange(5, abort_by(By::Program));
    assert_eq!(rest(&mut world), "go | [a] | a cancelled(may have run)");
}

/// A13: the other states are in `maintenance.rs` and `steer_and_queue.rs`.
#[test]
fn c_x02_every_wait_ends_at_once() {
    let silent = || text("so far").silent();
    let failing = || Response::failure(Failure::Overloaded);
    let hangs = |question: &'static str, script: machine_testkit::script::Script| {
        (question, script.hook(question, Reply::never()))
    };
    for (question, script) in [
        hangs("Gate", model([text("never")])),
        hangs("Recover", model([failing(), text("never")])),
        hangs("Stop", model([text("final")])),
        ("Attempt", model([silent()])),
        ("Timer", model([failing()]).hook("Recover", Reply::now(hook_failed()))),
    ] {
        let config = with(|config| {
            config.ask.gate = question == "Gate";
            config.ask.recover = ["Recover", "Timer"].contains(&question);
            config.ask.stop = question == "Stop";
            config.ask.timeout_ms = 0;
            config.retry.base_ms = 1_000;
        });
        let mut world = go(config, script);
        world.arrange(50, abort());
        world.arrange(60, abort());
        rest(&mut world);
        assert_eq!(last_end(&world), (50, EndReason::Aborted(Cause::by(By::User))), "{question}");
        assert_eq!(world.engine.outstanding().count(), 0, "{question}: nothing is left open");
        let open = asked(&world, question).last().unwrap().1.id;
        assert_eq!(taken_back(&world, open), [50], "{question} is taken back");
        assert_eq!(ends(&world), "aborted");
    }
}

/// M07.
#[test]
fn c_x02_backoff_leaves_no_timer() {
    let script = model([text("half").cut(Failure::StreamCut), text("never")]);
    let mut world = go(with(|config| config.retry.base_ms = 1_000), script);
    world.arrange(50, abort());
    assert_eq!(rest(&mut world), "go | salvaged half | marker", "M11: what was seen stays");
    assert_eq!((requests(&world), last_end(&world).0), (1, 50));
    assert_eq!(world.now(), 50, "nothing is left to wait for");
}

#[test]
fn c_x12_an_abort_may_name_its_turn() {
    let named = |target| Command::Abort(Arc::new(Abort { cause: Cause::by(By::User), target: Some(target) }));
    let script = || model([calls(&["a"]), text("hi")]).tool("a", Behaviour::hang());
    for target in [Target::Turn(turn(1)), Target::Prompt("go".into())] {
        let mut world = go(with(|_| {}), script());
        world.arrange(3, submit("later"));
        world.run_until(4).unwrap();
        let before = world.engine.clone();
        for other in [Target::Turn(turn(2)), Target::Prompt("later".into())] {
            assert_eq!(world.send(named(other)), Err(Refused::NotThatTurn));
        }
        assert!(world.engine == before, "nothing changed");
        world.send(named(target.clone())).unwrap();
        assert_eq!(rest(&mut world), "go | [a] | a cancelled(may have run) | marker | later | hi");
        assert_eq!(world.send(named(target)), Err(Refused::NotThatTurn), "it is over");
    }
}

#[test]
fn c_x01_who_and_why_reach_every_result() {
    let script = model([calls(&["a", "b"])]).tool("a", Behaviour::hang()).tool("b", Behaviour::hang());
    let mut world = go(with(|config| config.calls.max_parallel = 1), script);
    let cause = Arc::new(Cause { by: By::User, reason: Some("wrong branch".into()) });
    world.arrange(5, Command::Abort(Arc::new(Abort { cause: cause.clone(), target: None })));
    rest(&mut world);
    for n in 0..2 {
        assert!(result(&world, n).contains("wrong branch"), "{}", result(&world, n));
    }
    assert_eq!(last_end(&world).1, EndReason::Aborted(cause));
}

/// A15. One rule for every way to stop.
#[test]
fn s48_a_stop_with_messages_queued_behind_it() {
    let script = || model([calls(&["a"]), text("1"), text("2")]).tool("a", Behaviour::hang());
    for by in [By::User, By::Program, By::Timeout, By::Parent] {
        let mut world = go(with(|_| {}), script());
        world.arrange(3, submit("x"));
        world.arrange(4, submit("y"));
        world.arrange(5, abort_by(by));
        assert!(rest(&mut world).ends_with("x | 1 | y | 2"), "{by:?}: {}", told(&world));
        assert_eq!(ends(&world), "aborted, completed, completed");
    }
}

#[test]
fn c_a15_next_step_input_alone_does_not_start_a_turn_after_a_users_abort() {
    let script = || model([calls(&["a"]), text("1"), text("2")]).tool("a", Behaviour::hang());
    let mut world = go(with(|_| {}), script());
    world.arrange(3, notify("n"));
    world.arrange(3, join("j"));
    world.arrange(5, abort());
    assert_eq!(
        rest(&mut world),
        "go | [a] | a cancelled(may have run) | marker | note n | j | 1",
        "the steered prompt goes on, and takes the note along"
    );
    let mut world = go(with(|_| {}), script());
    world.arrange(3, notify("n"));
    world.arrange(5, abort());
    world.arrange(9, submit("hi"));
    world.run_until(8).unwrap();
    assert_eq!(told(&world), "go | [a] | a cancelled(may have run) | marker");
    assert!(rest(&mut world).ends_with("marker | note n | hi | 1"));
    let mut world = go(with(|_| {}), script());
    world.arrange(3, notify("n"));
    world.arrange(5, abort_by(By::Program));
    assert!(rest(&mut world).ends_with("a cancelled(may have run) | note n | 1"), "only after a user's");
}

#[test]
fn c_a16_what_comes_while_a_turn_is_being_aborted_is_for_the_next() {
    let script = || model([calls(&["a"]), text("1")]).tool("a", Behaviour::ok("A", 8).deaf());
    for (command, last) in [(submit("x"), "x | 1"), (join("x"), "x | 1"), (notify("x"), "note x | 1")] {
        let mut world = go(with(|_| {}), script());
        world.arrange(5, abort());
        world.arrange(6, command);
        assert_eq!(rest(&mut world), format!("go | [a] | a ok | marker | {last}"));
        assert_eq!(ends(&world), "aborted, completed");
    }
}

#[test]
fn c_t20_a_turn_that_is_over_takes_nothing() {
    let mut world = go(with(|_| {}), model([text("so far").silent()]));
    world.arrange(5, abort());
    rest(&mut world);
    let attempt = asked(&world, "Attempt")[0].1.id;
    let finished = Answer::Finished(Arc::new(machine_core::response::Finished::new(Finish::EndTurn)));
    let late = [
        Input::Piece { ask: attempt, piece: Piece::Model(ModelEvent::Text("more".into())) },
        Input::Answer { ask: attempt, answer: finished },
        Input::Lost { ask: attempt },
    ];
    for input in late {
        let before = world.engine.clone();
        world.arrange(9, input);
        rest(&mut world);
        assert!(world.engine == before);
    }
    assert_eq!(count(&world, |event| matches!(event, Event::Stray { ask } if *ask == attempt)), 3);
}
