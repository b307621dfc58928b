//! A large journal: read, replayed, opened.
use std::path::Path;

use tokio::runtime;

use crate::journal::made::Made;
use crate::journal::work::Work;
use crate::rounds::Rounds;
use crate::script::USUAL;
use crate::table::{Table, short, thousands};
use crate::{Done, peak};

/// Makes one of this size and prints what it costs to have it again.
pub fn measure(place: &Path, bytes: u64, rounds: usize) -> Done<()> {
    let runtime = runtime::Builder::new_current_thread().build()?;
    let made = Made::by(place.join("large.jsonl"), USUAL, |_, so_far| so_far < bytes);
    let made = runtime.block_on(made)?;
    let took = Rounds::of(rounds, Work::ALL.len(), |thing| Work::ALL[thing].run(&made.path))?;
    let mut table = Table::of(&["", "s", "MB/s", "records/s", "x bytes", "x `Value`", "peak MB"]);
    for (thing, work) in Work::ALL.into_iter().enumerate() {
        let seconds = took.seconds(thing);
        let most = peak::of(work, &made.path)?;
        table.row([
            work.title().into(),
            short(seconds),
            thousands(mb(made.bytes) / seconds),
            thousands(made.records as f64 / seconds),
            short(took.ratio(thing, 0)),
            short(took.ratio(thing, 1)),
            most.map_or("?".into(), |most| thousands(mb(most))),
        ]);
    }
    let Made { turns, entries, records, .. } = made;
    let [turns, entries, records] = [turns, entries, records].map(|count| thousands(count as f64));
    let size = thousands(mb(made.bytes));
    table.print(&format!("A journal of {size} MB: {turns} turns, {entries} entries, {records} records"));
    std::fs::remove_file(&made.path)?;
    Ok(())
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
