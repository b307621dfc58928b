//! `explore`: every way through a machine, or the whole engine. What breaks a rule is printed with the shortest way
//! there, and becomes a scenario file.
use std::fs;
use std::num::NonZero;
use std::process::ExitCode;
use std::thread::available_parallelism;

use machine_core::config::{CallLimits, Questions, TurnLimits};
use machine_testkit::agent::{AgentSettings, AgentWorld};
use machine_testkit::call::{CallSettings, CallWorld};
use machine_testkit::engine::{Allowed, EngineWorld, Happens, Menu, Reduce};
use machine_testkit::explore::{Bounds, World, explore as through};
use machine_testkit::scenario::lifted::{self, Lifted};
use machine_testkit::scenario::written::{Unwritable, write};
use machine_testkit::turn::{TurnSettings, TurnWorld};

use crate::program::args::{Explorable, Explore};
use crate::program::exit::{self, Usage};

/// Explores.
pub fn explore(args: &Explore) -> Result<ExitCode, Usage> {
    match args.what {
        Explorable::Engine => engine(args),
        Explorable::Call => call(args),
        Explorable::Turn => turn(args),
        Explorable::Agent => agent(args),
    }
}

/// What is said of a rule that is broken.
const WHY: &str = "The explorer found it. No property may be broken, whatever is expected.";

fn engine(args: &Explore) -> Result<ExitCode, Usage> {
    let hooks = args.hooks;
    let ask =
        Questions { screen: hooks, gate: hooks, recover: hooks, finalize: hooks, stop: hooks, timeout_ms: 0 };
    let calls = CallLimits { max_parallel: 2, ..CallLimits::default() };
    let world = EngineWorld::new(menu(args), ask, calls).map_err(Usage::Line)?;
    let world = world.reduced(Reduce { exact: args.exact, in_call_order: args.in_call_order });
    let (config, start) = (world.engine().config().clone(), world.start());
    say_reduced(args);
    run(args, world, |broken, trace: Vec<Happens>| {
        let moves = trace.into_iter().map(|happens| happens.inputs);
        let moves: Vec<_> = std::iter::once(start).chain(moves).collect();
        write(broken, WHY, &config, &moves)
    })
}

fn call(args: &Explore) -> Result<ExitCode, Usage> {
    let settings = CallSettings {
        finalize: args.hooks,
        refusals: args.hooks,
        approve: args.approve,
        timeout: args.timeout,
        abort: args.abort.into(),
        hurry: second(args.abort),
        cancel: args.cancel.into(),
        steer: args.steer.into(),
        detach: args.detach > 0,
        crash: args.crash.into(),
        stray: args.stray,
        ..CallSettings::default()
    };
    let world = CallWorld::new(settings).map_err(Usage::Line)?;
    let start = world.clone();
    run(args, world, |broken, trace| lifted(broken, lifted::call(&start, &trace)))
}

fn turn(args: &Explore) -> Result<ExitCode, Usage> {
    let hooks = args.hooks;
    let settings = TurnSettings {
        calls: args.calls,
        steps: args.steps,
        retries: args.retries,
        ask: Questions { gate: hooks, recover: hooks, stop: hooks, ..Questions::default() },
        limits: TurnLimits {
            stream_idle_ms: 0,
            stop_hook: 1,
            empty: 1,
            recoveries: 1,
            ..TurnLimits::default()
        },
        refusals: hooks,
        abort: args.abort.into(),
        hurry: second(args.abort),
        steer: args.steer.into(),
        notify: args.notify.into(),
        pause: args.pause.into(),
        wait: args.detach.into(),
        crash: args.crash.into(),
        stray: args.stray,
        ..TurnSettings::default()
    };
    let world = TurnWorld::new(settings).map_err(Usage::Line)?;
    let start = world.clone();
    run(args, world, |broken, trace| lifted(broken, lifted::turn(&start, &trace)))
}

fn agent(args: &Explore) -> Result<ExitCode, Usage> {
    let settings = AgentSettings {
        prompts: 1 + u32::from(args.prompt),
        steer: args.steer.into(),
        notify: args.notify.into(),
        screen: args.hooks,
        refusals: args.hooks,
        abort: args.abort.into(),
        pause: args.pause.into(),
        close: args.close > 0,
        detach: args.detach.into(),
        crash: args.crash.into(),
        stray: args.stray,
        ..AgentSettings::default()
    };
    let world = AgentWorld::new(settings).map_err(Usage::Line)?;
    let start = world.clone();
    run(args, world, |broken, trace| lifted(broken, lifted::agent(&start, &trace)))
}

/// An abort that comes while another one works is a stop without grace.
fn second(aborts: u8) -> u32 {
    aborts.saturating_sub(1).into()
}

fn lifted(broken: &str, run: Result<Lifted, Unwritable>) -> Result<String, Unwritable> {
    let (config, moves) = run?;
    write(broken, WHY, &config, &moves)
}

fn menu(args: &Explore) -> Menu {
    let may = Allowed {
        abort: args.abort.into(),
        steer: args.steer.into(),
        notify: args.notify.into(),
        prompts: args.prompt.into(),
        detach: args.detach.into(),
        pause: args.pause.into(),
        cancel: args.cancel.into(),
        crash: args.crash.into(),
        close: args.close.into(),
        approve: args.approve,
        timeout: args.timeout,
        refusals: args.hooks,
        stray: args.stray,
        ..Allowed::default()
    };
    Menu { calls: args.calls, steps: args.steps, failures: args.retries, may, conflict: args.conflict }
}

/// What is left out is said.
fn say_reduced(args: &Explore) {
    if !args.exact {
        println!(
            "reduced: states that differ only by the numbers of their asks are one (--exact tells them apart)"
        );
    }
    if args.in_call_order {
        println!("left out: ways in which a call overtakes another one that is asked the same");
    }
}

/// Explores a world, and says what was found.
fn run<W>(
    args: &Explore,
    world: W,
    scenario: impl FnOnce(&str, Vec<W::Move>) -> Result<String, Unwritable>,
) -> Result<ExitCode, Usage>
where
    W: World + Send + Sync,
{
    let cores = || available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let bounds = Bounds { states: args.states, jobs: args.jobs.unwrap_or_else(cores) };
    match through(world, bounds) {
        Ok(explored) => {
            println!("{explored}, 0 violations");
            if !explored.whole {
                println!("there are more states: --states was met");
            }
            Ok(exit::COMPLETED)
        }
        Err(violation) => {
            print!("1 violation: {violation}");
            written(args, scenario(&violation.what, violation.trace))?;
            Ok(exit::ENDED_EARLY.into())
        }
    }
}

/// Where the scenario is, or why there is none.
fn written(args: &Explore, scenario: Result<String, Unwritable>) -> Result<(), Usage> {
    match (scenario, &args.out) {
        (Err(why), _) => println!("no scenario: {why}"),
        (Ok(text), None) => print!("\n{text}"),
        (Ok(text), Some(path)) => {
            fs::write(path, text).map_err(|error| Usage::Out { path: path.clone(), error })?;
            println!("written: agent-machine scenario {}", path.display());
        }
    }
    Ok(())
}
