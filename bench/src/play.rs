//! `play`: one loop at one piece of work, for a profiler.
use crate::Done;
use crate::loops::ours::{Answered, Ours, Touches};
use crate::loops::{Loop, Shape, grow};

/// The work.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Responses with calls in each turn
    #[arg(long, default_value_t = 1)]
    steps: u32,
    /// Calls of each
    #[arg(long, default_value_t = 64)]
    calls: u32,
    /// Entries in history, to begin with
    #[arg(long, default_value_t = 100)]
    entries: usize,
    /// How many turns
    #[arg(long, default_value_t = 1_000)]
    turns: u32,
}

/// Does it.
pub fn run(args: &Args) -> Done<()> {
    let Args { steps, calls, entries, turns } = *args;
    let mut ours = Ours::new(Touches::Distinct, Answered::InOrder)?;
    grow(&mut ours, entries)?;
    (0..turns).try_for_each(|_| ours.turn(Shape { steps, calls }))
}
