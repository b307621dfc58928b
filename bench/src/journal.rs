//! `journal`: what replaying, opening and appending cost.
mod append;
mod made;
mod opening;
mod replay;
mod syncs;
pub mod work;

use std::path::PathBuf;

use crate::{Done, disk};

/// What is measured, and where.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Megabytes of the journal that is replayed
    #[arg(long, default_value_t = 100)]
    size: u64,
    /// Rounds; what is told is their median
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Where the files are made; in the benchmarks' target directory if it is not given
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Only this part
    #[arg(long)]
    only: Option<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    Replay,
    Opening,
    Append,
}

/// Measures and prints.
pub fn run(args: &Args) -> Done<()> {
    let place = disk::place(args.dir.as_deref())?;
    println!("{}; {} rounds", disk::describe(place.path()), args.rounds);
    let (wants, rounds) = (|part| args.only.is_none_or(|only| only == part), usize::from(args.rounds));
    if wants(Part::Replay) {
        replay::measure(place.path(), args.size << 20, rounds)?;
    }
    if wants(Part::Opening) {
        opening::measure(place.path(), rounds)?;
    }
    if wants(Part::Append) {
        append::measure(place.path(), rounds)?;
    }
    Ok(())
}
