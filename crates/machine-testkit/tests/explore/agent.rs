//! The agent machine alone, every interleaving of what may come to one session.
use machine_core::config::{AfterAbort, AfterFailure};
use machine_testkit::agent::{AgentSettings, AgentWorld};
use machine_testkit::coverage::Cannot;
use proptest::prelude::*;

use crate::{covered, walked};

/// Everything, but a few kinds of things at a time: together they are too many.
fn worlds() -> Vec<(&'static str, AgentSettings)> {
    let none = AgentSettings { stray: true, prompts: 1, ..AgentSettings::default() };
    let screened = AgentSettings { screen: true, refusals: true, ..none.clone() };
    let background = AgentSettings { detach: 1, deaf: 1, ..none.clone() };
    vec![
        ("prompts", AgentSettings { prompts: 2, steer: 1, park: true, abort: 2, ..none.clone() }),
        ("screened", AgentSettings { prompts: 2, abort: 1, ..screened.clone() }),
        ("screened, joined", AgentSettings { steer: 1, abort: 1, change: 1, ..screened.clone() }),
        ("screened, paused", AgentSettings { notify: 1, pause: 1, refusals: false, ..screened.clone() }),
        (
            "screened, changed",
            AgentSettings { prompts: 2, change: 1, pause: 1, refusals: false, ..screened.clone() },
        ),
        (
            "screened no more",
            AgentSettings {
                prompts: 3,
                change: 1,
                pause: 1,
                screens: 1,
                refusals: false,
                ..screened.clone()
            },
        ),
        (
            "screened no more, notes",
            AgentSettings {
                notify: 1,
                change: 1,
                screen_notes: true,
                screens: 1,
                refusals: false,
                ..screened.clone()
            },
        ),
        ("screened, late", AgentSettings { steer: 1, crash: 1, ..screened.clone() }),
        ("screened, background", AgentSettings { screen: true, prompts: 2, ..background.clone() }),
        (
            "screened, consumed",
            AgentSettings { screen: true, prompts: 2, change: 1, deaf: 0, ..background.clone() },
        ),
        (
            "screened, stopped",
            AgentSettings { inject: 1, close: true, abort: 1, crash: 1, fault: 1, ..screened.clone() },
        ),
        ("changed", AgentSettings { change: 2, remind: 1, ..screened.clone() }),
        (
            "notes",
            AgentSettings { prompts: 0, notify: 2, change: 1, screen_notes: true, abort: 1, ..screened },
        ),
        (
            "notes with more",
            AgentSettings {
                prompts: 0,
                notify: 2,
                inject: 1,
                screen_notes: true,
                screen: true,
                ..none.clone()
            },
        ),
        ("what goes in", AgentSettings { notify: 1, inject: 1, remind: 2, ..none.clone() }),
        ("what the turn says", AgentSettings { notify: 1, deliver: 2, abort: 1, ..none.clone() }),
        ("paused", AgentSettings { notify: 1, pause: 1, maintain: 1, park: true, abort: 1, ..none.clone() }),
        ("parked", AgentSettings { prompts: 2, park: true, change: 1, detach: 1, ..none.clone() }),
        (
            "maintained",
            AgentSettings {
                park: true,
                change: 1,
                inject: 1,
                remind: 1,
                maintain: 1,
                close: true,
                ..none.clone()
            },
        ),
        ("background", AgentSettings { notify: 1, ..background.clone() }),
        ("aborted", AgentSettings { notify: 1, abort: 1, deaf: 0, ..background.clone() }),
        ("waiting", AgentSettings { detach: 2, park: true, stray: false, ..background.clone() }),
        ("held, background", AgentSettings { refusals: true, stray: false, ..background.clone() }),
        (
            "held, parked",
            AgentSettings {
                prompts: 2,
                park: true,
                refusals: true,
                maintain: 1,
                stray: false,
                ..none.clone()
            },
        ),
        ("held with more", AgentSettings { refusals: true, inject: 1, pause: 1, ..none.clone() }),
        (
            "aborted, gone",
            AgentSettings { change: 1, abort: 1, crash: 1, fault: 1, deaf: 0, ..background.clone() },
        ),
        (
            "waiting with more",
            AgentSettings { inject: 1, remind: 1, pause: 1, deaf: 0, ..background.clone() },
        ),
        ("consumed", AgentSettings { change: 1, crash: 1, ..background.clone() }),
        ("consumed, maintained", AgentSettings { change: 1, maintain: 1, deaf: 0, ..background.clone() }),
        ("maintained, background", AgentSettings { maintain: 1, ..background.clone() }),
        ("closed", AgentSettings { close: true, abort: 2, deliver: 1, ..none.clone() }),
        ("closed, background", AgentSettings { close: true, abort: 1, ..background.clone() }),
        ("closed, gone", AgentSettings { close: true, crash: 1, fault: 1, deaf: 0, ..background.clone() }),
        (
            "closed, maintained",
            AgentSettings { close: true, fault: 1, maintain: 1, notify: 1, ..none.clone() },
        ),
        ("gone", AgentSettings { crash: 1, fault: 2, maintain: 1, refusals: true, deaf: 0, ..background }),
        (
            "held",
            AgentSettings {
                notify: 1,
                abort: 1,
                refusals: true,
                after_abort: AfterAbort::Hold,
                maintain: 1,
                ..none.clone()
            },
        ),
        (
            "given back",
            AgentSettings {
                prompts: 2,
                inject: 1,
                remind: 1,
                abort: 1,
                after_abort: AfterAbort::GiveBack,
                ..none.clone()
            },
        ),
        (
            "goes on",
            AgentSettings {
                prompts: 2,
                notify: 1,
                refusals: true,
                after_failure: AfterFailure::GoOn,
                ..none
            },
        ),
    ]
}

const LEAVES: &[&str] = &[
    "Ready",
    "Waiting",
    "Held",
    "Screening",
    "Active",
    "Aborting",
    "Maintaining",
    "Closing",
    "Closed",
    "Faulted",
];

#[rustfmt::skip] // one row per source
const EVENTS: &[&str] = &[
    "Submit", "Notify", "Inject", "Remind", "Steer", "Withdraw", "Replace", "Consume",
    "Abort", "Pause", "Resume", "Maintain", "Close",
    "Screened", "ScreenFailed", "Maintained", "MaintainFailed",
    "Drain", "Own", "TurnEnded",
    "Lingers", "BackgroundEnded", "LateResult", "CallEnded",
    "Crash", "Fault",
];

#[rustfmt::skip] // one row per reason
const CANNOT: &[Cannot] = &[
    Cannot { leaves: "Closing Closed Faulted", events: "Submit Notify Inject Remind Withdraw Replace Consume Pause Resume", why: "`admit` refuses it" },
    Cannot { leaves: "all but Active", events: "Steer", why: "`admit` refuses it where no turn runs that could be joined" },
    Cannot { leaves: "Screening Active Aborting Maintaining Closing Closed", events: "Maintain", why: "`admit` refuses it where something runs" },
    Cannot { leaves: "Faulted", events: "Abort", why: "`admit` refuses it: nothing works on" },
    Cannot { leaves: "Faulted", events: "Lingers LateResult", why: "a fault ends every call without a word" },
    Cannot { leaves: "all but Active", events: "Drain", why: "no turn that goes on runs" },
    Cannot { leaves: "all but Active Aborting Closing", events: "Own", why: "no turn runs" },
];

#[test]
fn every_interleaving_keeps_the_rules_and_every_event_meets_every_leaf() {
    let world = |(name, settings)| (name, AgentWorld::new(settings).expect("a sound start"));
    covered(worlds().into_iter().map(world).collect(), LEAVES, EVENTS, CANNOT);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_walks_keep_the_rules(
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..150),
        flags in any::<[bool; 5]>(),
        counts in prop::array::uniform14(0..5u32),
        policies in any::<[prop::sample::Index; 2]>(),
    ) {
        let [screen, notes, refusals, park, close] = flags;
        let [prompts, steer, notify, inject, remind, change, abort, pause, maintain, detach, deaf, deliver, crash, screens] = counts;
        let after_failure = [AfterFailure::Hold, AfterFailure::GoOn][policies[0].index(2)];
        let after_abort = [AfterAbort::GoOn, AfterAbort::Hold, AfterAbort::GiveBack][policies[1].index(3)];
        let settings = AgentSettings {
            prompts, steer, park, notify, inject, remind, change, screen, screens, screen_notes: notes && screen, refusals,
            abort, pause, maintain, close, detach, deaf, deliver, crash, fault: 1, after_failure, after_abort,
            stray: true,
        };
        walked(AgentWorld::new(settings).expect("a sound start"), 120, picks)?;
    }
}
