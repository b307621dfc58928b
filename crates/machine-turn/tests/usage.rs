//! Tokens: of every attempt, booked once; what nobody reported is counted, not taken for zero (U01, U02).
mod common;

use std::sync::Arc;

use common::*;
use machine_core::ask::{Recovery, Remedy};
use machine_core::event::Event as Report;
use machine_core::response::{Failure, Finish, Finished, ModelError, ModelEvent};
use machine_core::usage::{Usage, UsageSum};
use machine_turn::{Event, Signal};
use proptest::prelude::*;

/// How one attempt goes, with what it reports.
#[derive(Clone, Debug)]
enum Goes {
    Answers(Option<u64>),
    Calls(Option<u64>),
    IsEmpty(Option<u64>),
    Fails(Option<u64>),
    IsCut,
}

fn goes() -> impl Strategy<Value = (Vec<u64>, Goes)> {
    let known = || prop::option::of(0..1_000u64);
    let end = prop_oneof![
        1 => known().prop_map(Goes::Answers),
        4 => known().prop_map(Goes::Calls),
        1 => known().prop_map(Goes::IsEmpty),
        2 => known().prop_map(Goes::Fails),
        1 => Just(Goes::IsCut),
    ];
    (prop::collection::vec(0..1_000u64, 0..3), end)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn c_u02_the_turns_usage_is_the_sum_over_its_attempts(attempts in prop::collection::vec(goes(), 1..12)) {
        let mut turn = Driven::default_turn();
        let mut sum = UsageSum::default();
        let mut told = vec![];
        for (snapshots, goes) in &attempts {
            if turn.leaf() == "Backoff" {
                turn.on(&Event::BackoffOver);
            }
            if turn.leaf() == "Ended" {
                break;
            }
            snapshots.iter().for_each(|n| { turn.model(ModelEvent::Usage(usage(*n))); });
            // Snapshots replace each other; what the end says comes last.
            let last = snapshots.last().copied();
            let known = match goes {
                Goes::Answers(end) | Goes::Calls(end) | Goes::IsEmpty(end) | Goes::Fails(end) => end.or(last),
                Goes::IsCut => last,
            };
            let finished = |usage: Option<Usage>, finish| Event::Finished(Arc::new(Finished { usage, ..Finished::new(finish) }));
            match goes {
                Goes::Answers(end) => {
                    turn.text("x");
                    turn.on(&finished(end.map(usage), Finish::EndTurn));
                }
                Goes::Calls(end) => {
                    turn.call(0, "c");
                    turn.on(&finished(end.map(usage), Finish::ToolUse));
                    prop_assert_eq!(turn.leaf(), "Running", "U01: booked before tools run");
                }
                Goes::IsEmpty(end) => { turn.on(&finished(end.map(usage), Finish::EndTurn)); }
                Goes::Fails(end) => { turn.fail(ModelError { usage: end.map(usage), ..ModelError::new(Failure::Timeout, "x") }); }
                Goes::IsCut => { turn.abort(); }
            }
            match known {
                Some(n) => {
                    sum.known.input += n;
                    sum.known.output += 2 * n;
                    sum.known.cached += n / 2;
                }
                None => sum.unknown_attempts += 1,
            }
            told.push(known.map(usage));
            prop_assert_eq!(turn.data().usage, sum);
            if turn.leaf() == "Running" {
                turn.batch_done(None);
            }
        }
        let reported: Vec<_> = turn.attempt_ends().iter().map(|(.., usage)| *usage).collect();
        prop_assert_eq!(reported, told, "each attempt ends once, with what it cost");
        if let Some(end) = turn.ended() {
            prop_assert_eq!(end.usage, sum, "it survives failure and abort");
            prop_assert_eq!(end.usage.total(), sum.known.input + sum.known.output);
        }
    }
}

#[test]
fn c_u01_usage_is_told_before_the_response_is_committed() {
    let mut turn = Driven::default_turn();
    turn.call(0, "c");
    turn.finish(Finish::ToolUse);
    let order = turn.pick(|signal| match signal {
        Signal::Report(Report::AttemptEnded { .. }) => Some("usage"),
        Signal::Respond(_) => Some("response"),
        _ => None,
    });
    assert_eq!(order, ["usage", "response"], "T05");
}

#[test]
fn c_m08_a_recoverys_cost_is_booked() {
    let mut turn = Driven::new(asking(true, false, false));
    turn.model(ModelEvent::Usage(usage(10)));
    turn.fail_with(Failure::InvalidRequest);
    turn.recover(Recovery::Retry(Arc::new(Remedy { usage: Some(usage(5)), ..remedy("a", true) })));
    assert_eq!(
        turn.data().usage,
        UsageSum { known: Usage { input: 15, output: 30, cached: 7 }, unknown_attempts: 0 }
    );
    turn.fail_with(Failure::InvalidRequest);
    turn.recover(Recovery::Decline);
    assert_eq!(turn.ended().map(|end| end.usage.unknown_attempts), Some(1), "unknown is not zero");
}

#[test]
fn c_u02_sums_do_not_overflow() {
    let mut sum = UsageSum::default();
    let most = Usage { input: u64::MAX, output: u64::MAX, cached: u64::MAX };
    sum.book(Some(most));
    sum.book(Some(most));
    assert_eq!((sum.known, sum.total()), (most, u64::MAX));
}

#[test]
fn c_u03_usage_survives_a_crash_in_memory() {
    let mut turn = Driven::default_turn();
    turn.model(ModelEvent::Usage(usage(10)));
    turn.on(&Event::Crash { waiting: false });
    assert_eq!(turn.ended().map(|end| end.usage.known), Some(usage(10)));
}
