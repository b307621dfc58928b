//! `explore`: every way through a machine, or the whole engine. What breaks a rule is printed with the shortest way
//! there, and becomes a scenario file.
use std::fs;
use std::io::{self, ErrorKind};
use std::num::NonZero;
use std::path::Path;
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
use crate::program::console::print;
use crate::program::exit::{self, Usage};

/// Explores.
pub fn explore(args: &Explore) -> Result<ExitCode, Usage> {
    if let Some(path) = &args.out {
        is_place_for_file(path).map_err(|error| Usage::Out { path: path.clone(), error })?;
    }
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
    run(args, reduced(args), world, |broken, trace: Vec<Happens>| {
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
    run(args, String::new(), world, |broken, trace| lifted(broken, lifted::call(&start, &trace)))
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
    run(args, String::new(), world, |broken, trace| lifted(broken, lifted::turn(&start, &trace)))
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
    run(args, String::new(), world, |broken, trace| lifted(broken, lifted::agent(&start, &trace)))
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
fn reduced(args: &Explore) -> String {
    let mut told = String::new();
    if !args.exact {
        told += "reduced: states that differ only by the numbers of their asks are one (--exact tells them apart)\n";
    }
    if args.in_call_order {
        told += "left out: ways in which a call overtakes another one that is asked the same\n";
    }
    told
}

/// Explores a world, and says what was found.
fn run<W>(
    args: &Explore,
    mut told: String,
    world: W,
    scenario: impl FnOnce(&str, Vec<W::Move>) -> Result<String, Unwritable>,
) -> Result<ExitCode, Usage>
where
    W: World + Send + Sync,
{
    let cores = || available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let bounds = Bounds { states: args.states.get(), jobs: args.jobs.unwrap_or_else(cores) };
    match through(world, bounds) {
        Ok(explored) => {
            told += &format!("{explored}, 0 violations\n");
            if !explored.whole {
                told += "there are more states: --states was met\n";
            }
            Ok(print(&told, exit::COMPLETED))
        }
        Err(violation) => {
            told += &format!("1 violation: {violation}");
            told += &written(args.out.as_deref(), scenario(&violation.what, violation.trace));
            Ok(print(&told, exit::ENDED_EARLY.into()))
        }
    }
}

/// Where the scenario is, or why there is none. Where it cannot be written it is printed: it may have taken hours.
fn written(out: Option<&Path>, scenario: Result<String, Unwritable>) -> String {
    let text = match scenario {
        Ok(text) => text,
        Err(why) => return format!("no scenario: {why}\n"),
    };
    let Some(path) = out else { return format!("\n{text}") };
    match fs::write(path, &text) {
        Ok(()) => format!("written: agent-machine scenario {}\n", path.display()),
        Err(error) => format!("--out {}: {error}\n\n{text}", path.display()),
    }
}

/// What cannot be a file is refused before the exploration, not after it.
fn is_place_for_file(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    match fs::metadata(parent.unwrap_or(Path::new(".")))?.is_dir() {
        true => Ok(()),
        false => Err(ErrorKind::NotADirectory.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_not_lost() {
        let dir = tempfile::tempdir().expect("a directory");
        let told = written(Some(dir.path()), Ok("title: found\n".into()));
        assert!(told.starts_with("--out /") && told.ends_with("\n\ntitle: found\n"), "{told}");
        let file = dir.path().join("found.yaml");
        assert!(written(Some(&file), Ok("title: found\n".into())).starts_with("written: "));
        assert_eq!(fs::read_to_string(file).expect("it is there"), "title: found\n");
    }
}
