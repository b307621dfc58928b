//! The program `agent-machine`.
//!
//! | module | its one job |
//! |---|---|
//! | [`args`] | the command line |
//! | [`exit`] | exit codes, and usage errors |
//! | [`run`] | `run`: assembles an agent and follows it |
//! | [`session`] | one prompt, or a small prompt loop |
//! | [`workbench`] | the file tools as tools of an agent |
//! | [`player`] | the embedded models as models of an agent |
//! | [`approvals`] | who is asked for approval |
//! | [`console`] | what is shown: terminal, plain lines, JSON |
//! | [`chart`] | `chart`: a machine's chart, from the machine itself |

pub mod approvals;
pub mod args;
pub mod chart;
pub mod console;
pub mod exit;
pub mod player;
pub mod run;
pub mod session;
pub mod workbench;

use std::process::ExitCode;

use clap::Parser;

use crate::program::args::{Args, Command};

/// Runs the program.
pub fn main() -> ExitCode {
    // clap prints usage errors itself, with exit code 2.
    let done = match Args::parse().command {
        Command::Run(run) => run::run(run),
        Command::Chart(chart) => chart::chart(&chart),
    };
    done.unwrap_or_else(|error| {
        eprintln!("agent-machine: {error}");
        ExitCode::from(exit::USAGE)
    })
}
