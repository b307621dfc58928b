//! Benchmarks of agent-machine. They print tables for reading; nothing is asserted. `docs/performance.md` has the
//! method and what the numbers say.
//!
//! | module | what it holds |
//! |---|---|
//! | [`compare`] | `compare`: our engine beside other loops |
//! | [`behaviour`] | `compare --behaviour`: what each loop does |
//! | [`scale`] | `scale`: costs by history, batch and stream |
//! | [`host`] | `host`: what the tokio host costs on top of the engine; many agents at once |
//! | [`memory`] | `memory`: what an agent takes while it lives |
//! | `allocations` | `allocations`: what is allocated, counted (feature `allocations`) |
//! | [`journal`] | `journal`: replay, opening, appending; `replay`: the first of them |
//! | [`points`] | `points`: points, snapshots, copies of history, and exploration |
//! | [`play`] | `play`: one piece of work, for a profiler |
//! | [`loops`] | the loops that are compared, and the work they do |
//! | [`peak`] | how much memory a piece of work takes, in a process of its own |
//! | [`script`] | sessions that are made up |
//! | [`clock`], [`rounds`], [`table`], [`disk`] | processor time; interleaved rounds and their medians; how they are printed; what disk it is |
#![forbid(unsafe_code)]

#[cfg(feature = "allocations")]
mod allocations;
mod behaviour;
mod clock;
mod compare;
mod disk;
mod host;
mod journal;
mod memory;
mod peak;
mod play;
mod points;
mod rounds;
mod scale;
mod script;
mod table;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use machine_bench::{Done, loops};

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
    /// A journal read, replayed and opened: the first part of `journal`
    Replay(journal::Replayed),
    /// How our costs grow: with history, with a batch, with the pieces of a stream
    Scale(scale::Args),
    /// What the tokio host costs on top of the engine, and many agents at once
    Host(host::Args),
    /// What an agent takes while it lives
    Memory(memory::Args),
    /// What is allocated, counted
    #[cfg(feature = "allocations")]
    Allocations,
    /// What it costs to keep a session and to copy it, by the length of history; and to explore
    Points(points::Args),
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
        What::Replay(args) => journal::replay(&args),
        What::Scale(args) => scale::run(&args),
        What::Host(args) => host::run(&args),
        What::Memory(args) => memory::run(&args),
        #[cfg(feature = "allocations")]
        What::Allocations => allocations::run(),
        What::Points(args) => points::run(&args),
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
