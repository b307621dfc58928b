//! What becomes of calls that are told to stop: their grace, those that do not obey, and what is known of them (X03, X04,
//! X06, X08, X10, B07, C10).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
mod story;

use std::sync::Arc;

use machine_core::access::{Access, Mode, Touch};
use machine_core::ask::{Answer, By, Cause, Executed, Piece, Plan};
use machine_core::event::{EndReason, Event};
use machine_core::input::Input;
use machine_core::message::text_content;
use machine_core::outcome::{Outcome, ToolResult};
use machine_testkit::script::{Behaviour, Reply};
use story::*;

/// A grace of 10.
fn short_grace() -> machine_core::config::Config {
    with(|config| config.calls.grace_ms = 10)
}

fn writes(path: &str) -> Plan {
    Plan { access: Access::from(Touch::path(Mode::Write, path)), ..Plan::default() }
}

#[test]
fn s33_a_tool_that_ignores_the_cancel() {
    let script = model([calls(&["a"]), calls(&["b"]), text("ok")])
        .tool("a", Behaviour::ok("A", 600).deaf().plan(writes("/f")))
        .tool("b", Behaviour::ok("B", 1).plan(writes("/f")));
    let mut world = go(short_grace(), script);
    world.arrange(5, abort());
    world.arrange(20, submit("hi"));
    let right = "go | [a] | a cancelled(may have run) | marker | hi | [b] | b ok | ok";
    assert_eq!(rest(&mut world), right);
    assert_eq!(when(&world, |event| matches!(event, Event::TurnEnded(_)))[0], 15, "the grace is over");
    let b_started = when(&world, |event| matches!(event, Event::CallStarted { .. }))[1];
    assert_eq!(b_started, 602, "B07: what `a` holds it holds until it ends");
    assert_eq!(when(&world, |event| matches!(event, Event::LateResult { outcome: Outcome::Ok, .. })), [602]);
}

#[test]
fn s35_x06_what_is_not_known_is_not_called_undone() {
    let effect = || Behaviour::ok("created", 500).deaf();
    let timeout = Plan { timeout_ms: Some(3), ..writes("/f") };
    for (tool, outcome) in
        [(effect(), "a cancelled(may have run)"), (effect().plan(timeout), "a timed out(may have run)")]
    {
        let timed_out = outcome.contains("timed");
        let script = model([calls(&["a"]), text("hm")]).tool("a", tool);
        let mut world = go(short_grace(), script);
        if !timed_out {
            world.arrange(5, abort());
        }
        world.run_until(400).unwrap();
        assert!(told(&world).contains(outcome), "{}", told(&world));
        assert!(result(&world, 0).contains("check before you repeat it"));
        let execution = asked(&world, "Execute")[0].1.id;
        rest(&mut world);
        let late = |event: &Event| matches!(event, Event::LateResult { outcome: Outcome::Ok, .. });
        assert_eq!(when(&world, late), [502]);
        // Every later one is stray.
        let again = Answer::Execute(Executed::Done(Arc::new(ToolResult::text("again"))));
        world.arrange(510, Input::Answer { ask: execution, answer: again });
        rest(&mut world);
        assert_eq!(count(&world, late), 1);
        assert_eq!(when(&world, |event| matches!(event, Event::Stray { .. })), [510]);
        assert!(!told(&world).contains("created"), "it is never in history");
    }
}

#[test]
fn s36_x08_the_engine_knows_that_it_aborted() {
    let error = Executed::Done(Arc::new(ToolResult::error("AbortError: The operation was aborted")));
    let script = model([calls(&["a"])]).tool("a", Behaviour::hang().when_cancelled(error));
    let mut world = go(with(|_| {}), script);
    world.arrange(5, abort());
    assert_eq!(rest(&mut world), "go | [a] | a cancelled(may have run) | marker");
    let before = told(&world);
    world.crash().unwrap();
    assert_eq!(rest(&mut world), before);
    // And the reverse: the same words without an abort are a failure.
    let script = model([calls(&["a"]), text("ok")]).tool("a", Behaviour::error("AbortError", 1));
    let mut world = go(with(|_| {}), script);
    assert_eq!(rest(&mut world), "go | [a] | a error(failed) | ok");
    // A success that comes within the grace is one.
    let done = Executed::Done(Arc::new(ToolResult::text("done")));
    let script = model([calls(&["a"])]).tool("a", Behaviour::hang().when_cancelled(done));
    let mut world = go(with(|_| {}), script);
    world.arrange(5, abort());
    assert_eq!(rest(&mut world), "go | [a] | a ok | marker");
}

/// C10.
#[test]
fn s37_a_timeout_is_no_abort_and_the_abort_wins() {
    let limited = |tool: Behaviour| tool.plan(Plan { timeout_ms: Some(10), ..Plan::default() });
    let script = |tool| model([calls(&["a"]), text("ok")]).tool("a", limited(tool));
    let mut world = go(short_grace(), script(Behaviour::hang()));
    assert_eq!(rest(&mut world), "go | [a] | a timed out(may have run) | ok");
    assert!(!result(&world, 0).contains("user"));
    // The timeout fires at 12. In one tick: the abort first, the timeout first.
    for (timeout_first, tool) in [
        (false, Behaviour::hang()),
        (true, Behaviour::hang()),
        (false, Behaviour::hang().deaf()),
        (true, Behaviour::hang().deaf()),
    ] {
        let deaf = tool.when_cancelled.is_none();
        let mut world = go(short_grace(), script(tool));
        if timeout_first {
            world.run_until(11).unwrap();
        }
        world.arrange(12, abort());
        assert_eq!(rest(&mut world), "go | [a] | a cancelled(may have run) | marker");
        assert_eq!(last_end(&world).0, if deaf { 22 } else { 12 }, "the earlier grace stays");
    }
}

#[test]
fn s38_b07_two_never_write_one_file() {
    let script = |busy: bool| {
        let plan = Plan { timeout_ms: Some(5), ..writes("/f") };
        let then = if busy { text("then not") } else { text("done") };
        model([calls(&["a"]), calls(&["b"]), then])
            .tool("a", Behaviour::ok("A", 60).deaf().plan(plan))
            .tool("b", Behaviour::ok("B", 1).plan(writes("/f")))
    };
    let mut world = go(short_grace(), script(false));
    assert_eq!(rest(&mut world), "go | [a] | a timed out(may have run) | [b] | b ok | done");
    assert_eq!(when(&world, |event| matches!(event, Event::CallStarted { .. })), [2, 62]);
    let impatient = with(|config| {
        config.calls.grace_ms = 10;
        config.calls.busy_after_ms = 20;
    });
    let mut world = go(impatient, script(true));
    assert_eq!(
        rest(&mut world),
        "go | [a] | a timed out(may have run) | [b] | b not started(busy) | then not"
    );
    assert_eq!(ran(&world), "a");
}

/// X01, X04.
#[test]
fn s42_the_second_stop_drops_the_grace() {
    let script =
        model([calls(&["a", "b"])]).tool("a", Behaviour::ok("A", 600).deaf()).tool("b", Behaviour::hang());
    let mut world = go(with(|_| {}), script);
    world.arrange(5, abort());
    world.arrange(6, abort_by(By::Program));
    world.arrange(7, abort());
    world.run_until(7).unwrap();
    let (at, reason) = last_end(&world);
    assert_eq!((at, reason), (6, EndReason::Aborted(Cause::by(By::User))), "the first one counts");
    let right = "go | [a b] | a cancelled(may have run) | b cancelled(may have run) | marker";
    assert_eq!(rest(&mut world), right);
    assert_eq!(ends(&world), "aborted");
    let settled = world.events.iter().rposition(|s| matches!(s.event, Event::CallSettled { .. }));
    let ended = world.events.iter().position(|s| matches!(s.event, Event::TurnEnded(_)));
    assert!(settled < ended, "results are written before the end");
}

#[test]
fn c_x03_a_call_in_its_finalizer_has_the_same_grace() {
    let script = |reply| model([calls(&["a"])]).tool("a", Behaviour::ok("secret", 1)).hook("Finalize", reply);
    let config = || {
        with(|config| {
            config.calls.grace_ms = 10;
            config.ask.finalize = true;
            config.ask.timeout_ms = 0;
        })
    };
    let mut world = go(config(), script(Reply::never()));
    world.arrange(5, abort());
    assert_eq!(rest(&mut world), "go | [a] | a cancelled(may have run) | marker");
    assert_eq!(last_end(&world).0, 15);
    assert!(!result(&world, 0).contains("secret"));
    let clean = Answer::Finalize(Arc::new(ToolResult::text("clean")));
    let mut world = go(config(), script(Reply::after(8, clean)));
    world.arrange(5, abort());
    assert_eq!(rest(&mut world), "go | [a] | a ok | marker", "a real outcome within the grace is kept");
    assert_eq!((result(&world, 0), last_end(&world).0), ("clean".into(), 11));
}

#[test]
fn c_x10_what_a_tool_had_said_by_then_is_kept() {
    let tool = || {
        Behaviour::hang()
            .brings(1, Piece::Output(text_content("half")))
            .brings(2, Piece::Progress("50 %".into()))
    };
    let mut world = go(with(|_| {}), model([calls(&["a"])]).tool("a", tool()));
    world.arrange(5, abort());
    rest(&mut world);
    let said = result(&world, 0);
    assert!(said.contains("half") && said.contains("on purpose") && !said.contains("50 %"), "{said}");
    // With a finalizer the host has it, and brings it; without its answer it is withheld.
    let finalizing = || {
        with(|config| {
            config.ask.finalize = true;
            config.ask.timeout_ms = 0;
            config.calls.grace_ms = 10;
        })
    };
    let clean = Answer::Finalize(Arc::new(ToolResult::text("h***")));
    for (reply, says) in [(Reply::now(clean), true), (Reply::never(), false)] {
        let script = model([calls(&["a"])]).tool("a", tool()).hook("Finalize", reply);
        let mut world = go(finalizing(), script);
        world.arrange(5, abort());
        assert_eq!(rest(&mut world), "go | [a] | a cancelled(may have run) | marker");
        let said = result(&world, 0);
        assert_eq!((said.contains("h***"), said.contains("half")), (says, false), "{said}");
        assert!(last_end(&world).0 <= 15);
    }
}

#[test]
fn c_x04_the_second_stop_does_not_wait_for_a_finalizer() {
    let config = with(|config| {
        config.ask.finalize = true;
        config.ask.timeout_ms = 0;
    });
    let script =
        model([calls(&["a"])]).tool("a", Behaviour::ok("secret", 1)).hook("Finalize", Reply::never());
    let mut world = go(config, script);
    world.arrange(5, abort());
    world.arrange(6, abort());
    assert_eq!(rest(&mut world), "go | [a] | a cancelled(may have run) | marker");
    assert_eq!(last_end(&world).0, 6);
    assert!(!result(&world, 0).contains("secret"));
}
