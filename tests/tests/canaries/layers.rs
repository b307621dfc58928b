//! The layers, each as large as it must be to find what it claims.
use std::path::PathBuf;

use machine_core::config::{CallLimits, Questions};
use machine_testkit::engine::{Allowed, EngineWorld, Menu};
use machine_testkit::explore::{Bounds, explore};
use machine_testkit::scenario::Scenario;

/// A layer of the proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// The whole engine, explored.
    Engine,
    /// Scenario files, on both drivers.
    Scenarios,
}

impl Layer {
    pub const ALL: &'static [Self] = &[Self::Engine, Self::Scenarios];

    /// Looks for a fault; an error says what was found.
    pub fn look(self) -> Result<(), String> {
        match self {
            Self::Engine => engines(),
            Self::Scenarios => scenarios(),
        }
    }
}

/// Small worlds that have, together, what the canaries need.
fn engines() -> Result<(), String> {
    let none =
        Questions { screen: false, gate: false, recover: false, finalize: false, stop: false, timeout_ms: 0 };
    let plain = || Menu { calls: 2, steps: 1, failures: 0, may: Allowed::default(), conflict: false };
    let may = Allowed::default;
    let worlds = [
        Menu { failures: 2, may: Allowed { abort: 2, steer: 1, stray: true, ..may() }, ..plain() },
        Menu { may: Allowed { approve: true, abort: 1, prompts: 1, ..may() }, ..plain() },
        Menu { may: Allowed { crash: 1, detach: 1, cancel: 1, ..may() }, ..plain() },
        Menu { calls: 1, may: Allowed { maintain: 1, prompts: 1, notify: 1, ..may() }, ..plain() },
        Menu { calls: 3, conflict: true, may: may(), ..plain() },
        Menu { calls: 3, may: may(), ..plain() },
    ];
    let calls = CallLimits { max_parallel: 2, ..CallLimits::default() };
    for menu in worlds {
        let world = EngineWorld::new(menu, none, calls.clone())?;
        explore(world, Bounds::states(200_000)).map_err(|violation| violation.to_string())?;
    }
    Ok(())
}

fn scenarios() -> Result<(), String> {
    let directory = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios"));
    let files = std::fs::read_dir(directory).map_err(|error| error.to_string())?;
    let mut files: Vec<_> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    files.sort();
    for file in files {
        let scenario = Scenario::load(&file).map_err(|error| error.to_string())?;
        let verdict = std::panic::catch_unwind(|| scenario.run())
            .map_err(|_| format!("{}: a panic", file.display()))?;
        let verdict = verdict.map_err(|fault| format!("{}: {fault}", file.display()))?;
        if !verdict.passed() {
            return Err(format!("{}", file.display()));
        }
    }
    Ok(())
}
