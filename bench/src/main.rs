//! Benchmarks of agent-machine. They print tables for reading; nothing is asserted. `docs/performance.md` has the
//! method and what the numbers say.
//!
//! | module | what it holds |
//! |---|---|
//! | [`journal`] | `journal`: replay, opening, appending |
//! | [`peak`] | how much memory a piece of work takes, in a process of its own |
//! | [`script`] | sessions that are made up |
//! | [`rounds`], [`table`], [`disk`] | interleaved rounds and their medians; how they are printed; what disk it is |
#![forbid(unsafe_code)]

mod disk;
mod journal;
mod peak;
mod rounds;
mod script;
mod table;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What a benchmark gives. Errors are for people.
type Done<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Benchmarks of agent-machine.
#[derive(Debug, Parser)]
struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Replay, opening and appending of journals
    Journal(journal::Args),
    /// One piece of work, for the memory that it takes
    #[command(hide = true)]
    Peak(peak::Args),
}

fn main() -> ExitCode {
    let done = match Args::parse().what {
        What::Journal(args) => journal::run(&args),
        What::Peak(args) => peak::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
