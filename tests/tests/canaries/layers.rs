//! The layers, each as large as it must be to find what it claims.
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use machine_core::config::{CallLimits, Questions, Retry};
use machine_testkit::agent::{AgentSettings, AgentWorld};
use machine_testkit::call::{CallSettings, CallWorld};
use machine_testkit::engine::long::{LongRun, Settings};
use machine_testkit::engine::{Allowed, EngineWorld, Menu};
use machine_testkit::explore::{Bounds, World, explore};
use machine_testkit::scenario::Scenario;
use machine_testkit::simulate;
use machine_testkit::turn::{TurnSettings, TurnWorld};

/// A layer of the proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// One call, explored.
    Call,
    /// One turn, explored.
    Turn,
    /// One agent without its turns and calls, explored.
    Agent,
    /// The whole engine, explored.
    Engine,
    /// Long runs of the engine under any configuration.
    Long,
    /// Scenario files, on both drivers.
    Scenarios,
    /// The real host, simulated.
    Simulation,
}

impl Layer {
    pub const ALL: &'static [Self] =
        &[Self::Call, Self::Turn, Self::Agent, Self::Engine, Self::Long, Self::Scenarios, Self::Simulation];

    /// Looks for a fault; an error says what was found. A panic is one, too.
    pub fn look(self) -> Result<(), String> {
        let look = || match self {
            Self::Call => call(),
            Self::Turn => turn(),
            Self::Agent => agent(),
            Self::Engine => engine(),
            Self::Long => long(),
            Self::Scenarios => scenarios(),
            Self::Simulation => simulation(),
        };
        catch_unwind(AssertUnwindSafe(look)).unwrap_or_else(|_| Err("a panic".into()))
    }
}

fn through<W: World + Send + Sync>(world: W) -> Result<(), String> {
    const BOUNDS: Bounds = Bounds { states: 100_000, jobs: NonZero::new(2).expect("not zero") };
    explore(world, BOUNDS).map(drop).map_err(|violation| violation.to_string())
}

fn call() -> Result<(), String> {
    let all = CallSettings {
        approve: true,
        timeout: true,
        refusals: true,
        detach: true,
        abort: 1,
        hurry: 1,
        cancel: 1,
        crash: 1,
        stray: true,
        ..CallSettings::default()
    };
    [false, true]
        .into_iter()
        .try_for_each(|finalize| through(CallWorld::new(CallSettings { finalize, ..all })?))
}

fn turn() -> Result<(), String> {
    let plain =
        TurnSettings { calls: 1, steps: 2, abort: 1, stray: true, usage: true, ..TurnSettings::default() };
    let worlds = [
        TurnSettings { retries: 3, refusals: true, ..plain.clone() },
        TurnSettings { finishes: true, ..plain },
    ];
    worlds.into_iter().try_for_each(|settings| through(TurnWorld::new(settings)?))
}

fn agent() -> Result<(), String> {
    let plain = AgentSettings { prompts: 1, abort: 1, stray: true, ..AgentSettings::default() };
    let worlds = [
        AgentSettings { steer: 1, ..plain },
        AgentSettings { prompts: 2, ..plain },
        AgentSettings { notify: 1, maintain: 1, ..plain },
        AgentSettings { detach: 1, ..plain },
    ];
    worlds.into_iter().try_for_each(|settings| through(AgentWorld::new(settings)?))
}

/// Small worlds that have, together, what the canaries need.
fn engine() -> Result<(), String> {
    let none =
        Questions { screen: false, gate: false, recover: false, finalize: false, stop: false, timeout_ms: 0 };
    let menu = |may| Menu { calls: 2, steps: 1, failures: 0, may, conflict: false };
    let may = Allowed::default;
    let worlds = [
        Menu { failures: 2, ..menu(Allowed { abort: 2, steer: 1, stray: true, ..may() }) },
        menu(Allowed { approve: true, abort: 1, prompts: 1, ..may() }),
        menu(Allowed { crash: 1, detach: 1, cancel: 1, ..may() }),
        Menu { calls: 1, ..menu(Allowed { maintain: 1, prompts: 1, notify: 1, ..may() }) },
        Menu { calls: 3, conflict: true, ..menu(may()) },
        Menu { calls: 3, ..menu(may()) },
    ];
    let calls = CallLimits { max_parallel: 2, ..CallLimits::default() };
    worlds.into_iter().try_for_each(|menu| through(EngineWorld::new(menu, none, calls.clone())?))
}

fn long() -> Result<(), String> {
    const RUNS: u64 = 150;
    (0..RUNS).try_for_each(|seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut draw = |n: usize| random.usize(..n);
        let mut settings = Settings::drawn(&mut draw);
        settings.config.retry = Retry { attempts: 2, ..settings.config.retry };
        let mut run = LongRun::new(settings)?;
        for _ in 0..300 {
            if let Some(input) = run.next(&mut draw) {
                run.apply(&input).map_err(|what| format!("run {seed}: {what}"))?;
            }
        }
        run.finish(5_000).map_err(|what| format!("run {seed}: {what}"))
    })
}

fn scenarios() -> Result<(), String> {
    let directory = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios"));
    let files = std::fs::read_dir(directory).map_err(|error| error.to_string())?;
    let mut files: Vec<_> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    files.sort();
    files.into_iter().try_for_each(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let scenario = Scenario::load(&file).map_err(|error| error.to_string())?;
        let verdict = catch_unwind(|| scenario.run()).map_err(|_| format!("{name}: a panic"))?;
        let verdict = verdict.map_err(|fault| format!("{name}: {fault}"))?;
        if verdict.passed() { Ok(()) } else { Err(name) }
    })
}

/// Seeds are looked at in small groups, so that one that finds something ends it.
fn simulation() -> Result<(), String> {
    const SEEDS: u64 = 60;
    (0..SEEDS).step_by(20).try_for_each(|first| {
        let found = simulate::many(first..first + 20, 2);
        found.violations.first().map_or(Ok(()), |violation| Err(violation.to_string()))
    })
}
