//! What is found in one machine is found again by the scenario that is written of it, and only there where it was planted.
//! `cargo test -p machine-tests --features canary --test lifted_canaries`. The switch is one for the whole process, so it
//! is all one test.
use std::path::Path;

use machine_core::canary::Canary;
use machine_core::config::{Questions, TurnLimits};
use machine_testkit::agent::{AgentSettings, AgentWorld};
use machine_testkit::call::{CallSettings, CallWorld};
use machine_testkit::explore::{Bounds, explore};
use machine_testkit::scenario::Scenario;
use machine_testkit::scenario::lifted::{self, Lifted};
use machine_testkit::scenario::written::{Unwritable, write};
use machine_testkit::turn::{TurnSettings, TurnWorld};

/// More states than any world here has.
const STATES: usize = 200_000;

/// The scenario of the first rule that a call breaks; none: it breaks none.
fn call() -> Option<Result<Lifted, Unwritable>> {
    let settings = CallSettings {
        approve: true,
        abort: 1,
        cancel: 1,
        detach: true,
        crash: 1,
        ..CallSettings::default()
    };
    let world = CallWorld::new(settings).expect("a sound start");
    let found = explore(world.clone(), Bounds::states(STATES)).err()?;
    Some(lifted::call(&world, &found.trace))
}

fn turn() -> Option<Result<Lifted, Unwritable>> {
    let settings = TurnSettings {
        calls: 1,
        steps: 1,
        retries: 1,
        ask: Questions::default(),
        limits: TurnLimits { stream_idle_ms: 0, empty: 1, ..TurnLimits::default() },
        usage: true,
        abort: 1,
        ..TurnSettings::default()
    };
    let world = TurnWorld::new(settings).expect("a sound start");
    let found = explore(world.clone(), Bounds::states(STATES)).err()?;
    Some(lifted::turn(&world, &found.trace))
}

fn agent() -> Option<Result<Lifted, Unwritable>> {
    let settings = AgentSettings { prompts: 2, steer: 1, abort: 1, maintain: 1, ..AgentSettings::default() };
    let world = AgentWorld::new(settings).expect("a sound start");
    let found = explore(world.clone(), Bounds::states(STATES)).err()?;
    Some(lifted::agent(&world, &found.trace))
}

type Machine = fn() -> Option<Result<Lifted, Unwritable>>;

/// What a machine breaks alone, and whether a whole run shows it. A late answer is not owed any more there, and a
/// scenario that expects nothing does not look at what a failure costs, or how often an empty response was asked for.
#[rustfmt::skip] // one row per canary
const PLANTED: &[(Canary, Machine, bool)] = &[
    (Canary::AbortSparesApprovals, call, true),
    (Canary::GraceIsNotArmed, call, true),
    (Canary::LateEndAnswersAgain, call, false),
    (Canary::CrashRunsAgain, call, true),
    (Canary::BackgroundIsToldTwice, call, true),
    (Canary::AbortWaitsForBackoff, turn, true),
    (Canary::FailureCostsTwice, turn, false),
    (Canary::EmptyIsNotCounted, turn, false),
    (Canary::FailedStepStaysOpen, turn, true),
    (Canary::LateSteerIsLost, agent, true),
    (Canary::AbortStrandsTheQueue, agent, true),
    (Canary::MaintenanceStrandsTheQueue, agent, true),
];

/// Whether a scenario passes.
fn passes(text: &str) -> bool {
    let scenario = Scenario::parse(Path::new("lifted.yaml"), text).expect("a written scenario loads");
    let verdict = std::panic::catch_unwind(|| scenario.simulate());
    verdict.is_ok_and(|verdict| verdict.is_ok_and(|verdict| verdict.passed()))
}

#[test]
fn what_a_machine_breaks_alone_its_scenario_shows() {
    for (canary, machine, shows) in PLANTED {
        Canary::plant(Some(*canary));
        let lifted = machine().unwrap_or_else(|| panic!("{canary:?} is not found"));
        let text = lifted.and_then(|(config, moves)| write("a planted fault", "", &config, &moves));
        let text = text.unwrap_or_else(|why| panic!("{canary:?} is not written: {why}"));
        assert_eq!(!passes(&text), *shows, "{canary:?} is planted\n{text}");
        Canary::plant(None);
        assert!(!shows || passes(&text), "{canary:?} is not planted, and found\n{text}");
    }
}
