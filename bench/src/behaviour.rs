//! `compare --behaviour`: the same short probes against each loop, and a table of who does what.
//!
//! Each loop is given the same tools, files and model ([`world`]). What is judged is what was seen: the requests that
//! reach the model, the work that began, the files; [`judge`] has the same words for all. A loop is driven as its
//! documentation says, with its default settings. Where it has a switch that helps, or another form, that is run too and
//! told below the table.
pub mod judge;
#[cfg(feature = "peers")]
pub mod loopctl;
pub mod minimal;
pub mod ours;
#[cfg(feature = "peers")]
pub mod rig;
pub mod transcript;
pub mod world;

use std::time::Duration;

use crate::Done;
use crate::behaviour::judge::Finding;
use crate::table::Table;

/// How long a probe may take; it needs less than a second.
const BOUND: Duration = Duration::from_secs(10);

/// A loop under the probes. What one cannot do in public at all is a finding in words, with its basis beside it.
pub trait Probes {
    /// Its name and version.
    const NAME: &'static str;

    /// A read after a write of the same file, in one batch; the write is slow.
    async fn order() -> Done<Finding>;

    /// Four appends to one file, in one batch; each reads, waits, and writes back.
    async fn appends() -> Done<Finding>;

    /// A step in which one call of two has no result, and a history with such a step.
    async fn missing() -> Done<Finding>;

    /// A batch that hangs is stopped by a clock of the host, and another prompt follows.
    async fn timeout() -> Done<Finding>;

    /// A batch is saved as text in the middle, and resumed from it.
    async fn snapshot() -> Done<Finding>;

    /// What is said of the calls of a batch after it ended in the middle.
    async fn doubt() -> Done<Finding>;

    /// Two calls with one id, in one response.
    async fn equal_ids() -> Done<Finding>;
}

/// What each probe asks.
const ROWS: [&str; 7] = [
    "a read after a write of one file keeps its order",
    "four appends to one file all survive",
    "a batch that lacks a result is refused",
    "a batch stopped by a time-out: goes on, with usage and what was done",
    "a batch saved in the middle: what had not started runs, nothing else",
    "what may have run is told apart from what never started",
    "two equal call ids are kept apart",
];

/// Runs every probe against every loop, and prints what was seen.
pub fn run() -> Done<()> {
    let columns = [
        column::<ours::Ours>()?,
        column::<minimal::Handwritten>()?,
        #[cfg(feature = "peers")]
        column::<loopctl::Bare>()?,
        #[cfg(feature = "peers")]
        column::<rig::Rig>()?,
    ];
    let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
    let mut table = Table::of_words(&[&["in one batch of calls"], &*names].concat());
    let mut notes = Vec::new();
    for (row, what) in ROWS.into_iter().enumerate() {
        let mut cells = vec![what.to_owned()];
        for (name, findings) in &columns {
            let Finding { mut cell, notes: more } = findings[row].clone();
            for note in more {
                notes.push(format!("{name}: {note}"));
                cell += &format!(" ({})", notes.len());
            }
            cells.push(cell);
        }
        table.row(cells);
    }
    table.print("Who does what");
    println!();
    for (n, note) in notes.iter().enumerate() {
        println!("{}. {note}", n + 1);
    }
    Ok(())
}

/// A loop's name, and what it was seen to do.
type Column = (&'static str, [Finding; 7]);

fn column<P: Probes>() -> Done<Column> {
    let findings = [
        look::<P>(P::order())?,
        look::<P>(P::appends())?,
        look::<P>(P::missing())?,
        look::<P>(P::timeout())?,
        look::<P>(P::snapshot())?,
        look::<P>(P::doubt())?,
        look::<P>(P::equal_ids())?,
    ];
    Ok((P::NAME, findings))
}

/// Runs a probe on a runtime of its own, within its bound. An error is no finding: the probe is wrong.
fn look<P: Probes>(probe: impl Future<Output = Done<Finding>>) -> Done<Finding> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    match runtime.block_on(async { tokio::time::timeout(BOUND, probe).await }) {
        Ok(seen) => seen.map_err(|error| format!("{}: {error}", P::NAME).into()),
        Err(_) => Ok(Finding::of("no: it hangs")),
    }
}
