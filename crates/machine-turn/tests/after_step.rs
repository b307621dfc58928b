//! What a response means, and what comes after a step (T07 to T13, T15 to T17).
#![expect(clippy::panic, reason = "a test may also fail in a helper")]
mod common;

use std::sync::Arc;

use common::*;
use expect_test::expect;
use machine_core::ask::{HookError, HookFailure, Question, StopVerdict};
use machine_core::drain::Pending;
use machine_core::event::{EndReason, Event as Report, Sealed};
use machine_core::response::Finish;
use machine_turn::{Event, Signal};
use proptest::prelude::*;

/// What the last response was.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Last {
    Calls,
    Final,
    Filtered,
}

/// One row of T13.
#[derive(Clone, Debug)]
struct Case {
    last: Last,
    stopped: bool,
    pending: Pending,
    at_limit: bool,
    truncated: bool,
    stop_hook: bool,
}

impl Case {
    fn all() -> Vec<Self> {
        let mut all = vec![];
        for last in [Last::Calls, Last::Final, Last::Filtered] {
            for bits in 0..512u32 {
                let bit = |n: u32| bits & (1 << n) != 0;
                let wait_ms = if bit(8) { 50 } else { 0 };
                let pending =
                    Pending { paused: bit(0), steered: bit(1), outside: bit(2), inside: bit(3), wait_ms };
                let case = Self {
                    last,
                    stopped: bit(4),
                    pending,
                    at_limit: bit(5),
                    truncated: bit(6),
                    stop_hook: bit(7),
                };
                if !case.stopped || last == Last::Calls {
                    all.push(case);
                }
            }
        }
        all
    }

    /// Drives a turn to the decision.
    fn run(&self) -> String {
        let steps = 1 + u32::from(self.truncated);
        let mut turn = Driven::new(limited(self.at_limit.then_some(steps), self.stop_hook));
        if self.truncated {
            turn.calls(Finish::MaxTokens);
            assert_eq!(turn.leaf(), "Requesting");
        }
        turn.pending = self.pending;
        match self.last {
            Last::Calls => {
                turn.call(0, "c");
                turn.finish(Finish::ToolUse);
                turn.batch_done(self.stopped.then(|| (call_id(0), "enough".into())));
            }
            Last::Final => turn.answers(),
            Last::Filtered => {
                turn.text("x");
                turn.finish(Finish::Filtered);
            }
        }
        let drains = turn.count(|signal| matches!(signal, Signal::Drain));
        let drained = drains - usize::from(self.truncated);
        assert_eq!(
            drained == 1,
            turn.leaf() == "Requesting",
            "T14: what waits goes in with the next step only"
        );
        match turn.leaf() {
            "Requesting" => "step".into(),
            "Stopping" => "consult".into(),
            "Waiting" => "wait".into(),
            _ => doing(&turn),
        }
    }

    /// By T13, row after row: the first that holds decides.
    fn wanted(&self) -> &'static str {
        let done = if self.truncated { "max_tokens" } else { "completed" };
        let stopped = if self.truncated { "max_tokens" } else { "stopped by 1.1.1.0: enough" };
        let Pending { paused, steered, outside, inside, wait_ms } = self.pending;
        match self.last {
            Last::Calls if paused => "paused",
            Last::Final if paused => done,
            Last::Filtered => "filtered",
            _ if steered => "step",
            _ if self.stopped => stopped,
            Last::Calls if self.at_limit => "step_limit",
            Last::Calls => "step",
            Last::Final if self.at_limit => done,
            Last::Final if outside || inside => "step",
            Last::Final if wait_ms > 0 => "wait",
            Last::Final if self.stop_hook => "consult",
            Last::Final => done,
        }
    }
}

#[test]
fn c_t13_the_first_row_that_holds_decides() {
    for case in Case::all() {
        assert_eq!(case.run(), case.wanted(), "{case:?}");
    }
}

/// The same as a reader would list it.
#[test]
fn c_t13_named_rows() {
    let plain = Case {
        last: Last::Calls,
        stopped: false,
        pending: Pending::default(),
        at_limit: false,
        truncated: false,
        stop_hook: true,
    };
    let answer = Case { last: Last::Final, ..plain.clone() };
    let with = |case: &Case, pending: Pending| Case { pending, ..case.clone() }.run();
    let none = Pending::default();
    let paused = Pending { paused: true, steered: true, ..none };
    let steered = Pending { steered: true, ..none };
    let outside = Pending { outside: true, ..none };
    let inside = Pending { inside: true, ..none };
    let waits = Pending { wait_ms: 50, ..none };
    let rows = [
        ("calls", with(&plain, none)),
        ("calls, paused", with(&plain, paused)),
        ("calls, stopped, steered", with(&Case { stopped: true, ..plain.clone() }, steered)),
        ("calls, stopped, notified", with(&Case { stopped: true, ..plain.clone() }, outside)),
        (
            "calls, stopped, truncated before",
            with(&Case { stopped: true, truncated: true, ..plain.clone() }, none),
        ),
        ("calls, at the limit", with(&Case { at_limit: true, ..plain.clone() }, outside)),
        ("calls, at the limit, steered", with(&Case { at_limit: true, ..plain.clone() }, steered)),
        ("answer", with(&Case { stop_hook: false, ..answer.clone() }, none)),
        ("answer, stop hook", with(&answer, none)),
        ("answer, stop hook, background call", with(&answer, waits)),
        ("answer, paused", with(&answer, paused)),
        (
            "answer, truncated before",
            with(&Case { truncated: true, stop_hook: false, ..answer.clone() }, none),
        ),
        ("answer, notified", with(&answer, outside)),
        ("answer, own message", with(&answer, inside)),
        ("answer, steered", with(&answer, steered)),
        ("answer, at the limit", with(&Case { at_limit: true, ..answer.clone() }, none)),
        ("filtered, steered", with(&Case { last: Last::Filtered, ..plain }, steered)),
    ];
    let all: Vec<_> = rows.iter().map(|(row, what)| format!("{row}: {what}\n")).collect();
    expect![[r#"
        calls: step
        calls, paused: paused
        calls, stopped, steered: step
        calls, stopped, notified: stopped by 1.1.1.0: enough
        calls, stopped, truncated before: max_tokens
        calls, at the limit: step_limit
        calls, at the limit, steered: step
        answer: completed
        answer, stop hook: consult
        answer, stop hook, background call: wait
        answer, paused: completed
        answer, truncated before: max_tokens
        answer, notified: step
        answer, own message: step
        answer, steered: step
        answer, at the limit: completed
        filtered, steered: filtered
    "#]]
    .assert_eq(&all.concat());
}

fn go_on() -> Event {
    Event::Stopped(StopVerdict::Continue(Arc::from([content("more").into()])))
}

#[test]
fn c_t16_a_stop_hook_is_overruled() {
    let mut turn = Driven::new(asking(false, false, true));
    let asked = |turn: &Driven| {
        turn.pick(|signal| match signal {
            Signal::Ask(Question::Stop { continued, .. }) => Some(*continued),
            _ => None,
        })
    };
    turn.answers();
    for n in 1..=3 {
        assert_eq!(turn.leaf(), "Stopping");
        turn.on(&go_on());
        assert_eq!(turn.data().continued, n);
        turn.calls(Finish::ToolUse); // a step with a tool does not start the count again
        turn.answers();
    }
    turn.on(&go_on());
    assert_eq!(turn.reason(), Some(&EndReason::DONE));
    assert_eq!(asked(&turn), [0, 1, 2, 3]);
    assert_eq!(turn.reported(|report| matches!(report, Report::HookOverruled { .. }).then_some(())).len(), 1);
    // Input from outside does.
    let mut turn = Driven::new(asking(false, false, true));
    for _ in 0..5 {
        turn.answers();
        turn.on(&go_on());
        turn.pending.outside = true;
        turn.answers();
        assert_eq!(turn.data().continued, 0);
    }
    assert_eq!(turn.ended(), None);
}

#[test]
fn c_t15_what_waits_is_looked_at_again_after_the_stop_hook() {
    for (event, pending) in
        [(Event::Stopped(StopVerdict::End), true), (go_on(), true), (Event::Stopped(StopVerdict::End), false)]
    {
        let mut turn = Driven::new(asking(false, false, true));
        turn.answers();
        turn.pending.outside = pending;
        turn.on(&event);
        assert_eq!(turn.leaf() == "Requesting", pending, "{event:?}");
    }
}

/// A hook that breaks, or goes on with nothing to say, is reported and is no continuation.
#[test]
fn c_t16_a_broken_stop_hook_ends_the_turn() {
    let broken = Event::HookFailed(HookError::new(HookFailure::Panicked, "oops"));
    let nothing = Event::Stopped(StopVerdict::Continue(Arc::from([])));
    let blank = Event::Stopped(StopVerdict::Continue(Arc::from([content(" \n").into()])));
    for event in [broken, nothing, blank] {
        let mut turn = Driven::new(asking(false, false, true));
        turn.answers();
        turn.on(&event);
        assert_eq!((turn.reason(), turn.data().continued), (Some(&EndReason::DONE), 0));
        let failed = turn.reported(|report| match report {
            Report::HookFailed { question, .. } => Some(question.to_string()),
            _ => None,
        });
        assert_eq!(failed, ["Stop"]);
    }
}

/// T06, T18, T20: brackets close, the end comes once, and then nothing is taken any more.
fn sound_to_the_end(mut turn: Driven) {
    let brackets = turn.reported(|report| match report {
        Report::StepStarted { step } => Some((step.step, None)),
        Report::StepEnded { step, sealed } => Some((step.step, Some(*sealed))),
        _ => None,
    });
    for pair in brackets.chunks(2) {
        let [(begun, None), (over, Some(sealed))] = pair else { panic!("T06: {brackets:?}") };
        assert_eq!(begun, over);
        let last = brackets.last().is_some_and(|(step, _)| step == over);
        assert!(last || sealed.is_none(), "T06: {brackets:?}");
    }
    let aborted = matches!(turn.reason(), Some(EndReason::Aborted(_)));
    if let Some((_, Some(Some(sealed)))) = brackets.last() {
        assert_eq!(*sealed == Sealed::Aborted, aborted, "T06");
    }
    assert!(turn.ended().is_some(), "T18: {}", turn.leaf());
    turn.text("late");
    turn.finish(Finish::EndTurn);
    turn.abort();
    for event in [
        Event::IdleOver,
        Event::BackoffOver,
        Event::BatchDone { stopped_by: None },
        Event::Hurry,
        Event::Crash { waiting: false },
        Event::Fault("x".into()),
        go_on(),
        Event::Pending(Pending::default()),
    ] {
        assert_eq!(turn.on(&event), machine_core::machine::Step::Ignored, "T20: {event:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any conversation: it is bounded by its limits, ends once, and accepts nothing afterwards.
    #[test]
    fn c_t18_every_turn_ends_once(
        moves in prop::collection::vec((0..9u8, prop::sample::select(FINISHES.to_vec())), 0..40),
        max_steps in prop::option::of(0..4u32),
        stop in any::<bool>(),
    ) {
        let mut turn = Driven::new(limited(max_steps, stop));
        for (what, finish) in moves {
            match (turn.leaf(), what) {
                ("Ended", _) => break,
                ("Running", 0) => turn.batch_done(Some((call_id(0), "enough".into()))),
                ("Running", _) => turn.batch_done(None),
                ("Stopping", 0..4) => drop(turn.on(&go_on())),
                ("Stopping", _) => drop(turn.on(&Event::Stopped(StopVerdict::End))),
                ("Backoff", _) => drop(turn.on(&Event::BackoffOver)),
                (_, 0) => turn.pending.steered = true,
                (_, 1) => turn.pending.outside = true,
                (_, 2) => drop(turn.fail_with(machine_core::response::Failure::Timeout)),
                (_, 3 | 4) => turn.call(0, "c"),
                (_, 5) => turn.text("x"),
                (_, _) => drop(turn.finish(finish)),
            }
        }
        if turn.ended().is_none() {
            turn.abort();
            if turn.leaf() == "Aborting" {
                turn.on(&Event::BatchDone { stopped_by: None });
            }
        }
        let (requested, waits) = (turn.requested().len(), turn.waits().len());
        prop_assert_eq!(turn.ended().map(|end| end.steps), Some(turn.data().responses));
        prop_assert!(requested <= turn.data().step as usize + waits, "bounded by steps and retries");
        sound_to_the_end(turn);
    }
}
