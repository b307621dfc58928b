//! Appending, where each record is to be durable before the next, and where only the last is.
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use machine_core::input::{Command, Submit};
use machine_host::{FileJournal, Journal, Store};
use machine_journal::{Record, Writer};
use tokio::runtime::{self, Runtime};

use crate::Done;
use crate::journal::syncs;
use crate::rounds::{Rounds, median};
use crate::table::{Table, short, thousands};

/// How many sessions append at once, and how many records each.
#[derive(Clone, Copy, Debug)]
struct Load {
    sessions: usize,
    each: usize,
    /// Whether each record is made durable before the next.
    synced: bool,
}

const LOADS: [Load; 4] = [
    Load { sessions: 1, each: 200, synced: true },
    Load { sessions: 100, each: 20, synced: true },
    Load { sessions: 1_000, each: 10, synced: true },
    Load { sessions: 1, each: 100_000, synced: false },
];

#[derive(Clone, Copy, Debug)]
enum Way {
    Plain,
    File,
    Store,
}

const WAYS: [Way; 3] = [Way::Plain, Way::File, Way::Store];

/// Prints what it costs.
pub fn measure(place: &Path, rounds: usize) -> Done<()> {
    let runtime = runtime::Builder::new_multi_thread().build()?;
    for load in LOADS {
        let records: Vec<Record> = (0..=load.each).map(record).collect();
        let lines = runtime.block_on(lines(place, &records))?;
        let records: Arc<[Record]> = records.into();
        let mut syncs = [const { Vec::new() }; WAYS.len()];
        let took = Rounds::of(rounds, WAYS.len(), |thing| {
            let dir = tempfile::tempdir_in(place)?;
            let (took, count) = match WAYS[thing] {
                Way::Plain => plain(dir.path(), load, &lines)?,
                Way::File => file(&runtime, dir.path(), load, &records)?,
                Way::Store => store(&runtime, dir.path(), load, &records)?,
            };
            syncs[thing].push(count as f64);
            Ok(took)
        })?;
        print(load, &lines, &took, &syncs.map(median));
    }
    Ok(())
}

fn print(load: Load, lines: &[Vec<u8>], took: &Rounds, syncs: &[f64]) {
    let mut table = Table::of(&["", "records/s", "us a record", "syncs", "records a sync", "x plain"]);
    let count = (load.sessions * load.each) as f64;
    for (thing, way) in WAYS.into_iter().enumerate() {
        let (seconds, syncs) = (took.seconds(thing), syncs[thing]);
        table.row([
            way.title().into(),
            thousands(count / seconds),
            short(1e6 * seconds / count),
            thousands(syncs),
            short(count / syncs),
            short(took.ratio(thing, 0)),
        ]);
    }
    let bytes = lines.iter().map(Vec::len).sum::<usize>() / lines.len();
    let [sessions, each] = [load.sessions, load.each].map(|count| thousands(count as f64));
    let synced = if load.synced { "each synced" } else { "one sync at the end" };
    table.print(&format!("{sessions} sessions at once, {each} records of {bytes} bytes each, {synced}"));
}

impl Way {
    fn title(self) -> &'static str {
        match self {
            Self::Plain => "`write` and `fdatasync`, a thread a file",
            Self::File => "`FileJournal`",
            Self::Store => "`Store`",
        }
    }
}

/// About 300 bytes, as a line.
fn record(n: usize) -> Record {
    if n == 0 {
        return Writer::header(1, Arc::default());
    }
    let text = "what a person or a tool has to say, in one line. ".repeat(3);
    let input = Command::Submit(Submit::text(format!("prompt-{n}"), text)).into();
    Record::In { n: n as u64, at: 1_764_500_000_000, about: None, input }
}

/// The bytes of these records in a file, without the header.
async fn lines(place: &Path, records: &[Record]) -> Done<Vec<Vec<u8>>> {
    let dir = tempfile::tempdir_in(place)?;
    let path = dir.path().join("lines.jsonl");
    let mut journal = FileJournal::at(&path);
    journal.open().await?;
    for record in records {
        journal.append(record).await?;
    }
    journal.sync().await?;
    let bytes = fs::read(&path)?;
    Ok(bytes.split_inclusive(|byte| *byte == b'\n').skip(1).map(<[u8]>::to_vec).collect())
}

/// A thread a session, as plain as it can be.
fn plain(dir: &Path, load: Load, lines: &[Vec<u8>]) -> Done<(Duration, usize)> {
    let files = (0..load.sessions).map(|session| File::create(dir.join(session.to_string())));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let ready = Barrier::new(load.sessions + 1);
    let took = thread::scope(|scope| {
        let write = |mut file: File| {
            ready.wait();
            if !load.synced {
                // In as large pieces as a journal writes.
                lines.chunks(185).try_for_each(|some| file.write_all(&some.concat()))?;
                return file.sync_data();
            }
            lines.iter().try_for_each(|line| file.write_all(line).and_then(|()| file.sync_data()))
        };
        let threads: Vec<_> = files.into_iter().map(|file| scope.spawn(move || write(file))).collect();
        ready.wait();
        let begin = Instant::now();
        for thread in threads {
            thread.join().map_err(|_| "a thread panicked")??;
        }
        Done::Ok(begin.elapsed())
    })?;
    Ok((took, syncs_of(load)))
}

fn file(runtime: &Runtime, dir: &Path, load: Load, records: &Arc<[Record]>) -> Done<(Duration, usize)> {
    let journals = (0..load.sessions).map(|session| FileJournal::at(dir.join(session.to_string())));
    runtime.block_on(async {
        let journals = begun(journals, &records[0]).await?;
        let (took, _) = appended(journals, load, records).await?;
        Ok((took, syncs_of(load)))
    })
}

fn store(runtime: &Runtime, dir: &Path, load: Load, records: &Arc<[Record]>) -> Done<(Duration, usize)> {
    runtime.block_on(async {
        let store = Store::open(dir).await?;
        let journals = (0..load.sessions).map(|session| store.journal(session.to_string()));
        let journals = begun(journals, &records[0]).await?;
        let before = syncs::of_log(dir)?;
        let (took, journals) = appended(journals, load, records).await?;
        let count = syncs::of_log(dir)? - before;
        drop(journals);
        store.close().await?;
        Ok((took, count))
    })
}

/// What each session syncs by itself.
fn syncs_of(load: Load) -> usize {
    load.sessions * if load.synced { load.each } else { 1 }
}

/// Each has its header, durably.
async fn begun<J: Journal>(journals: impl Iterator<Item = J>, header: &Record) -> Done<Vec<J>> {
    let mut begun = Vec::new();
    for mut journal in journals {
        journal.open().await?;
        journal.append(header).await?;
        journal.sync().await?;
        begun.push(journal);
    }
    Ok(begun)
}

/// Each journal appends in a task of its own.
async fn appended<J: Journal>(
    journals: Vec<J>,
    load: Load,
    records: &Arc<[Record]>,
) -> Done<(Duration, Vec<J>)> {
    let begin = Instant::now();
    let tasks: Vec<_> =
        journals.into_iter().map(|journal| tokio::spawn(session(journal, load, records.clone()))).collect();
    let mut done = Vec::with_capacity(tasks.len());
    for task in tasks {
        done.push(task.await??);
    }
    Ok((begin.elapsed(), done))
}

async fn session<J: Journal>(mut journal: J, load: Load, records: Arc<[Record]>) -> Done<J> {
    for record in &records[1..] {
        journal.append(record).await?;
        if load.synced {
            journal.sync().await?;
        }
    }
    journal.sync().await?;
    Ok(journal)
}
