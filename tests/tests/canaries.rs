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
    (Canary::AbortSparesApprovals, &[Engine, Scenarios]),
    (Canary::GraceIsNotArmed, &[Engine, Scenarios]),
    (Canary::LateEndAnswersAgain, &[Engine, Scenarios]),
    (Canary::CrashRunsAgain, &[Engine, Scenarios]),
    (Canary::BackgroundIsToldTwice, &[Engine, Scenarios]),
    (Canary::AbortWaitsForBackoff, &[Engine, Scenarios]),
    (Canary::FailureCostsTwice, &[Engine, Scenarios]),
    (Canary::EmptyIsNotCounted, &[Engine, Scenarios]),
    (Canary::FailedStepStaysOpen, &[Engine, Scenarios]),
    (Canary::LateSteerIsLost, &[Engine, Scenarios]),
    (Canary::AbortStrandsTheQueue, &[Engine, Scenarios]),
    (Canary::MaintenanceStrandsTheQueue, &[Engine, Scenarios]),
    (Canary::CapIsOffByOne, &[Engine, Scenarios]),
    (Canary::ConflictsOverlap, &[Engine, Scenarios]),
    (Canary::AnsweredStaysOpen, &[Engine, Scenarios]),
    (Canary::DrainSkipsReceipts, &[Engine, Scenarios]),
    (Canary::ActsAreNotWritten, &[Scenarios]),
    (Canary::TimersNeverFire, &[Scenarios]),
    (Canary::CancellationIsNotTold, &[Scenarios]),
    (Canary::CallsRunTwice, &[Scenarios]),
    (Canary::AcknowledgedUnsynced, &[]),
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
        for layer in Layer::ALL {
            let found = layer.look();
            Canary::plant(Some(*canary));
            let claim = claims.contains(layer);
            println!("{canary:?} {layer:?}: {}", found.as_ref().err().map_or("nothing", |what| what));
            if claim && found.is_ok() {
                missed.push((canary, layer));
            }
        }
    }
    Canary::plant(None);
    assert!(missed.is_empty(), "claimed, and not found: {missed:?}");
}
