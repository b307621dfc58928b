//! A recorded session as `replay` and `fork` look at it: only read, whoever has it open.
use std::path::{Path, PathBuf};

use machine_host::{FileJournal, Recorded};
use machine_journal::ReplayError;

use crate::program::console::tell;
use crate::program::exit::Usage;

/// The records up to this one (from 0), or all.
pub fn read(path: &Path, until: Option<usize>) -> Result<Recorded, Usage> {
    let wrong = |why: String| Usage::Record { path: path.to_owned(), why };
    let mut recorded = FileJournal::read(path).map_err(|error| Usage::Open(error.to_string()))?;
    if let Some(log) = store_log(path) {
        tell(&format!(
            "{}: what this store has durable may not be in its sessions' files yet",
            log.display()
        ));
    }
    let there = recorded.records.len();
    if there == 0 {
        return Err(wrong("there is no record in it".into()));
    }
    if let Some(until) = until {
        if until >= there {
            return Err(wrong(format!("--until {until}: its records are 0 to {}", there - 1)));
        }
        recorded.records.truncate(until + 1);
    }
    Ok(recorded)
}

/// What is wrong with its records. Record n is on line n + 1.
pub fn refused(path: &Path, error: &ReplayError) -> Usage {
    Usage::Record { path: path.to_owned(), why: error.to_string() }
}

/// The log of a store that is open, or that did not end in order, beside a session's file.
fn store_log(path: &Path) -> Option<PathBuf> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut beside = directory.read_dir().ok()?.filter_map(Result::ok).map(|entry| entry.path());
    beside.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("store.log.")))
}
