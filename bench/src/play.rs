//! `play`: one loop at one piece of work, for a profiler.
use std::sync::Arc;

use tokio::runtime::Builder;

use crate::Done;
use crate::loops::host::Host;
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
    /// Under the tokio host
    #[arg(long)]
    host: bool,
}

/// Does it.
pub fn run(args: &Args) -> Done<()> {
    let Args { steps, calls, entries, turns, host } = *args;
    let mut of: Box<dyn Loop> = if host {
        let runtime = Builder::new_current_thread().enable_time().build()?;
        Box::new(Host::new(Arc::new(runtime), Touches::Distinct)?)
    } else {
        Box::new(Ours::new(Touches::Distinct, Answered::InOrder)?)
    };
    grow(&mut *of, entries)?;
    (0..turns).try_for_each(|_| of.turn(Shape { steps, calls }))
}
