//! A scenario file: what is none is named with its place, what is one plays to its end on the simulator.
use std::path::Path;

use crate::scenario::Scenario;
use crate::scenario::load::LoadError;

/// The most bytes that are read: what a fuzzer invents is small.
const MOST: usize = 1 << 16;

/// Inputs after which a scenario is given up: one that never rests is no fault.
const PATIENCE: usize = 1_000;

/// Reads and plays the scenario that these bytes are.
///
/// # Errors
/// A mistake without a place in the file.
pub fn scenario(bytes: &[u8]) -> Result<(), String> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) if text.len() <= MOST => text,
        _ => return Ok(()),
    };
    let scenario = match Scenario::parse(Path::new("scenario.yaml"), text) {
        Ok(scenario) => scenario,
        Err(LoadError::Malformed { line, column, .. }) if line > 0 && column > 0 => return Ok(()),
        Err(error) => return Err(format!("a mistake without a place: {error}")),
    };
    // What it expects need not come, and it may be one that cannot be played; it must not hang or panic.
    let Ok(verdict) = scenario.simulate_within(PATIENCE) else { return Ok(()) };
    for agent in &verdict.played.agents {
        agent.history.audit().map_err(|error| format!("P2: {error}"))?;
    }
    Ok(())
}
