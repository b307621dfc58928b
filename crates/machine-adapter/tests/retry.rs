//! Failed attempts: recovery, retry, fail; and what they cost (M02 to M14, U01, U02).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
mod story;

use std::sync::Arc;

use machine_core::ask::{Answer, Piece, Proceed, Question, Recovery, Remedy};
use machine_core::config::{Config, Settings};
use machine_core::event::{AttemptEnd, EndReason, Event, TurnError};
use machine_core::history::Edit;
use machine_core::input::Input;
use machine_core::message::{Entry, Message, Origin, text_content};
use machine_core::response::{Failure, Finish, ModelError, ModelEvent};
use machine_core::usage::{Usage, UsageSum};
use machine_testkit::script::{Behaviour, Reply, Response};
use story::*;

fn recovering() -> Config {
    with(|config| config.ask.recover = true)
}

fn fails(kind: Failure) -> Response {
    Response::failure(kind)
}

fn remedy(strategy: &str, progress: bool) -> Remedy {
    Remedy { strategy: strategy.into(), progress, instead: None, for_turn: false, usage: None }
}

fn retry(remedy: Remedy) -> Reply {
    Reply::now(Answer::Recover(Recovery::Retry(Arc::new(remedy))))
}

fn tokens(output: u64) -> Usage {
    Usage { input: 0, output, cached: 0 }
}

fn failed(world: &World) -> TurnError {
    match last_end(world).1 {
        EndReason::Failed(error) => (*error).clone(),
        other => panic!("{other:?}"),
    }
}

/// When the attempts left.
fn attempts(world: &World) -> Vec<u64> {
    asked(world, "Attempt").into_iter().map(|(at, _)| at).collect()
}

/// M02, E05.
#[test]
fn s59_a_retried_stream_is_not_added_to_the_first() {
    let dies =
        streams([ModelEvent::Text("Here is".into()), start(0, "", "a"), args(0, "{\"p")], Finish::ToolUse)
            .cut(Failure::StreamCut);
    let again = streams([ModelEvent::Text("Here is the plan".into()), start(0, "", "b")], Finish::ToolUse);
    let script =
        model([dies, again, text("done")]).tool("a", Behaviour::ok("A", 1)).tool("b", Behaviour::ok("B", 1));
    let mut world = go(with(|_| {}), script);
    assert_eq!(rest(&mut world), "go | Here is the plan [b] | b ok | done");
    assert_eq!(ran(&world), "b");
    let story: Vec<_> = world
        .events
        .iter()
        .filter_map(|stamped| match &stamped.event {
            Event::Delta { attempt, .. } if attempt.step == 1 => Some(attempt.serial),
            Event::AttemptDiscarded { attempt } => Some(100 + attempt.serial),
            _ => None,
        })
        .collect();
    assert_eq!(story, [1, 1, 1, 101, 2, 2], "deltas of the first, its discard, deltas of the second");
}

/// M05, M06, M07, M09.
#[test]
fn s60_the_servers_wait_counts() {
    let limited = |ms| failure(ModelError { retry_after_ms: Some(ms), ..error(Failure::RateLimit) });
    let mut world = go(with(|_| {}), model([limited(6_000), text("ok")]));
    assert_eq!(rest(&mut world), "go | ok");
    assert_eq!(attempts(&world), [0, 6_001]);
    let mut world = go(with(|_| {}), model([limited(9_568_000), text("never")]));
    assert_eq!(rest(&mut world), "go");
    assert!(matches!(failed(&world), TurnError::RateLimited { retry_after_ms: 9_568_000, .. }));
    let mut world = go(with(|_| {}), model([fails(Failure::ContextOverflow), text("never")]));
    assert_eq!(rest(&mut world), "go");
    assert!(matches!(failed(&world), TurnError::ContextOverflow { .. }));
    assert_eq!(requests(&world), 1);
}

/// U02.
#[test]
fn s61_every_attempt_counts_once() {
    let usage = |n| ModelEvent::Usage(tokens(n));
    let cut = streams([usage(50)], Finish::EndTurn).cut(Failure::StreamCut);
    let again = streams([usage(20), usage(60), usage(60), ModelEvent::Text("ok".into())], Finish::EndTurn);
    let mut world = go(with(|_| {}), model([cut, fails(Failure::Connection), again]));
    rest(&mut world);
    let right = UsageSum { known: tokens(110), unknown_attempts: 1 };
    assert_eq!(world.ends()[0].usage, right, "unknown is not zero");
    let each: Vec<_> = world
        .events
        .iter()
        .filter_map(|stamped| match &stamped.event {
            Event::AttemptEnded { usage, .. } => Some(usage.map(Usage::total)),
            _ => None,
        })
        .collect();
    assert_eq!(each, [Some(50), None, Some(60)]);
}

#[test]
fn c_u01_usage_is_booked_before_tools_run() {
    let first = streams([ModelEvent::Usage(tokens(7)), start(0, "", "a")], Finish::ToolUse);
    let mut world = go(with(|_| {}), model([first]).tool("a", Behaviour::hang()));
    world.run_until(9).unwrap();
    assert_eq!(world.engine.usage().total(), 7, "while the tool runs");
    let order: Vec<_> =
        kinds(&world).into_iter().filter(|kind| ["attempt ended", "started"].contains(kind)).collect();
    assert_eq!(order, ["attempt ended", "started"]);
    world.send(abort()).unwrap();
    rest(&mut world);
    assert_eq!(world.ends()[0].usage.total(), 7);
}

/// T03, T04.
#[test]
fn s62_the_next_attempt_asks_the_same() {
    let script = model([text("Let me look").cut(Failure::ServerError), calls(&["a"]), text("ok")])
        .tool("a", Behaviour::ok("A", 1));
    let mut world = go(with(|_| {}), script);
    assert_eq!(rest(&mut world), "go | [a] | a ok | ok");
    let [first, second, _] = &world.host.requests[..] else { panic!("three requests") };
    assert_eq!(first.history.digest(), second.history.digest());
    assert_eq!((&first.tools, &first.settings), (&second.tools, &second.settings));
}

#[test]
fn c_m04_what_is_repeated_and_what_is_not() {
    use Failure::*;
    for (kinds, attempts) in [
        (vec![Connection, Timeout, RateLimit, Overloaded, ServerError, StreamCut], 10),
        (vec![ContextOverflow, InvalidRequest, Auth, Quota, Panicked, Unknown], 1),
    ] {
        for kind in kinds {
            let mut world = go(with(|_| {}), model((0..20).map(|_| fails(kind))));
            assert_eq!(rest(&mut world), "go");
            assert_eq!((ends(&world).as_str(), requests(&world)), ("failed", attempts), "{kind:?}");
        }
    }
    let mut world = go(with(|config| config.retry.attempts = 1), model([fails(Overloaded), text("never")]));
    assert_eq!(rest(&mut world), "go", "1 = no retry");
}

#[test]
fn c_m07_a_retry_is_told_before_its_wait() {
    let mut world = go(with(|_| {}), model([fails(Failure::Overloaded), text("ok")]));
    rest(&mut world);
    let told = world.events.iter().find_map(|stamped| match &stamped.event {
        Event::Retrying { failed, next, max, delay_ms, error } => {
            Some((stamped.at, failed.serial, *next, *max, *delay_ms, error.kind))
        }
        _ => None,
    });
    let (at, failed, next, max, delay, kind) = told.unwrap();
    assert_eq!((at, failed, next, max, kind), (1, 1, 1, 9, Failure::Overloaded));
    assert_eq!(attempts(&world), [0, 1 + delay]);
    assert!((500..=625).contains(&delay));
}

#[test]
fn c_m03_recovery_then_retry_then_fail() {
    let decline = || Reply::now(Answer::Recover(Recovery::Decline));
    let script = model([fails(Failure::Overloaded), fails(Failure::Auth)])
        .hook("Recover", decline())
        .hook("Recover", Reply::now(hook_failed()));
    let mut world = go(recovering(), script);
    assert_eq!(rest(&mut world), "go");
    let recovered: Vec<_> = asked(&world, "Recover").into_iter().map(|(at, _)| at).collect();
    let retried = when(&world, |event| matches!(event, Event::Retrying { .. }));
    assert_eq!((recovered.len(), recovered[0], retried), (2, 1, vec![1]));
    assert!(matches!(failed(&world), TurnError::Model { error, .. } if error.kind == Failure::Auth));
    assert_eq!(count(&world, |event| matches!(event, Event::HookFailed { .. })), 1);
    // The host may end the turn with its own error.
    let own = Arc::new(ModelError::new(Failure::Quota, "top up"));
    let end = Reply::now(Answer::Recover(Recovery::End(own.clone())));
    let mut world = go(recovering(), model([fails(Failure::Overloaded), text("no")]).hook("Recover", end));
    assert_eq!(rest(&mut world), "go");
    assert!(matches!(failed(&world), TurnError::Model { error, .. } if error == own));
}

#[test]
fn c_m08_a_strategy_without_progress_is_used_once() {
    let script = model([fails(Failure::Auth), fails(Failure::Auth), text("never")])
        .hook("Recover", retry(remedy("new key", false)))
        .hook("Recover", retry(remedy("new key", false)));
    let mut world = go(recovering(), script);
    rest(&mut world);
    assert_eq!((ends(&world).as_str(), requests(&world)), ("failed", 2));
    let tried: Vec<_> = asked(&world, "Recover")
        .into_iter()
        .map(|(_, ask)| match ask.question {
            Question::Recover { tried, .. } => tried.iter().map(|name| name.to_string()).collect::<Vec<_>>(),
            _ => Vec::new(),
        })
        .collect();
    assert_eq!(tried, [vec![], vec!["new key".to_owned()]]);
    // With progress as often as there are recoveries; each step begins again.
    let mut script = model((0..20).map(|_| fails(Failure::Auth)));
    for _ in 0..20 {
        script = script.hook("Recover", retry(remedy("smaller", true)));
    }
    let mut world = go(recovering(), script);
    rest(&mut world);
    assert_eq!((ends(&world).as_str(), requests(&world)), ("failed", 9), "8 recoveries");
    let serials: Vec<_> = world.host.requests.iter().map(|request| request.attempt.serial).collect();
    assert_eq!(serials, (1..=9).collect::<Vec<_>>(), "M02: a serial is never used again");
    // The count of retries starts again.
    let script =
        model((0..20).map(|_| fails(Failure::Overloaded))).hook("Recover", retry(remedy("x", false)));
    let config = with(|config| {
        config.ask.recover = true;
        config.retry.attempts = 3;
    });
    let mut world = go(config, script);
    rest(&mut world);
    assert_eq!(requests(&world), 1 + 3);
}

#[test]
fn c_m08_an_override_holds_for_the_step_or_for_the_turn() {
    let other = |for_turn| {
        let settings = Settings { model: "other".into(), ..Settings::default() };
        let instead = Proceed { settings: Some(Arc::new(settings)), ..Proceed::default() };
        retry(Remedy {
            instead: Some(instead),
            for_turn,
            usage: Some(tokens(3)),
            ..remedy("fallback", false)
        })
    };
    for (for_turn, third) in [(false, ""), (true, "other")] {
        let script = model([fails(Failure::Auth), calls(&["a"]), text("1"), text("2")])
            .tool("a", Behaviour::ok("A", 1))
            .hook("Recover", other(for_turn));
        let mut world = go(recovering(), script);
        world.arrange(50, submit("x"));
        assert_eq!(rest(&mut world), "go | [a] | a ok | 1 | x | 2");
        let models: Vec<_> =
            world.host.requests.iter().map(|request| request.settings.model.to_string()).collect();
        assert_eq!(models, ["", "other", third, ""]);
        assert_eq!(world.ends()[0].usage.known, tokens(3), "what the recovery cost");
    }
}

#[test]
fn c_m09_an_overflow_is_compacted_or_fails() {
    let summary = || {
        let entry = Entry {
            origin: Origin::Summary,
            turn: None,
            message: Message::User { content: text_content("S") },
            meta: None,
        };
        Edit::Replace { with: vec![Arc::new(entry)] }
    };
    let script = model([fails(Failure::ContextOverflow), text("ok")])
        .hook("Recover", retry(remedy("compact", true)).edit(summary()));
    let mut world = go(recovering(), script);
    assert_eq!(rest(&mut world), "summary S | ok");
    let mut script = model((0..20).map(|_| fails(Failure::ContextOverflow)));
    for strategy in ["compact", "drop images", "third"] {
        script = script.hook("Recover", retry(remedy(strategy, false)));
    }
    let mut world = go(recovering(), script);
    rest(&mut world);
    assert!(matches!(failed(&world), TurnError::ContextOverflow { .. }));
    assert_eq!(asked(&world, "Recover").len(), 2, "twice without progress");
}

#[test]
fn c_m10_nothing_else_runs_again() {
    let script = model([calls(&["a"]), fails(Failure::Overloaded), fails(Failure::Auth), text("ok")])
        .tool("a", Behaviour::ok("A", 1))
        .hook("Recover", Reply::now(Answer::Recover(Recovery::Decline)))
        .hook("Recover", retry(remedy("key", false)));
    let config = with(|config| {
        config.ask.recover = true;
        config.ask.gate = true;
        config.ask.screen = true;
    });
    let mut world = go(config, script);
    assert_eq!(rest(&mut world), "go | [a] | a ok | ok");
    let times = |kind| asked(&world, kind).len();
    assert_eq!((ran(&world).as_str(), times("Gate"), times("Screen"), times("Attempt")), ("a", 2, 1, 4));
    assert_eq!(count(&world, |event| matches!(event, Event::StepStarted { .. })), 2);
}

#[test]
fn c_m11_a_failed_attempt_is_kept_until_it_is_void() {
    for (recover, reply) in [(true, Reply::never()), (false, Reply::now(hook_failed()))] {
        let script = model([text("half").cut(Failure::StreamCut), text("2")]).hook("Recover", reply);
        let config = with(|config| {
            config.ask.recover = recover;
            config.ask.timeout_ms = 0;
        });
        let mut world = go(config, script);
        world.arrange(50, abort());
        assert_eq!(rest(&mut world), "go | salvaged half | marker");
        assert_eq!(count(&world, |event| matches!(event, Event::AttemptDiscarded { .. })), 0);
    }
}

#[test]
fn c_m12_what_another_attempt_says_is_stray() {
    let mut world = go(with(|_| {}), model([fails(Failure::Overloaded), text("ok").silent()]));
    world.run_until(2_000).unwrap();
    let old = asked(&world, "Attempt")[0].1.id;
    let before = world.engine.clone();
    for input in [
        Input::Piece { ask: old, piece: Piece::Model(ModelEvent::Text("late".into())) },
        Input::Answer { ask: old, answer: Answer::AttemptFailed(Arc::new(error(Failure::Auth))) },
    ] {
        world.arrange(2_000, input);
    }
    world.run_until(2_000).unwrap();
    assert!(world.engine == before);
    assert_eq!(count(&world, |event| matches!(event, Event::Stray { ask } if *ask == old)), 2);
}

#[test]
fn c_m13_an_attempt_that_goes_silent() {
    let idle = |ms| {
        with(|config| {
            config.turn.stream_idle_ms = ms;
            config.retry.attempts = 2;
            config.retry.base_ms = 10;
        })
    };
    // Silent after text at 1.
    let mut world = go(idle(100), model([text("so").silent(), text("ok")]));
    assert_eq!(rest(&mut world), "go | ok");
    let end =
        world.events.iter().find(|stamped| matches!(stamped.event, Event::AttemptEnded { .. })).unwrap();
    let Event::AttemptEnded { end: AttemptEnd::Failed(error), .. } = &end.event else { panic!("{end:?}") };
    assert_eq!((end.at, error.kind), (101, Failure::Timeout));
    let silent = asked(&world, "Attempt")[0].1.id;
    assert_eq!(taken_back(&world, silent), [101], "it is cancelled");
    // One that keeps talking is not.
    let slow = Response { pause: 90, ..streams(vec![ModelEvent::Text("x".into()); 9], Finish::EndTurn) };
    let mut world = go(idle(100), model([slow]));
    assert_eq!(rest(&mut world), "go | xxxxxxxxx");
    // 0 = off.
    let mut world = go(idle(0), model([text("so").silent()]));
    world.run().unwrap();
    assert!(world.engine.turn().is_some());
}

#[test]
fn c_m14_what_the_host_knows_is_told() {
    let lost =
        ModelError { status: Some(503), request_id: Some("req-1".into()), ..error(Failure::ServerError) };
    let started = ModelEvent::Started { request_id: Some("req-2".into()) };
    let mut fine = streams([started, ModelEvent::Text("ok".into())], Finish::EndTurn);
    if let Some(Ok(finished)) = &mut fine.end {
        finished.raw = Some("stop".into());
        finished.first_token_ms = Some(42);
    }
    let mut world = go(with(|_| {}), model([failure(lost), fine]));
    rest(&mut world);
    let ended: Vec<_> = world
        .events
        .iter()
        .filter_map(|stamped| match &stamped.event {
            Event::AttemptEnded { end, request_id, .. } => Some((end.clone(), request_id.clone())),
            _ => None,
        })
        .collect();
    let [(AttemptEnd::Failed(failed), first), (AttemptEnd::Finished { raw, first_token_ms, .. }, second)] =
        &ended[..]
    else {
        panic!("{ended:?}")
    };
    assert_eq!((failed.status, failed.request_id.as_deref()), (Some(503), Some("req-1")));
    assert_eq!((raw.as_deref(), *first_token_ms, second.as_deref()), (Some("stop"), Some(42), Some("req-2")));
    assert_eq!(first.as_deref(), Some("req-1"), "also of a request that failed before its stream began");
}
