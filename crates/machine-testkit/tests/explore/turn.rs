//! The turn machine alone, every interleaving of what may come to one turn.
use machine_core::config::{AtStepLimit, Questions, Salvage, TurnLimits};
use machine_testkit::coverage::Cannot;
use machine_testkit::turn::{TurnSettings, TurnWorld};
use proptest::prelude::*;

use crate::{covered, walked};

const NO_HOOKS: Questions =
    Questions { screen: false, gate: false, recover: false, finalize: false, stop: false, timeout_ms: 0 };
const ALL_HOOKS: Questions = Questions { gate: true, recover: true, stop: true, ..NO_HOOKS };

/// Everything, but a few kinds of things at a time: together they are too many.
fn worlds() -> Vec<(&'static str, TurnSettings)> {
    let limits = TurnLimits {
        empty: 1,
        stop_hook: 1,
        recoveries: 2,
        truncated: 2,
        stream_idle_ms: 0,
        ..TurnLimits::default()
    };
    let none = TurnSettings { ask: NO_HOOKS, limits, stray: true, abort: 1, ..TurnSettings::default() };
    let hooked = TurnSettings { ask: ALL_HOOKS, refusals: true, ..none.clone() };
    let silent = TurnLimits { stream_idle_ms: 1, ..limits };
    let limited = |at_step_limit| TurnLimits { max_steps: Some(1), at_step_limit, ..limits };
    let one = TurnSettings { calls: 1, steps: 1, ..none.clone() };
    let no_empty = TurnLimits { empty: 0, ..limits };
    let stop = TurnSettings { ask: Questions { stop: true, ..NO_HOOKS }, limits: no_empty, ..one.clone() };
    let recover = TurnSettings {
        ask: Questions { recover: true, ..NO_HOOKS },
        refusals: true,
        retries: 3,
        ..none.clone()
    };
    let gone = TurnSettings { crash: 2, fault: 1, hurry: 1, limits: no_empty, ..none.clone() };
    vec![
        ("hooks", TurnSettings { retries: 1, ..hooked.clone() }),
        (
            "hooks, calls",
            TurnSettings {
                retries: 1,
                calls: 1,
                steps: 2,
                wait: 1,
                refusals: false,
                limits: TurnLimits { stream_idle_ms: 1, ..no_empty },
                ..hooked.clone()
            },
        ),
        ("retries", TurnSettings { retries: 3, usage: true, limits: silent, silence: 1, ..none.clone() }),
        ("recoveries", TurnSettings { abort: 0, limits: no_empty, ..recover.clone() }),
        (
            "recoveries, stopped",
            TurnSettings { retries: 2, usage: true, fault: 1, crash: 1, limits: no_empty, ..recover },
        ),
        (
            "calls",
            TurnSettings { calls: 2, abort: 2, hurry: 1, stop_turn: true, bad_calls: true, ..one.clone() },
        ),
        ("ends of responses", TurnSettings { finishes: true, steps: 2, limits: no_empty, ..one.clone() }),
        ("what joins", TurnSettings { steer: 1, deliver: 1, pause: 1, stop_turn: true, ..stop.clone() }),
        ("what waits", TurnSettings { notify: 1, wait: 1, ..stop.clone() }),
        (
            "at the limit",
            TurnSettings { limits: limited(AtStepLimit::End), steer: 1, notify: 1, ..one.clone() },
        ),
        (
            "a closing step",
            TurnSettings {
                limits: limited(AtStepLimit::ClosingStep),
                steer: 1,
                finishes: true,
                ..one.clone()
            },
        ),
        ("no step", TurnSettings { limits: TurnLimits { max_steps: Some(0), ..limits }, ..one.clone() }),
        ("crashes, calls", TurnSettings { calls: 1, steps: 1, bad_calls: true, abort: 2, ..gone.clone() }),
        (
            "crashes, hooks",
            TurnSettings {
                ask: ALL_HOOKS,
                wait: 1,
                retries: 1,
                limits: TurnLimits { stream_idle_ms: 1, ..no_empty },
                silence: 1,
                ..gone
            },
        ),
        (
            "too large",
            TurnSettings {
                retries: 1,
                limits: TurnLimits { response_bytes: 8, salvage: Salvage::Drop, ..limits },
                ..one
            },
        ),
    ]
}

const LEAVES: &[&str] = &[
    "Gating",
    "Requesting",
    "Receiving",
    "Recovering",
    "Backoff",
    "Running",
    "Aborting",
    "Draining",
    "Waiting",
    "Stopping",
    "Ended",
];

#[rustfmt::skip] // one row per source
const EVENTS: &[&str] = &[
    "Gated", "Recovered", "Stopped", "HookFailed",
    "Model", "Finished", "Failed",
    "IdleOver", "BackoffOver", "WaitOver",
    "BatchDone", "Repeated", "FatalCall",
    "Pending", "Stirred",
    "Abort", "Hurry", "Crash", "Fault",
];

#[rustfmt::skip] // one row per reason
const CANNOT: &[Cannot] = &[
    Cannot { leaves: "Draining", events: "all but Pending Fault", why: "it is left in the `handle` in which it is entered" },
    Cannot { leaves: "all but Running Aborting Draining", events: "BatchDone Repeated FatalCall", why: "a batch tells nothing before it begins or after it is done" },
    Cannot { leaves: "all but Draining", events: "Pending", why: "what waits is told in answer to a look" },
    Cannot { leaves: "all but Waiting Draining", events: "Stirred", why: "an adapter stirs a turn that waits" },
];

#[test]
fn every_interleaving_keeps_the_rules_and_every_event_meets_every_leaf() {
    let world = |(name, settings)| (name, TurnWorld::new(settings).expect("a sound start"));
    covered(worlds().into_iter().map(world).collect(), LEAVES, EVENTS, CANNOT);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_walks_keep_the_rules(
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..200),
        flags in any::<[bool; 8]>(),
        counts in prop::array::uniform12(0..6u32),
    ) {
        let [gate, recover, stop, refusals, finishes, usage, stop_turn, bad_calls] = flags;
        let [abort, hurry, steer, notify, deliver, pause, wait, silence, crash, calls, steps, retries] = counts;
        let limits = TurnLimits { stream_idle_ms: 1, ..TurnLimits::default() };
        let ask = Questions { gate, recover, stop, ..NO_HOOKS };
        let settings = TurnSettings {
            calls, steps, retries, ask, limits, refusals, finishes, usage, stop_turn, bad_calls,
            abort, hurry, steer, notify, deliver, pause, wait, silence, crash, fault: 1, stray: true,
        };
        walked(TurnWorld::new(settings).expect("a sound start"), 150, picks)?;
    }
}
