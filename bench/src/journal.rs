//! `journal`: what replaying, opening and appending cost.
mod append;
mod made;
mod opening;
mod replay;
mod syncs;
pub mod work;

use std::path::PathBuf;

use tempfile::TempDir;

use crate::{Done, disk};

/// How much is measured, and where.
#[derive(Debug, clap::Args)]
pub struct Replayed {
    /// Megabytes of the journal that is replayed
    #[arg(long, default_value_t = 100)]
    size: u64,
    /// Rounds; what is told is their median
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Where the files are made; in the benchmarks' target directory if it is not given
    #[arg(long)]
    dir: Option<PathBuf>,
}

/// What is measured.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    of: Replayed,
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
    let place = args.of.begin()?;
    let (wants, rounds) = (|part| args.only.is_none_or(|only| only == part), usize::from(args.of.rounds));
    if wants(Part::Replay) {
        args.of.replay(&place)?;
    }
    if wants(Part::Opening) {
        opening::measure(place.path(), rounds)?;
    }
    if wants(Part::Append) {
        append::measure(place.path(), rounds)?;
    }
    Ok(())
}

/// Only the replay: measures and prints.
pub fn replay(args: &Replayed) -> Done<()> {
    args.replay(&args.begin()?)
}

impl Replayed {
    /// Where the files are made, which is said.
    fn begin(&self) -> Done<TempDir> {
        let place = disk::place(self.dir.as_deref())?;
        println!("{}; {} rounds", disk::describe(place.path()), self.rounds);
        Ok(place)
    }

    fn replay(&self, place: &TempDir) -> Done<()> {
        replay::measure(place.path(), self.size << 20, usize::from(self.rounds))
    }
}
