//! What a failed attempt leads to: recovery, retry, the end (M03 to M10).
#![expect(clippy::panic, reason = "a test may also fail in a helper")]
mod common;

use std::sync::Arc;

use common::*;
use expect_test::expect;
use machine_core::ask::{HookError, HookFailure, Proceed, Question, Recovery, Remedy, Subject, Timer};
use machine_core::config::{Config, Retry, TurnLimits};
use machine_core::event::{EndReason, Event as Report, TurnError};
use machine_core::machine::Step;
use machine_core::response::{Failure, Finish, ModelError};
use machine_turn::{Event, Signal};

const FAILURES: [Failure; 14] = [
    Failure::Connection,
    Failure::Timeout,
    Failure::RateLimit,
    Failure::Overloaded,
    Failure::ServerError,
    Failure::StreamCut,
    Failure::ContextOverflow,
    Failure::InvalidRequest,
    Failure::Auth,
    Failure::Quota,
    Failure::TooLarge,
    Failure::Empty,
    Failure::Panicked,
    Failure::Unknown,
];

fn with_attempts(attempts: u32) -> Config {
    Config { retry: Retry { attempts, ..Retry::default() }, ..Config::default() }
}

/// Fails until the turn ends; how often it was asked again.
fn exhaust(turn: &mut Driven, kind: Failure) -> u32 {
    for retries in 0..100 {
        turn.fail_with(kind);
        if turn.ended().is_some() {
            return retries;
        }
        assert_eq!(turn.leaf(), "Backoff");
        turn.on(&Event::BackoffOver);
    }
    panic!("M05: no end");
}

fn failed(turn: &Driven) -> &TurnError {
    match turn.reason() {
        Some(EndReason::Failed(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// Every kind, without a recovery: how often it is asked again, and how the turn ends.
#[test]
fn c_m04_what_is_retried() {
    let mut all = String::new();
    for kind in FAILURES {
        let mut turn = Driven::new(with_attempts(3));
        let retries = exhaust(&mut turn, kind);
        all += &format!("{kind:?}: {retries} retries, {}\n", failed(&turn));
    }
    expect![[r#"
        Connection: 2 retries, model: Connection: failed
        Timeout: 2 retries, model: Timeout: failed
        RateLimit: 2 retries, model: RateLimit: failed
        Overloaded: 2 retries, model: Overloaded: failed
        ServerError: 2 retries, model: ServerError: failed
        StreamCut: 2 retries, model: StreamCut: failed
        ContextOverflow: 0 retries, the request does not fit the context window: ContextOverflow: failed
        InvalidRequest: 0 retries, model: InvalidRequest: failed
        Auth: 0 retries, model: Auth: failed
        Quota: 0 retries, model: Quota: failed
        TooLarge: 0 retries, model: TooLarge: failed
        Empty: 0 retries, model: Empty: failed
        Panicked: 0 retries, model: Panicked: failed
        Unknown: 0 retries, model: Unknown: failed
    "#]]
    .assert_eq(&all);
}

#[test]
fn c_m05_so_many_attempts() {
    for attempts in [1, 2, 10] {
        let mut turn = Driven::new(with_attempts(attempts));
        assert_eq!(exhaust(&mut turn, Failure::ServerError), attempts - 1, "1 = no retry");
        let counts: Vec<_> = turn.waits().iter().map(|(next, max, _)| (*next, *max)).collect();
        let want: Vec<_> = (1..attempts).map(|n| (n, attempts - 1)).collect();
        assert_eq!(counts, want);
        let serials: Vec<_> = turn.requested().iter().map(|attempt| attempt.serial).collect();
        assert_eq!(serials, (1..=attempts).collect::<Vec<_>>(), "M02: never used again");
        assert_eq!(turn.discarded(), turn.requested(), "M02: each is announced as void, once");
        assert!(matches!(failed(&turn), TurnError::Model { attempt, .. } if attempt.serial == attempts));
    }
    assert_eq!(Config::default().retry.attempts, 10);
}

#[test]
fn c_m05_waits_double_up_to_the_cap_and_are_drawn_the_same_again() {
    let waits = |seed| {
        let retry = Retry { attempts: 12, seed, ..Retry::default() };
        let mut turn = Driven::new(Config { retry, ..Config::default() });
        exhaust(&mut turn, Failure::Timeout);
        let waits: Vec<_> = turn.waits().iter().map(|(.., delay)| *delay).collect();
        assert_eq!(turn.backoffs(), waits, "M07: what is told is what is waited");
        waits
    };
    for (delay, n) in waits(0).into_iter().zip(0u32..) {
        let plain = (500 << n).min(32_000);
        assert!((plain..=plain + plain / 4).contains(&delay), "{n}: {delay}");
    }
    assert_eq!(waits(1), waits(1));
    assert_ne!(waits(1), waits(2));
    expect!["[595, 1127, 2493, 4210, 9946, 18523, 37404, 33200, 34924, 36622, 35209]"]
        .assert_eq(&format!("{:?}", waits(0)));
}

#[test]
fn c_m06_a_servers_wish_replaces_the_wait() {
    let cap = Retry::default().retry_after_cap_ms;
    let wish =
        |ms| ModelError { retry_after_ms: Some(ms), ..ModelError::new(Failure::RateLimit, "slow down") };
    for ms in [0, 1, 70_000, cap] {
        let mut turn = Driven::default_turn();
        turn.fail(wish(ms));
        assert_eq!((turn.waits(), turn.backoffs()), (vec![(1, 9, ms)], vec![ms]));
    }
    let mut turn = Driven::default_turn();
    turn.fail(wish(cap + 1));
    assert!(
        matches!(failed(&turn), TurnError::RateLimited { retry_after_ms, .. } if *retry_after_ms == cap + 1)
    );
    assert_eq!((turn.waits(), turn.backoffs()), (vec![], vec![]), "neither sleeps nor hammers");
    // A wish makes nothing retryable.
    let mut turn = Driven::default_turn();
    turn.fail(ModelError { retry_after_ms: Some(1), ..ModelError::new(Failure::Quota, "none left") });
    assert!(matches!(failed(&turn), TurnError::Model { .. }));
}

#[test]
fn c_m07_the_wait_is_told_first_and_an_abort_ends_it() {
    let mut turn = Driven::default_turn();
    turn.fail_with(Failure::Timeout);
    let told = turn.pick(|signal| match signal {
        Signal::Report(Report::Retrying { failed, .. }) => Some(format!("retrying {failed}")),
        Signal::Ask(Question::Timer { timer: Timer::Backoff(step), .. }) => Some(format!("timer {step}")),
        _ => None,
    });
    assert_eq!(told, ["retrying 1.1.1.1", "timer 1.1.1"]);
    let at = turn.signals.len();
    turn.abort();
    let timer = Subject::Timer(Timer::Backoff(TURN.step(1)));
    assert!(turn.signals[at..].contains(&Signal::Withdraw(timer)), "no timer is left");
    assert!(turn.ended().is_some());
    assert_eq!(turn.on(&Event::BackoffOver), Step::Ignored);
}

fn recovering() -> Driven {
    Driven::new(asking(true, false, false))
}

#[test]
fn c_m03_recovery_then_retry_then_the_end() {
    let mut turn = recovering();
    for n in 1..10 {
        turn.fail_with(Failure::ServerError);
        assert_eq!(turn.leaf(), "Recovering", "{n}");
        turn.recover(Recovery::Decline);
        assert_eq!(turn.leaf(), "Backoff", "{n}");
        turn.on(&Event::BackoffOver);
    }
    turn.fail_with(Failure::ServerError);
    turn.recover(Recovery::Decline);
    assert!(matches!(failed(&turn), TurnError::Model { .. }));
    assert_eq!(turn.recover_asked().len(), 10);
    // What is not retryable goes there too.
    let mut turn = recovering();
    turn.fail_with(Failure::Auth);
    turn.recover(Recovery::Decline);
    assert!(matches!(failed(&turn), TurnError::Model { .. }));
}

#[test]
fn c_m08_a_recovery_asks_again_now_and_starts_the_count_again() {
    let mut turn = Driven::new(Config {
        retry: Retry { attempts: 2, ..Retry::default() },
        ..asking(true, false, false)
    });
    turn.fail_with(Failure::Timeout);
    turn.recover(Recovery::Decline);
    turn.on(&Event::BackoffOver);
    turn.fail_with(Failure::Timeout); // the last attempt there was
    turn.recover(retry("refresh", false));
    assert_eq!((turn.leaf(), turn.waits().len()), ("Requesting", 1), "now, without a wait");
    turn.fail_with(Failure::Timeout);
    turn.recover(Recovery::Decline);
    assert_eq!(turn.leaf(), "Backoff", "the count started again");
    let remedied = turn.reported(|report| match report {
        Report::Remedied { attempt, strategy, .. } => Some(format!("{attempt} {strategy}")),
        _ => None,
    });
    assert_eq!(remedied, ["1.1.1.2 refresh"]);
    assert_eq!(turn.requested().len(), 3);
}

#[test]
fn c_m08_the_host_is_told_what_was_tried() {
    let mut turn = recovering();
    for strategy in ["a", "b", "a"] {
        turn.fail_with(Failure::InvalidRequest);
        turn.recover(retry(strategy, true));
    }
    turn.fail_with(Failure::InvalidRequest);
    let asked = turn.recover_asked();
    let tried: Vec<_> = asked.iter().map(|(attempt, tried)| (attempt.serial, tried.join(","))).collect();
    assert_eq!(tried, [(1, "".into()), (2, "a".into()), (3, "a,b".into()), (4, "a,b".to_owned())]);
    // In this step: the next one starts afresh.
    turn.recover(retry("c", true));
    turn.calls(Finish::ToolUse);
    turn.fail_with(Failure::InvalidRequest);
    assert_eq!(
        turn.recover_asked().last().map(|(attempt, tried)| (*attempt, tried.len())),
        Some((attempt(2, 1), 0))
    );
}

#[test]
fn c_m08_a_strategy_without_progress_is_used_once_per_step() {
    let mut turn = recovering();
    turn.fail_with(Failure::Auth);
    turn.recover(retry("a", false));
    assert_eq!(turn.leaf(), "Requesting");
    turn.fail_with(Failure::Auth);
    turn.recover(retry("b", false));
    assert_eq!(turn.leaf(), "Requesting", "another one");
    turn.fail_with(Failure::Auth);
    turn.recover(retry("a", false));
    assert!(matches!(failed(&turn), TurnError::Model { .. }), "the cascade goes on");
    // What made progress before is not used up.
    let mut turn = recovering();
    for (progress, goes_on) in [(true, true), (false, true), (true, true), (false, false)] {
        turn.fail_with(Failure::Auth);
        turn.recover(retry("a", progress));
        assert_eq!(turn.leaf() == "Requesting", goes_on);
    }
    // With progress it may be used again.
    let mut turn = recovering();
    for _ in 0..5 {
        turn.fail_with(Failure::Auth);
        turn.recover(retry("a", true));
    }
    assert_eq!(turn.ended(), None);
}

#[test]
fn c_m08_at_most_so_many_recoveries_per_step() {
    for limit in [0, 1, 8] {
        let limits = TurnLimits { recoveries: limit, ..TurnLimits::default() };
        let mut turn = Driven::new(Config { turn: limits, ..asking(true, false, false) });
        for _ in 0..limit {
            turn.fail_with(Failure::Auth);
            turn.recover(retry("a", true));
        }
        turn.fail_with(Failure::Auth);
        assert_eq!(turn.recover_asked().len(), limit as usize);
        assert!(matches!(failed(&turn), TurnError::Model { .. }));
    }
    assert_eq!(TurnLimits::default().recoveries, 8);
}

#[test]
fn c_m08_a_recovery_may_end_the_turn_with_its_own_error() {
    let mut turn = recovering();
    turn.fail_with(Failure::Timeout);
    turn.recover(Recovery::End(Arc::new(ModelError::new(Failure::Quota, "its own"))));
    assert!(matches!(failed(&turn), TurnError::Model { error, .. } if *error.message == *"its own"));
    assert_eq!(turn.discarded(), [attempt(1, 1)]);
}

#[test]
fn c_m08_a_broken_recovery_declines() {
    let mut turn = recovering();
    turn.fail_with(Failure::Timeout);
    turn.on(&Event::HookFailed(HookError::new(HookFailure::TimedOut, "slow")));
    assert_eq!(turn.leaf(), "Backoff");
    let told = turn.reported(|report| match report {
        Report::HookFailed { question, .. } => Some(question.to_string()),
        _ => None,
    });
    assert_eq!(told, ["Recover"]);
}

#[test]
fn c_m08_an_override_holds_for_the_step_or_the_turn() {
    for for_turn in [false, true] {
        let instead = Some(Proceed { system: Some("other".into()), ..Proceed::default() });
        let mut turn = recovering();
        turn.fail_with(Failure::InvalidRequest);
        turn.recover(Recovery::Retry(Arc::new(Remedy { instead, for_turn, ..remedy("smaller", true) })));
        assert_eq!(&*turn.data().head.system, "other");
        turn.calls(Finish::ToolUse);
        assert_eq!(&*turn.data().head.system, if for_turn { "other" } else { "" });
    }
}

/// A strategy that is used up changes nothing; what a later override leaves out stays as an earlier one set it.
#[test]
fn c_m08_overrides_add_up() {
    let mut turn = recovering();
    let steps = [
        ("a", Proceed { system: Some("one".into()), ..Proceed::default() }),
        ("b", Proceed { tools: Some(Arc::from([])), ..Proceed::default() }),
        ("a", Proceed { system: Some("two".into()), ..Proceed::default() }),
    ];
    for (strategy, instead) in steps {
        turn.fail_with(Failure::Timeout);
        let instead = Some(instead);
        turn.recover(Recovery::Retry(Arc::new(Remedy {
            instead,
            for_turn: true,
            ..remedy(strategy, false)
        })));
        if turn.leaf() == "Backoff" {
            turn.on(&Event::BackoffOver);
        }
    }
    turn.calls(Finish::ToolUse);
    assert_eq!(&*turn.data().head.system, "one", "of the next step");
}

#[test]
fn c_m14_the_requests_id_is_told_wherever_it_came_from() {
    let by_error = Some("e".into());
    for (piece, want) in [(None, "e"), (Some("p".into()), "p")] {
        let mut turn = Driven::default_turn();
        turn.model(machine_core::response::ModelEvent::Started { request_id: piece });
        turn.fail(ModelError { request_id: by_error.clone(), ..ModelError::new(Failure::Timeout, "x") });
        let told = turn.reported(|report| match report {
            Report::AttemptEnded { request_id, .. } => request_id.as_deref(),
            _ => None,
        });
        assert_eq!(told, [want]);
    }
}

#[test]
fn c_m09_an_overflow_is_never_retried_as_it_is() {
    // Without a recovery, and with one that declines.
    let mut turn = Driven::default_turn();
    assert_eq!(exhaust(&mut turn, Failure::ContextOverflow), 0);
    let mut turn = recovering();
    turn.fail_with(Failure::ContextOverflow);
    turn.recover(Recovery::Decline);
    assert!(matches!(failed(&turn), TurnError::ContextOverflow { .. }));
    assert_eq!((turn.waits(), turn.requested().len()), (vec![], 1));
}

/// It is not sent again as it is: the host is asked for something else, at once.
#[test]
fn c_m09_compaction_without_progress_so_many_times() {
    for limit in [1, 2, 3u32] {
        let limits = TurnLimits { compactions: limit, ..TurnLimits::default() };
        let mut turn = Driven::new(Config { turn: limits, ..asking(true, false, false) });
        // Progress does not count.
        turn.fail_with(Failure::ContextOverflow);
        turn.recover(retry("compact", true));
        turn.fail_with(Failure::ContextOverflow);
        for (n, strategy) in (1..=limit).zip(["a", "b", "c"]) {
            assert_eq!(turn.leaf(), "Recovering", "{n} of {limit}");
            turn.recover(retry(strategy, false));
        }
        assert!(matches!(failed(&turn), TurnError::ContextOverflow { .. }));
        assert_eq!((turn.requested().len(), turn.recover_asked().len()), (2, 1 + limit as usize));
    }
    assert_eq!(TurnLimits::default().compactions, 2);
}

#[test]
fn c_m09_another_request_is_not_the_same_again() {
    let mut turn = recovering();
    for strategy in ["a", "b", "c"] {
        turn.fail_with(Failure::ContextOverflow);
        let instead = Some(Proceed { system: Some(strategy.into()), ..Proceed::default() });
        turn.recover(Recovery::Retry(Arc::new(Remedy { instead, ..remedy(strategy, false) })));
        assert_eq!(turn.leaf(), "Requesting", "{strategy}");
    }
}

#[test]
fn c_m09_progress_counts_also_when_no_futile_one_is_allowed() {
    let limits = TurnLimits { compactions: 0, ..TurnLimits::default() };
    let mut turn = Driven::new(Config { turn: limits, ..asking(true, false, false) });
    turn.fail_with(Failure::ContextOverflow);
    turn.recover(retry("compact", true));
    assert_eq!(turn.leaf(), "Requesting");
    turn.fail_with(Failure::ContextOverflow);
    turn.recover(retry("other", false));
    assert!(matches!(failed(&turn), TurnError::ContextOverflow { .. }));
}

/// Futile ones are recoveries too, and there are at most so many of these.
#[test]
fn c_m09_futile_recoveries_are_bounded_twice() {
    let limits = TurnLimits { compactions: 9, recoveries: 2, ..TurnLimits::default() };
    let mut turn = Driven::new(Config { turn: limits, ..asking(true, false, false) });
    turn.fail_with(Failure::ContextOverflow);
    turn.recover(retry("a", false));
    turn.recover(retry("b", false));
    assert!(matches!(failed(&turn), TurnError::ContextOverflow { .. }));
}

/// M10: one gate and one bracket a step, however many attempts it takes.
#[test]
fn c_m10_a_gate_is_asked_once_per_step() {
    let mut turn = Driven::new(asking(true, true, false));
    assert_eq!(turn.leaf(), "Gating");
    turn.on(&Event::Gated(machine_core::ask::Gated::Proceed(Arc::default())));
    for recovery in [Recovery::Decline, retry("a", true)] {
        turn.fail_with(Failure::Timeout);
        turn.recover(recovery);
        turn.on(&Event::BackoffOver);
        assert_eq!(turn.leaf(), "Requesting");
    }
    assert_eq!(turn.count(|signal| matches!(signal, Signal::Ask(Question::Gate { .. }))), 1);
    assert_eq!(turn.count(|signal| matches!(signal, Signal::Report(Report::StepStarted { .. }))), 1);
}
