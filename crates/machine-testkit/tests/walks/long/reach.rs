//! What long runs reach: without it, that they keep the properties says nothing.
use std::collections::BTreeSet;
use std::fmt;

use machine_core::ask::Prepared;
use machine_core::event::{EndReason, Event, Receipt};
use machine_core::outcome::Outcome;
use machine_testkit::engine::long::{LongRun, Settings, Tools};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::{INPUTS, begin, picks};

/// Events, outcomes, ends of turns, origins of entries and receipts that runs must bring.
const EVERYTHING: &str = "
ApprovalAnswered ApprovalAsked AttemptDiscarded AttemptEnded AttemptStarted BackgroundEnded CallAnnounced CallDetached
CallSettled CallStarted Closed Committed Configured Delta EditRefused Edited Held HookFailed HookOverruled HookTextCut
LateResult MaintenanceEnded MaintenanceStarted Paused Progress Receipt Recovered Released Remedied Replaced Resumed
Retrying StepEnded StepStarted TurnEnded TurnStarted TurnWaits dropped-Aborted dropped-Blocked
dropped-ScreenFailed dropped-Superseded end-aborted end-blocked end-budget_limit end-completed end-failed end-filtered
end-interrupted end-max_tokens end-other end-paused end-repeat_limit end-step_limit end-suspended error-BadJson
error-Failed error-HookFailed error-IllegalName error-InvalidArguments error-MalformedResult error-NoResult
error-Panicked error-UnknownTool error-Withheld failed-ContextOverflow failed-EmptyResponse failed-FatalCall
failed-Gate failed-Model failed-RateLimited from-AbortMarker from-BackgroundEnd from-Deliver from-Gate from-LateResult
from-Model from-Notification from-Prompt from-Reminder from-Salvaged from-StopHook from-Tool outcome-Cancelled
outcome-Denied outcome-Ok outcome-TimedOut outcome-Unknown receipt-Accepted receipt-Dropped receipt-Held
receipt-Returned receipt-Steered receipt-Taken receipt-TurnEnded skip-Abort skip-ApprovalExpired skip-BatchStopped
skip-Budget skip-Busy skip-Crash skip-Filtered skip-Hook skip-Limit skip-Other skip-Repeat skip-SiblingFatal skip-Steer
skip-Suspended skip-Truncated";

/// What runs reach: without it the properties say nothing of it. A list of names per kind, and the largest numbers.
#[derive(Default)]
struct Reached {
    names: BTreeSet<String>,
    inputs: usize,
    calls: u32,
    steps: u32,
}

impl Reached {
    fn see(&mut self, event: &Event) {
        let name = |value: &dyn fmt::Debug| {
            let text = format!("{value:?}");
            text.split([' ', '(', '{']).next().unwrap_or_default().to_owned()
        };
        self.names.insert(name(event));
        match event {
            Event::CallSettled { outcome: Outcome::NotStarted { code }, .. } => {
                self.names.insert(format!("skip-{code:?}"));
            }
            Event::CallSettled { outcome: Outcome::Error { code }, .. } => {
                self.names.insert(format!("error-{code:?}"));
            }
            Event::CallSettled { outcome, .. } => {
                self.names.insert(format!("outcome-{}", name(outcome)));
            }
            Event::TurnEnded(end) => {
                self.names.insert(format!("end-{}", end.reason.name()));
                if let EndReason::Failed(error) = &end.reason {
                    self.names.insert(format!("failed-{}", name(error)));
                }
                self.steps = self.steps.max(end.steps);
            }
            Event::CallAnnounced { call, .. } => self.calls = self.calls.max(call.index + 1),
            Event::Committed { entry, .. } => {
                self.names.insert(format!("from-{}", name(&entry.origin)));
            }
            Event::Receipt { receipt, .. } => {
                self.names.insert(format!("receipt-{}", name(receipt)));
                if let Receipt::Dropped(why) = receipt {
                    self.names.insert(format!("dropped-{}", name(why)));
                }
            }
            _ => {}
        }
    }
}

#[test]
fn long_runs_reach_everything() {
    let mut runner = TestRunner::deterministic();
    let mut reached = Reached::default();
    for _ in 0..400 {
        let picks = picks().new_tree(&mut runner).expect("picks").current();
        let (settings, mut draw) = begin(&picks);
        let mut run = LongRun::new(settings).expect("a sound start");
        for _ in 0..INPUTS {
            let Some(input) = run.next(&mut draw) else { continue };
            reached.inputs += 1;
            run.apply(&input).expect("no violation").iter().for_each(|event| reached.see(event));
        }
    }
    let Reached { names, inputs, calls, steps } = reached;
    println!("{inputs} inputs, {calls} calls in a batch, {steps} steps in a turn");
    let missing: Vec<&str> = EVERYTHING.split_whitespace().filter(|name| !names.contains(*name)).collect();
    assert!(missing.is_empty(), "no run reached {missing:?}, of {names:#?}");
    assert!(calls > 64 && steps > 12, "{calls} calls in a batch, {steps} steps in a turn");
}

#[test]
fn a_host_without_a_tool_has_no_calls() {
    let tools = Tools { calls: &[], prepare: |_, _| Prepared::UnknownTool("none".into()) };
    let mut draw = |n: usize| n - 1;
    let settings = Settings { failures: 0, ..Settings::drawn(&mut |_: usize| 0) };
    let mut run = LongRun::new(settings).expect("a sound start").with_tools(tools);
    for _ in 0..50 {
        let Some(input) = run.next(&mut draw) else { continue };
        let events = run.apply(&input).expect("sound");
        assert!(!events.iter().any(|event| matches!(event, Event::CallAnnounced { .. })), "{events:?}");
    }
}
