//! What a response means (T07 to T12).
mod common;

use common::*;
use expect_test::expect;
use machine_core::config::{Config, TurnLimits};
use machine_core::drain::Pending;
use machine_core::event::EndReason;
use machine_core::outcome::SkipCode;
use machine_core::response::{Failure, Finish, ModelEvent};
use machine_turn::Event;

/// The whole table of T08 to T11: how a response ends × what is in it.
#[test]
fn c_t11_what_a_response_means() {
    let thinking = ModelEvent::Thinking { text: "hm".into(), signature: Some("s".into()) };
    let image = ModelEvent::Media { kind: "image/png".into(), at: "x".into() };
    let call = ModelEvent::CallStart { index: 0, id: "c".into(), tool: "t".into() };
    let text = |text: &str| ModelEvent::Text(text.into());
    let contents: [(&str, Vec<ModelEvent>); 7] = [
        ("nothing", vec![]),
        ("blank", vec![text(" \n")]),
        ("thinking", vec![thinking.clone()]),
        ("text", vec![thinking.clone(), text("x")]),
        ("image", vec![image]),
        ("call", vec![call.clone()]),
        ("text, call", vec![text("x"), call]),
    ];
    let mut all = String::new();
    for finish in FINISHES {
        for (what, events) in &contents {
            let mut turn = Driven::default_turn();
            turn.stream(events);
            turn.finish(finish);
            let committed = match turn.responses()[..] {
                [response] => {
                    response.skip.map_or("committed".into(), |code| format!("committed, calls {code:?}"))
                }
                _ => "dropped".into(),
            };
            let discarded = turn.discarded().len();
            assert_eq!(
                discarded > 0,
                committed == "dropped" && turn.leaf() != "Backoff",
                "M02: {finish:?} {what}"
            );
            if turn.leaf() == "Running" {
                turn.batch_done(None);
            }
            let truncated = if turn.data().truncated { ", truncated" } else { "" };
            all += &format!("{finish:?}, {what}: {committed}; {}{truncated}\n", doing(&turn));
        }
    }
    expect![[r#"
        EndTurn, nothing: dropped; Backoff in step 1
        EndTurn, blank: dropped; Backoff in step 1
        EndTurn, thinking: dropped; Backoff in step 1
        EndTurn, text: committed; completed
        EndTurn, image: committed; completed
        EndTurn, call: committed; Requesting in step 2
        EndTurn, text, call: committed; Requesting in step 2
        ToolUse, nothing: dropped; Backoff in step 1
        ToolUse, blank: dropped; Backoff in step 1
        ToolUse, thinking: dropped; Backoff in step 1
        ToolUse, text: committed; completed
        ToolUse, image: committed; completed
        ToolUse, call: committed; Requesting in step 2
        ToolUse, text, call: committed; Requesting in step 2
        MaxTokens, nothing: dropped; max_tokens, truncated
        MaxTokens, blank: dropped; max_tokens, truncated
        MaxTokens, thinking: dropped; max_tokens, truncated
        MaxTokens, text: committed; max_tokens, truncated
        MaxTokens, image: committed; max_tokens, truncated
        MaxTokens, call: committed, calls Truncated; Requesting in step 2, truncated
        MaxTokens, text, call: committed, calls Truncated; Requesting in step 2, truncated
        Filtered, nothing: dropped; filtered
        Filtered, blank: dropped; filtered
        Filtered, thinking: dropped; filtered
        Filtered, text: committed; filtered
        Filtered, image: committed; filtered
        Filtered, call: committed, calls Filtered; filtered
        Filtered, text, call: committed, calls Filtered; filtered
        Suspended, nothing: dropped; Backoff in step 1
        Suspended, blank: dropped; Backoff in step 1
        Suspended, thinking: dropped; Backoff in step 1
        Suspended, text: committed; suspended
        Suspended, image: committed; suspended
        Suspended, call: committed, calls Suspended; Requesting in step 2
        Suspended, text, call: committed, calls Suspended; Requesting in step 2
        Other, nothing: dropped; Backoff in step 1
        Other, blank: dropped; Backoff in step 1
        Other, thinking: dropped; Backoff in step 1
        Other, text: committed; other
        Other, image: committed; other
        Other, call: committed, calls Other; Requesting in step 2
        Other, text, call: committed, calls Other; Requesting in step 2
    "#]]
    .assert_eq(&all);
}

#[test]
fn c_t09_cut_responses_with_calls_go_on_until_the_limit() {
    for (finish, code, reason) in [
        (Finish::MaxTokens, SkipCode::Truncated, "max_tokens"),
        (Finish::Suspended, SkipCode::Suspended, "suspended"),
        (Finish::Other, SkipCode::Other, "other"),
    ] {
        for limit in 1..4 {
            let turn = TurnLimits { truncated: limit, ..TurnLimits::default() };
            let mut turn = Driven::new(Config { turn, ..Config::default() });
            for n in 1..=limit {
                assert_eq!(turn.ended(), None, "{finish:?}: after {n} of {limit}");
                turn.calls(finish);
            }
            let skips: Vec<_> = turn.responses().iter().map(|response| response.skip).collect();
            assert_eq!(skips, vec![Some(code); limit as usize], "each call is announced and answered");
            assert_eq!(turn.reason().map(EndReason::name), Some(reason));
        }
    }
}

/// In a row: a whole response starts the count again, whatever kinds of cut there were.
#[test]
fn c_t09_a_whole_response_starts_the_count_again() {
    let mut turn = Driven::default_turn();
    for finish in [Finish::MaxTokens, Finish::Other, Finish::ToolUse, Finish::Suspended, Finish::MaxTokens] {
        turn.calls(finish);
        assert_eq!(turn.ended(), None);
    }
    turn.calls(Finish::Other);
    assert_eq!(turn.reason().map(EndReason::name), Some("other"));
}

#[test]
fn c_t10_max_tokens_is_sticky_and_swallows_nothing() {
    // It replaces `Completed`.
    let mut turn = Driven::default_turn();
    turn.calls(Finish::MaxTokens);
    turn.answers();
    assert_eq!(
        (turn.reason(), turn.ended().map(|end| end.truncated)),
        (Some(&EndReason::MaxTokens), Some(true))
    );
    // And only that.
    let mut turn = Driven::default_turn();
    turn.calls(Finish::MaxTokens);
    turn.abort();
    let Some(end) = turn.ended() else { panic!("aborted") };
    assert!(matches!(end.reason, EndReason::Aborted(_)) && end.truncated, "{end:?}");
    // Its calls are answered before it ends.
    let limits = TurnLimits { truncated: 1, ..TurnLimits::default() };
    let mut turn = Driven::new(Config { turn: limits, ..Config::default() });
    turn.call(0, "c");
    turn.finish(Finish::MaxTokens);
    assert_eq!((turn.leaf(), turn.responses().len()), ("Running", 1), "its results are owed");
    turn.batch_done(None);
    assert_eq!(turn.reason(), Some(&EndReason::MaxTokens));
    // Other cuts leave no trace.
    let mut turn = Driven::default_turn();
    turn.calls(Finish::Other);
    turn.answers();
    assert_eq!((turn.reason(), turn.ended().map(|end| end.truncated)), (Some(&EndReason::DONE), Some(false)));
}

#[test]
fn c_t11_empty_responses_have_a_count_of_their_own() {
    for limit in 0..4 {
        let turn = TurnLimits { empty: limit, ..TurnLimits::default() };
        let mut turn = Driven::new(Config { turn, ..asking(true, false, false) });
        for n in 1..=limit {
            turn.finish(Finish::EndTurn);
            assert_eq!((turn.leaf(), turn.data().tries.failures), ("Backoff", 0), "retries are not used up");
            assert_eq!(turn.waits().last().map(|wait| (wait.0, wait.1)), Some((n, limit)));
            turn.on(&Event::BackoffOver);
        }
        turn.finish(Finish::EndTurn);
        let tries = limit + 1;
        assert_eq!(doing(&turn), format!("failed: the model answered with nothing {tries} times"));
        assert_eq!(turn.ended().map(|end| end.steps), Some(0), "no response");
        assert_eq!(turn.requested().len(), tries as usize);
        assert_eq!(turn.responses().len(), 0, "no empty message enters history");
        assert_eq!(turn.recover_asked(), [], "M03: nobody is asked about it");
        assert_eq!(turn.discarded().len(), tries as usize);
    }
    // Per step.
    let mut turn = Driven::default_turn();
    for _ in 0..3 {
        for _ in 0..2 {
            turn.finish(Finish::EndTurn);
            turn.on(&Event::BackoffOver);
        }
        turn.calls(Finish::ToolUse);
    }
    assert_eq!(turn.ended(), None);
}

#[test]
fn c_t12_so_many_responses_and_no_more() {
    for max in 0..4u32 {
        let mut turn = Driven::new(limited(Some(max), false));
        for n in 1..=max {
            assert_eq!(turn.ended(), None, "step {n} of {max}");
            // Attempts do not count.
            turn.fail_with(Failure::Timeout);
            turn.on(&Event::BackoffOver);
            turn.calls(Finish::ToolUse);
        }
        let Some(end) = turn.ended() else { panic!("it ends at {max}") };
        assert_eq!((&end.reason, end.steps), (&EndReason::StepLimit, max));
        assert_eq!(turn.requested().len(), 2 * max as usize, "0 makes no request");
        assert_eq!(turn.responses().len(), max as usize, "the batch of the last step still runs");
    }
    let mut turn = Driven::new(limited(None, false));
    (0..200).for_each(|_| turn.calls(Finish::ToolUse));
    assert_eq!(turn.ended(), None, "unset is unlimited");
}

#[test]
fn c_t12_only_a_steered_prompt_starts_the_budget_again() {
    for (pending, want) in [
        (Pending { steered: true, ..Pending::default() }, None),
        (Pending { outside: true, ..Pending::default() }, Some("step_limit")),
        (Pending { inside: true, ..Pending::default() }, Some("step_limit")),
    ] {
        let mut turn = Driven::new(limited(Some(2), false));
        turn.pending = pending;
        turn.calls(Finish::ToolUse); // the first of two; a steered prompt starts again
        turn.calls(Finish::ToolUse);
        assert_eq!(turn.reason().map(EndReason::name), want, "{pending:?}");
    }
    let mut turn = Driven::new(limited(Some(1), false));
    for _ in 0..5 {
        turn.pending.steered = true;
        turn.calls(Finish::ToolUse);
        assert_eq!(turn.ended(), None);
    }
    turn.calls(Finish::ToolUse);
    assert_eq!(turn.ended().map(|end| (end.steps, end.reason.name())), Some((6, "step_limit")));
}
