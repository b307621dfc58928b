//! The tool-call machine alone, every interleaving of what may come to one call.
use machine_testkit::call::{CallSettings, CallWorld};
use machine_testkit::coverage::Cannot;
use proptest::prelude::*;

use crate::{covered, walked};

/// Everything, but a few kinds of things at a time: together they are too many.
fn worlds() -> Vec<(&'static str, CallSettings)> {
    let none = CallSettings { stray: true, refusals: true, abort: 1, ..CallSettings::default() };
    let both = |name, settings: CallSettings| {
        [false, true].map(|finalize| (name, CallSettings { finalize, ..settings }))
    };
    let stopped = CallSettings { abort: 2, hurry: 1, cancel: 1, timeout: true, output: 1, ..none };
    [
        both("stopped", stopped),
        both("in the background", CallSettings { detach: true, lost: true, skip: true, ..stopped }),
        both(
            "approved",
            CallSettings { approve: true, steer: 2, skip: true, crash: 2, cancel: 1, hurry: 1, ..none },
        ),
        both(
            "lost",
            CallSettings {
                detach: true,
                lost: true,
                hurry: 1,
                cancel: 1,
                crash: 1,
                fault: 1,
                output: 1,
                ..none
            },
        ),
        both(
            "known",
            CallSettings {
                known: true,
                hurry: 1,
                cancel: 1,
                steer: 1,
                skip: true,
                crash: 1,
                fault: 1,
                ..none
            },
        ),
        both(
            "faulted",
            CallSettings { fault: 1, crash: 1, approve: true, timeout: true, steer: 1, detach: true, ..none },
        ),
    ]
    .concat()
}

const LEAVES: &[&str] = &[
    "Preparing",
    "Authorizing",
    "Queued",
    "Attached",
    "Cancelling",
    "Finalizing",
    "Working",
    "Stopping",
    "Ending",
    "Deaf",
    "Settled",
];

#[rustfmt::skip] // one row per source
const EVENTS: &[&str] = &[
    "Prepared", "Approved", "Executed", "Finalized", "HookFailed",
    "Start", "Skip", "Steered", "Awaited",
    "Lost", "Output", "Progress", "Detached",
    "TimeUp", "GraceOver",
    "Cancel", "Abort", "Hurry", "Crash", "Fault",
];

#[rustfmt::skip] // one row per reason
const CANNOT: &[Cannot] = &[
    Cannot { leaves: "Preparing", events: "Approved", why: "nobody is asked to approve it before it is prepared" },
    Cannot { leaves: "Preparing Authorizing Queued", events: "Executed Lost Output Progress Detached TimeUp", why: "what does not run has no execution, and no time" },
    Cannot { leaves: "Preparing Authorizing", events: "Start", why: "the batch starts only what wants to start" },
    Cannot { leaves: "Preparing Authorizing Queued Attached Working", events: "GraceOver", why: "no grace runs before something is stopped" },
    Cannot { leaves: "all but Finalizing Ending Settled", events: "Finalized", why: "nothing is finalized before its work is over, and what is deaf has said nothing" },
];

#[test]
fn every_interleaving_keeps_the_rules_and_every_event_meets_every_leaf() {
    let world = |(name, settings)| (name, CallWorld::new(settings).expect("a sound start"));
    covered(worlds().into_iter().map(world).collect(), LEAVES, EVENTS, CANNOT);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_walks_keep_the_rules(
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..60),
        flags in any::<[bool; 8]>(),
        counts in prop::array::uniform6(0..4u32),
    ) {
        let [finalize, approve, timeout, refusals, detach, lost, skip, known] = flags;
        let [abort, hurry, cancel, steer, output, crash] = counts;
        let settings = CallSettings {
            finalize, approve, timeout, refusals, detach, lost, skip, known,
            abort, hurry, cancel, steer, output, crash, fault: 1, stray: true,
        };
        walked(CallWorld::new(settings).expect("a sound start"), 50, picks)?;
    }
}
