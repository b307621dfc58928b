//! Planted faults: each must be found by every layer that claims to find it, and without one no layer may find anything.
//! `cargo test -p machine-tests --features canary --test canaries`. The switch is one for the whole process, so it is
//! all one test.
#[path = "canaries/layers.rs"]
mod layers;

use std::collections::BTreeMap;

use machine_core::canary::Canary;

use crate::layers::Layer::{self, *};

/// Who claims to find what.
#[rustfmt::skip] // one row per canary
const CLAIMS: &[(Canary, &[Layer])] = &[
    (Canary::AbortSparesApprovals, &[Call, Engine, Long, Scenarios]),
    (Canary::GraceIsNotArmed, &[Call, Engine, Long, Scenarios]),
    (Canary::LateEndAnswersAgain, &[Call]),
    (Canary::CrashRunsAgain, &[Call, Engine, Long, Scenarios, Simulation]),
    (Canary::BackgroundIsToldTwice, &[Call, Engine, Long, Scenarios]),
    (Canary::AbortWaitsForBackoff, &[Turn, Engine, Long, Scenarios, Simulation]),
    (Canary::FailureCostsTwice, &[Turn, Long, Scenarios, Simulation]),
    (Canary::EmptyIsNotCounted, &[Turn, Scenarios]),
    (Canary::FailedStepStaysOpen, &[Turn, Long, Scenarios, Simulation]),
    (Canary::LateSteerIsLost, &[Agent, Engine, Long, Scenarios, Simulation]),
    (Canary::AbortStrandsTheQueue, &[Agent, Engine, Long, Scenarios]),
    (Canary::MaintenanceStrandsTheQueue, &[Agent, Engine, Scenarios]),
    (Canary::CapIsOffByOne, &[Engine, Long, Scenarios]),
    (Canary::ConflictsOverlap, &[Engine, Long, Scenarios, Simulation]),
    (Canary::AnsweredStaysOpen, &[Engine, Long, Scenarios]),
    (Canary::DrainSkipsReceipts, &[Agent, Engine, Long, Scenarios, Simulation]),
    (Canary::ActsAreNotWritten, &[Scenarios, Simulation]),
    (Canary::TimersNeverFire, &[Scenarios, Simulation]),
    (Canary::CancellationIsNotTold, &[Scenarios, Simulation]),
    (Canary::CallsRunTwice, &[Scenarios, Simulation]),
    (Canary::AcknowledgedUnsynced, &[Scenarios, Simulation]),
];

#[test]
fn every_canary_is_found_by_the_layers_that_claim_it() {
    let mut claimed = BTreeMap::new();
    for (canary, layers) in CLAIMS {
        assert!(claimed.insert(*canary as u8, layers).is_none(), "{canary:?} stands twice");
    }
    assert_eq!(claimed.len(), Canary::ALL.len(), "every canary has a row");
    for layer in Layer::ALL {
        assert_eq!(layer.look(), Ok(()), "{layer:?} finds something where nothing is planted");
    }
    let mut missed = Vec::new();
    for (canary, claims) in CLAIMS {
        Canary::plant(Some(*canary));
        for layer in *claims {
            let found = layer.look();
            let what = found.as_ref().err().and_then(|what| what.lines().next());
            println!("{canary:?}, {layer:?}: {}", what.unwrap_or("nothing"));
            if found.is_ok() {
                missed.push((canary, layer));
            }
        }
    }
    Canary::plant(None);
    assert!(missed.is_empty(), "claimed, and not found: {missed:?}");
}
