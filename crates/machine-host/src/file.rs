//! A session's journal in one file: JSON lines with a checksum, for one writer at a time (J02 to J04, J09, J11).
//! `docs/journal.md` has the format and what survives what.
pub(crate) mod line;
pub(crate) mod scan;
pub(crate) mod whole;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use machine_journal::Record;
use tokio::task::spawn_blocking;

use crate::disk::{lock, lock_of, make_private, private, sync_directory};
use crate::error::BoxError;
use crate::file::line::encode;
use crate::file::scan::{Scan, scan};
use crate::file::whole::forget_past;
use crate::journal::{Journal, Reach};
use crate::model::BoxFuture;
use crate::store;

/// Bytes that wait in memory before they are written without being made durable.
pub(crate) const BUFFER: usize = 64 << 10;

/// Why a journal file cannot be used. Each names the file and says what to do.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system says no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
    /// Somebody has it open (J09).
    #[error("{} is open in {who}: close it there first", path.display())]
    Held {
        /// The file.
        path: PathBuf,
        /// A process, as far as it can be known.
        who: String,
    },
    /// A line that was durable is damaged (J04). The file is untouched.
    #[error("{}: line {line} (byte {offset}) is damaged, and later lines are not: restore the file from a copy", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// Where it begins.
        offset: u64,
    },
    /// A line is sound and cannot be understood: a later version wrote it.
    #[error("{}: line {line}: {why}: open it with the version that wrote it, or a later one", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is not understood.
        why: String,
    },
    /// A record is too large.
    #[error(
        "a record of {bytes} bytes is too large, the most are {most}: let long output go to files (`spill`)"
    )]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// What is allowed.
        most: usize,
    },
    /// A store has the directory, and what it promised is not in the files yet.
    #[error("{}: the store of this directory did not end in order: open it with `Store::open` first", path.display())]
    InStore {
        /// The file.
        path: PathBuf,
    },
    /// An earlier write failed.
    #[error("nothing is written after the first failure: {0}")]
    Broken(String),
}

impl FileError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}

/// What a torn end of a file was: the process died while it was written, and nothing of it was promised (J03).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn {
    /// The first line of it, from 1.
    pub line: u64,
    /// Its size. It is removed before the next line is written.
    pub bytes: u64,
}

/// A journal in a file.
///
/// The file is created for its owner alone, and an existing one is made so. Links are followed once, when it is opened.
/// While it is open nobody else can open it: a lock of the operating system on `FILE.lock` says so, and goes with its
/// process. Opening changes nothing in the file; a torn end goes before the next line is written.
#[derive(Clone, Debug)]
pub struct FileJournal {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    /// A file that is larger when it is opened loses the records before its last point.
    past: Option<u64>,
    open: Option<Open>,
    /// Lines that are not written yet.
    buffer: Vec<u8>,
    broken: Option<String>,
}

#[derive(Debug)]
struct Open {
    file: File,
    /// Where the next line goes; beyond it is a torn end.
    end: u64,
    torn: Option<Torn>,
    /// Lines so far, those in the buffer included.
    lines: u64,
    /// The checksum of the last of them.
    last: u32,
    /// How many of them are durable.
    synced: u64,
    _lock: File,
    /// Keeps a store out, where there is one.
    _no_store: Option<File>,
}

impl FileJournal {
    /// The journal in this file; it is opened with its agent, and created if it is not there.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let inner = Inner { path: path.into(), past: None, open: None, buffer: Vec::new(), broken: None };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }

    /// When the file is opened and is larger than this many bytes, the records before its last point are dropped: the
    /// session opens alike, and events, forks and replays reach back to that point only. Default: all is kept.
    pub fn forget_past_above(self, bytes: u64) -> Self {
        self.lock().past = Some(bytes);
        self
    }

    /// What was torn off at the end when the file was opened; none if it was whole, or is not open yet.
    pub fn torn(&self) -> Option<Torn> {
        self.lock().open.as_ref().and_then(|open| open.torn)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// File work goes where it may block. Whoever stops waiting does not stop it: what was begun is finished in order.
    fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Inner) -> Result<T, FileError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, BoxError>> {
        let inner = self.inner.clone();
        let work = spawn_blocking(move || {
            let mut inner = inner.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(why) = &inner.broken {
                return Err(FileError::Broken(why.clone()));
            }
            let done = work(&mut inner);
            if let Err(error) = &done {
                inner.broken = Some(error.to_string());
            }
            done
        });
        Box::pin(async move { Ok(work.await??) })
    }
}

impl Journal for FileJournal {
    fn load(&mut self, reach: Reach) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
        self.blocking(move |inner| inner.load(reach))
    }

    fn append<'a>(&'a mut self, record: &'a Record) -> BoxFuture<'a, Result<(), BoxError>> {
        let full = {
            let mut inner = self.lock();
            match inner.add(record) {
                Ok(full) => full,
                Err(error) => {
                    inner.broken = Some(error.to_string());
                    return Box::pin(async { Err(error.into()) });
                }
            }
        };
        match full {
            true => self.blocking(Inner::write),
            false => Box::pin(async { Ok(()) }),
        }
    }

    fn sync(&mut self) -> BoxFuture<'_, Result<(), BoxError>> {
        self.blocking(Inner::sync)
    }
}

impl Inner {
    /// Opens the file if it is not open, checks all of it, and reads what is needed.
    fn load(&mut self, reach: Reach) -> Result<Vec<Record>, FileError> {
        if self.open.is_some() {
            self.write()?;
        } else {
            self.open()?;
        }
        let scan = self.scan(reach)?;
        if let Some(Torn { line, bytes }) = scan.torn {
            tracing::warn!(path = %self.path.display(), line, bytes, "the end of the journal is torn");
        }
        if let Some(open) = &mut self.open {
            (open.end, open.torn, open.lines, open.last) = (scan.end, scan.torn, scan.lines, scan.last);
            // What was read may be in the system's memory only. Whoever goes on from it must be able to rely on it.
            let synced = open.file.sync_data();
            synced.map_err(|source| FileError::Io { path: self.path.clone(), source })?;
            open.synced = open.lines;
        }
        Ok(scan.records)
    }

    fn scan(&mut self, reach: Reach) -> Result<Scan, FileError> {
        let Some(open) = &mut self.open else { return scan(&self.path, &[], reach) };
        let mut bytes = Vec::new();
        let read = open.file.seek(SeekFrom::Start(0)).and_then(|_| open.file.read_to_end(&mut bytes));
        read.map_err(|source| FileError::Io { path: self.path.clone(), source })?;
        let scanned = scan(&self.path, &bytes, reach)?;
        let is_long = self.past.take().is_some_and(|most| scanned.end > most);
        match is_long.then(|| forget_past(&self.path, &scanned.records)).transpose()?.flatten() {
            Some(file) => {
                open.file = file;
                Ok(Scan { torn: scanned.torn, ..self.scan(reach)? })
            }
            None => Ok(scanned),
        }
    }

    fn open(&mut self) -> Result<(), FileError> {
        let given = self.path.clone();
        let failed = |source| FileError::Io { path: given.clone(), source };
        let is_new = !self.path.exists();
        let file = private().open(&self.path).map_err(failed)?;
        self.path = self.path.canonicalize().map_err(failed)?;
        make_private(&file).map_err(failed)?;
        let lock = lock(&lock_of(&self.path), &self.path)?;
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        // In this order: a store looks for the lock of a file after it has its own.
        let no_store = store::keep_out(directory, &self.path)?;
        if is_new {
            sync_directory(directory).map_err(failed)?;
        }
        let (_lock, _no_store) = (lock, no_store);
        self.open = Some(Open { file, end: 0, torn: None, lines: 0, last: 0, synced: 0, _lock, _no_store });
        Ok(())
    }

    /// Takes a line; whether enough wait to be written.
    fn add(&mut self, record: &Record) -> Result<bool, FileError> {
        if let Some(why) = &self.broken {
            return Err(FileError::Broken(why.clone()));
        }
        let Some(open) = &mut self.open else {
            return Err(FileError::Broken("the file was not read yet".into()));
        };
        encode(record, open.synced, &mut open.last, &mut self.buffer)?;
        open.lines += 1;
        Ok(self.buffer.len() >= BUFFER)
    }

    /// Writes what waits. What was torn goes first, durably.
    fn write(&mut self) -> Result<(), FileError> {
        let Some(open) = &mut self.open else { return Ok(()) };
        if self.buffer.is_empty() {
            return Ok(());
        }
        let written = (|| {
            if open.file.metadata()?.len() > open.end {
                open.file.set_len(open.end)?;
                open.file.sync_all()?;
            }
            open.file.seek(SeekFrom::Start(open.end))?;
            open.file.write_all(&self.buffer)
        })();
        written.map_err(|source| FileError::Io { path: self.path.clone(), source })?;
        open.end += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn sync(&mut self) -> Result<(), FileError> {
        self.write()?;
        let Some(open) = &mut self.open else { return Ok(()) };
        if open.synced < open.lines {
            let synced = open.file.sync_data();
            synced.map_err(|source| FileError::Io { path: self.path.clone(), source })?;
            open.synced = open.lines;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
