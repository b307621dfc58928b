//! Benchmarks of agent-machine. They print tables for reading; nothing is asserted. `docs/performance.md` has the
//! method and what the numbers say.
//!
//! | module | what it holds |
//! |---|---|
//! | [`compare`] | `compare`: our engine beside other loops |
//! | [`scale`] | `scale`: costs by history, batch and stream |
//! | [`memory`] | `memory`: what an agent takes while it lives |
//! | [`journal`] | `journal`: replay, opening, appending |
//! | [`play`] | `play`: one piece of work, for a profiler |
//! | [`loops`] | the loops that are compared, and the work they do |
//! | [`peak`] | how much memory a piece of work takes, in a process of its own |
//! | [`script`] | sessions that are made up |
//! | [`clock`], [`rounds`], [`table`], [`disk`] | processor time; interleaved rounds and their medians; how they are printed; what disk it is |
#![forbid(unsafe_code)]

mod clock;
mod compare;
mod disk;
mod journal;
mod loops;
mod memory;
mod peak;
mod play;
mod rounds;
mod scale;
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
    /// Our engine beside other loops, on the same work
    Compare(compare::Args),
    /// Replay, opening and appending of journals
    Journal(journal::Args),
    /// How our costs grow: with history, with a batch, with the pieces of a stream
    Scale(scale::Args),
    /// What an agent takes while it lives
    Memory(memory::Args),
    /// Our engine at one piece of work, for a profiler
    Play(play::Args),
    /// One piece of work, for the memory that it takes
    #[command(hide = true)]
    Peak(peak::Args),
}

fn main() -> ExitCode {
    let done = match Args::parse().what {
        What::Compare(args) => compare::run(&args),
        What::Journal(args) => journal::run(&args),
        What::Scale(args) => scale::run(&args),
        What::Memory(args) => memory::run(&args),
        What::Play(args) => play::run(&args),
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
