//! The program `agent-machine`.
//!
//! | module | its one job |
//! |---|---|
//! | [`args`] | the command line |
//! | [`exit`] | exit codes, and usage errors |
//! | [`run`] | `run`: assembles an agent and follows it |
//! | [`session`] | one prompt, or a small prompt loop |
//! | [`waiting`] | questions that wait for a person |
//! | [`inbound`] | lines and signals |
//! | [`workbench`] | the file tools as tools of an agent |
//! | [`servers`] | `--mcp`: servers of tools |
//! | [`player`] | the embedded models as models of an agent |
//! | [`approvals`] | who is asked for approval |
//! | [`console`] | what is shown: terminal, plain lines, JSON |
//! | [`chart`] | `chart`: a machine's chart, from the machine itself |
//! | [`scenario`] | `scenario`: plays scenario files |
//! | [`explore`] | `explore`: every way through a machine, or the whole engine |
//! | [`record`] | a recorded session, only read |
//! | [`replay`] | `replay`: shows and compares what a recorded session was |
//! | [`fork`] | `fork`: another session that begins like a recorded one |
//! | [`simulate`] | `simulate`: the host in faulty worlds, from seeds |

pub mod approvals;
pub mod args;
pub mod chart;
pub mod console;
pub mod exit;
pub mod explore;
pub mod fork;
pub mod inbound;
pub mod player;
pub mod record;
pub mod replay;
pub mod run;
pub mod scenario;
pub mod servers;
pub mod session;
pub mod simulate;
pub mod waiting;
pub mod workbench;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use crate::program::args::{Args, Command};
use crate::program::console::{one_line, tell};
use crate::program::exit::Usage;

/// Runs the program.
pub fn main() -> ExitCode {
    let done = match Args::try_parse() {
        Ok(Args { command: Command::Run(run) }) => run::run(run),
        Ok(Args { command: Command::Chart(chart) }) => chart::chart(&chart),
        Ok(Args { command: Command::Scenario(scenario) }) => scenario::scenario(&scenario),
        Ok(Args { command: Command::Explore(explore) }) => explore::explore(&explore),
        Ok(Args { command: Command::Replay(replay) }) => replay::replay(&replay),
        Ok(Args { command: Command::Fork(fork) }) => fork::fork(&fork),
        Ok(Args { command: Command::Simulate(simulate) }) => simulate::simulate(&simulate),
        Err(other) => unparsed(&other),
    };
    done.unwrap_or_else(|error| {
        tell(&one_line(&error.to_string()));
        ExitCode::from(exit::USAGE)
    })
}

/// Help is printed; what is wrong is told in one line, without the usage that clap puts below it.
fn unparsed(other: &clap::Error) -> Result<ExitCode, Usage> {
    if !other.use_stderr() {
        // A reader that went away has read enough.
        let _ = other.print();
        return Ok(exit::COMPLETED);
    }
    if other.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Err(Usage::Line(
            "say what to do: `agent-machine run`, `chart`, `scenario`, `explore`, `simulate`, `replay` or `fork`; see `agent-machine --help`".into(),
        ));
    }
    let told = other.to_string();
    let told = told.split("\nUsage:").next().unwrap_or_default();
    let told = told.split("\nFor more information").next().unwrap_or_default();
    let parts: Vec<_> = told.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let told = parts.join(" ").replacen("error: ", "", 1).replace(" tip: ", "; ");
    let program = Args::command();
    let command = std::env::args().nth(1).filter(|name| program.find_subcommand(name).is_some());
    let of = command.map_or_else(String::new, |name| format!(" {name}"));
    Err(Usage::Line(format!("{told}; see `agent-machine{of} --help`")))
}
