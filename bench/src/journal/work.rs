//! What may be done with a journal file.
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use machine_host::{FileJournal, Journal};
use machine_journal::{reopen, replay};
use tokio::runtime;

use crate::Done;

/// One of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Work {
    /// Its bytes are read.
    Bytes,
    /// Each line is parsed as JSON of any kind.
    Values,
    /// Its records are read and checked.
    Read,
    /// All of them are handled once more and compared. They are read before, which is not counted.
    Replay,
    /// It is opened from its points.
    Open,
}

impl Work {
    /// All of it, the plainest first.
    pub const ALL: [Self; 5] = [Self::Bytes, Self::Values, Self::Read, Self::Replay, Self::Open];

    /// As it is named in a command.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Values => "values",
            Self::Read => "read",
            Self::Replay => "replay",
            Self::Open => "open",
        }
    }

    /// As it is named in a table.
    pub fn title(self) -> &'static str {
        match self {
            Self::Bytes => "the bytes, plainly read",
            Self::Values => "each line parsed as a `Value`",
            Self::Read => "records read and checked",
            Self::Replay => "records replayed and compared",
            Self::Open => "opened from its points",
        }
    }

    /// Does it; gives how long it took. What it leaves is dropped later.
    pub fn run(self, file: &Path) -> Done<Duration> {
        match self {
            Self::Bytes => timed(|| Ok(std::fs::read(file)?)),
            Self::Values => timed(|| values(file)),
            Self::Read => timed(|| Ok(FileJournal::read(file)?)),
            Self::Replay => {
                let records = FileJournal::read(file)?.records;
                timed(|| Ok(replay(&records, &mut |_, _| {})?))
            }
            Self::Open => open(file),
        }
    }
}

fn timed<T>(work: impl FnOnce() -> Done<T>) -> Done<Duration> {
    let begin = Instant::now();
    let done = work()?;
    let took = begin.elapsed();
    drop(black_box(done));
    Ok(took)
}

fn values(file: &Path) -> Done<usize> {
    let bytes = std::fs::read(file)?;
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let values = lines.map(serde_json::from_slice::<serde_json::Value>);
    values.map(|value| Ok(usize::from(value?.is_object()))).sum()
}

fn open(file: &Path) -> Done<Duration> {
    let runtime = runtime::Builder::new_current_thread().build()?;
    let mut journal = FileJournal::at(file);
    timed(|| {
        let records = runtime.block_on(async { journal.open().await })?;
        Ok(reopen(&records)?)
    })
}
