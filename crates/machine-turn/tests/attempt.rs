//! What an attempt accumulates of a model's stream (M01, M02, M11, M12).
#![expect(clippy::panic, reason = "a test may also fail in a helper")]
mod common;
mod words;

use common::*;
use machine_core::config::{Config, TurnLimits};
use machine_core::event::{AttemptEnd, EndReason, Event as Report};
use machine_core::machine::Step;
use machine_core::message::Part;
use machine_core::response::{Failure, Finish, ModelEvent};
use machine_turn::{Event, Signal};
use words::*;

#[test]
fn c_m01_pieces_of_several_calls_interleave() {
    let events = [
        start(0, "a"),
        start(1, "b"),
        args(Some(0), "{\"x\""),
        args(Some(1), "{\"y\""),
        args(Some(0), ":1}"),
        args(Some(1), ":2}"),
    ];
    assert_eq!(response(&events), ["call a t {\"x\":1}", "call b t {\"y\":2}"]);
}

#[test]
fn c_m01_a_used_index_with_a_new_id_opens_a_new_call() {
    let events = [start(0, "a"), args(Some(0), "1"), start(0, "b"), args(Some(0), "2"), args(None, "3")];
    assert_eq!(response(&events), ["call a t 1", "call b t 23"]);
}

#[test]
fn c_m01_a_repeated_start_is_ignored() {
    let repeats = [start(0, "a"), start(0, ""), start(0, "a")];
    for repeat in repeats {
        let events = [start(0, "a"), args(Some(0), "1"), repeat, args(Some(0), "2")];
        assert_eq!(response(&events), ["call a t 12"]);
    }
    // A first start without an id, then its repeat.
    assert_eq!(response(&[start(0, ""), start(0, ""), args(None, "1")]), ["call  t 1"]);
    // An id that comes later is a new call: it differs from that index's id.
    assert_eq!(response(&[start(0, ""), start(0, "a")]), ["call  t ", "call a t "]);
}

#[test]
fn c_m01_arguments_without_a_known_index_go_to_the_last_opened_call() {
    let events = [
        start(0, "a"),
        start(5, "b"),
        args(None, "1"),
        args(Some(9), "2"),
        args(Some(0), "3"),
        args(None, "4"),
    ];
    assert_eq!(response(&events), ["call a t 3", "call b t 124"]);
}

#[test]
fn c_m01_arguments_without_a_call_are_stray() {
    let mut turn = Driven::default_turn();
    turn.now = 7;
    for index in [None, Some(0)] {
        assert_eq!(turn.model(args(index, "{}")), Step::Ignored, "requesting");
    }
    assert_eq!(turn.leaf(), "Requesting");
    turn.text("x");
    turn.now = 9;
    assert_eq!(turn.model(args(Some(0), "{}")), Step::Ignored, "receiving; and it is not heard of (M13)");
    assert_eq!(turn.count(|signal| matches!(signal, Signal::Report(Report::Delta { .. }))), 1);
}

#[test]
fn c_m01_text_runs_merge_thinking_merges_until_signed() {
    let events = [
        thinking("a", None),
        thinking("b", Some("s")),
        thinking("c", None),
        text("d"),
        text("e"),
        thinking("f", None),
        ModelEvent::Usage(usage(1)),
        ModelEvent::MessageId("m".into()),
        thinking("g", None),
        start(0, "x"),
        text("h"),
        args(Some(0), "{}"),
        text("i"),
        ModelEvent::Media { kind: "image/png".into(), at: "1".into() },
        ModelEvent::Media { kind: "image/png".into(), at: "2".into() },
    ];
    let want = [
        "thinking ab signed s",
        "thinking c",
        "text de",
        "thinking fg",
        "call x t {}",
        "text hi",
        "media image/png 1",
        "media image/png 2",
    ];
    assert_eq!(response(&events), want);
}

#[test]
fn c_m01_an_empty_piece_says_nothing() {
    let events =
        [thinking("a", None), text(""), thinking("b", Some("s")), text("x"), thinking("", None), text("y")];
    assert_eq!(response(&events), ["thinking ab signed s", "text xy"]);
}

#[test]
fn c_a24_arguments_over_the_limit_are_cut_and_marked() {
    let turn = TurnLimits { argument_bytes: 4, ..TurnLimits::default() };
    let mut turn = Driven::new(Config { turn, ..Config::default() });
    turn.call(0, "a");
    turn.call(1, "b");
    for piece in ["12", "34", "5", "6"] {
        turn.model(args(Some(0), piece));
        turn.model(args(Some(1), &piece[..1]));
    }
    turn.finish(Finish::ToolUse);
    assert_eq!(shown(&turn.responses()[0].blocks), ["call a t 1234 too long", "call b t 1356"]);
}

#[test]
fn c_a24_a_response_over_the_limit_fails() {
    let limits = TurnLimits { response_bytes: 4, ..TurnLimits::default() };
    let config = || Config { turn: limits, ..Config::default() };
    let media = |kind: &str, at: &str| ModelEvent::Media { kind: kind.into(), at: at.into() };
    let fits =
        [text("1234"), thinking("1234", None), thinking("12", Some("3")), media("1", "23"), start(0, "12")];
    for event in fits {
        let mut turn = Driven::new(config());
        turn.model(event.clone());
        assert_eq!(turn.leaf(), "Receiving", "{event:?}");
        turn.model(text("5"));
        let ended = turn.reason();
        let Some(EndReason::Failed(error)) = ended else { panic!("{ended:?}") };
        assert!(error.to_string().contains("TooLarge"), "{error}");
        assert_eq!(turn.discarded(), [attempt(1, 1)]);
    }
}

/// What takes room is counted, also if there is nothing in it; what takes none is not.
#[test]
fn c_a24_nothing_is_for_free() {
    let limits = TurnLimits { response_bytes: 4, ..TurnLimits::default() };
    let config = || Config { turn: limits, ..Config::default() };
    let call = |index| ModelEvent::CallStart { index, id: "".into(), tool: "".into() };
    let room: [&dyn Fn(u32) -> ModelEvent; 3] =
        [&call, &|_| thinking("", Some("")), &|_| ModelEvent::Media { kind: "".into(), at: "".into() }];
    for event in room {
        let mut turn = Driven::new(config());
        (0..4).for_each(|n| assert_ne!(turn.model(event(n)), Step::Ignored));
        assert_eq!(turn.leaf(), "Receiving", "{:?}", event(0));
        turn.model(event(4));
        assert!(matches!(turn.reason(), Some(EndReason::Failed(_))), "{:?}", event(0));
    }
    for event in [text(""), thinking("", None)] {
        let mut turn = Driven::new(config());
        (0..9).for_each(|_| assert_ne!(turn.model(event.clone()), Step::Ignored));
        turn.text("1234");
        turn.finish(Finish::EndTurn);
        assert_eq!(shown(&turn.responses()[0].blocks), ["text 1234"]);
    }
}

/// M02: what a failed attempt streamed is gone with it, and its events say so.
#[test]
fn c_m02_a_failed_attempt_leaves_nothing() {
    let mut turn = Driven::default_turn();
    turn.text("old");
    turn.call(0, "a");
    turn.fail_with(Failure::StreamCut);
    assert_eq!(turn.leaf(), "Backoff");
    // It cannot grow while it waits (M02, M12).
    for event in [text("more"), start(1, "b"), args(None, "1"), ModelEvent::Usage(usage(3))] {
        assert_eq!(turn.model(event), Step::Ignored);
    }
    assert_eq!(turn.finish(Finish::EndTurn), Step::Ignored);
    assert_eq!(turn.discarded(), [], "it may still be salvaged");
    turn.on(&Event::BackoffOver);
    assert_eq!(turn.discarded(), [attempt(1, 1)]);
    turn.text("new");
    turn.finish(Finish::EndTurn);
    assert_eq!(shown(&turn.responses()[0].blocks), ["text new"]);
    assert_eq!(turn.requested(), [attempt(1, 1), attempt(1, 2)], "M02: a serial is never used again");
}

/// M11: visible text so far is kept, in one entry; nothing else is.
#[test]
fn c_m11_an_abort_keeps_visible_text() {
    let salvage = |events: &[ModelEvent], fails: bool| {
        let mut turn = Driven::default_turn();
        turn.stream(events);
        if fails {
            turn.fail_with(Failure::StreamCut);
        }
        turn.abort();
        assert!(matches!(turn.reason(), Some(EndReason::Aborted(_))));
        let kept = turn.signals.iter().find_map(|signal| match signal {
            Signal::Salvage(content) => Some(content.clone()),
            _ => None,
        });
        assert_eq!(kept.is_none(), turn.discarded() == [attempt(1, 1)], "M02: kept, or void");
        assert_eq!(turn.responses().len(), 0);
        kept.map(|content| content.to_vec())
    };
    let all = [
        thinking("t", Some("s")),
        text("a"),
        start(0, "c"),
        args(Some(0), "{}"),
        text("b"),
        ModelEvent::Media { kind: "k".into(), at: "x".into() },
    ];
    for fails in [false, true] {
        assert_eq!(salvage(&all, fails), Some(vec![Part::text("a"), Part::text("b")]));
        assert_eq!(salvage(&all[..1], fails), None);
        assert_eq!(salvage(&[text(" \n"), start(0, "c")], fails), None);
        assert_eq!(salvage(&[], fails), None);
    }
}

#[test]
fn c_m13_silence_is_a_failure() {
    let mut turn = Driven::default_turn();
    let idle = turn.config.turn.stream_idle_ms;
    turn.now = 1_000;
    turn.text("x");
    turn.now = idle;
    assert_eq!(turn.on(&Event::IdleOver), Step::Handled, "it was heard of at 1,000");
    let rest = turn.signals.iter().rev().find_map(|signal| match signal {
        Signal::Ask(machine_core::ask::Question::Timer { ms, .. }) => Some(*ms),
        _ => None,
    });
    assert_eq!(rest, Some(1_000));
    turn.now = idle + 1_000;
    turn.on(&Event::IdleOver);
    assert_eq!(turn.leaf(), "Backoff");
    let ends = turn.attempt_ends();
    let (_, AttemptEnd::Failed(error), _) = ends[0] else { panic!("{ends:?}") };
    assert_eq!(error.kind, Failure::Timeout);
}
