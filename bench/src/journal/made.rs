//! A journal file that is made for a benchmark.
use std::fs;
use std::path::{Path, PathBuf};

use machine_host::{FileJournal, Journal};

use crate::Done;
use crate::script::{Script, Shape};

/// The file, and what is in it.
pub struct Made {
    pub path: PathBuf,
    pub turns: usize,
    pub entries: usize,
    pub records: usize,
    pub bytes: u64,
}

impl Made {
    /// Writes turns while it says so; it is asked with the turns and the bytes so far.
    pub async fn by(path: PathBuf, shape: Shape, goes_on: impl Fn(usize, u64) -> bool) -> Done<Self> {
        let (mut script, mut journal) = (Script::new()?, FileJournal::at(&path));
        journal.open().await?;
        let (mut turns, mut records, mut bytes) = (0, 0, 0);
        while goes_on(turns, bytes) {
            for record in script.turn(shape)? {
                journal.append(&record).await?;
                records += 1;
            }
            turns += 1;
            bytes = size(&path)?;
        }
        journal.sync().await?;
        drop(journal);
        Ok(Self { bytes: size(&path)?, path, turns, entries: script.entries(), records })
    }
}

fn size(path: &Path) -> Done<u64> {
    Ok(fs::metadata(path)?.len())
}
