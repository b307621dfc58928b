//! A session's journal in one file: JSON lines with a checksum, for one writer at a time (J02 to J04, J09, J11).
//! `docs/journal.md` has the format and what survives what.
pub(crate) mod error;
pub(crate) mod line;
mod opened;
pub(crate) mod scan;
pub(crate) mod whole;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use machine_journal::Record;
use tokio::task::spawn_blocking;

use crate::error::BoxError;
pub use crate::file::error::FileError;
use crate::file::opened::Opened;
use crate::journal::Journal;
use crate::model::BoxFuture;

/// Bytes that wait in memory before they are written without being made durable.
pub(crate) const BUFFER: usize = 64 << 10;

/// What a torn end of a file was: the process died while it was written, and nothing of it was promised (J03).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn {
    /// The first line of it, from 1.
    pub line: u64,
    /// Its size. It is removed before the next line is written.
    pub bytes: u64,
}

/// Tells what a file's torn end was, once the file is open.
#[derive(Clone, Debug, Default)]
pub struct TornEnd(Arc<OnceLock<Torn>>);

impl TornEnd {
    /// None: it was whole, or it is not open yet.
    pub fn get(&self) -> Option<Torn> {
        self.0.get().copied()
    }
}

/// A journal in a file.
///
/// The file is created for its owner alone, and an existing one is made so. Links are followed once, when it is opened.
/// While it is open nobody else can open it: a lock of the operating system on `FILE.lock` says so, and goes with its
/// process. Opening changes nothing in the file, unless the [past](Self::drop_past_above) is dropped; a torn end goes
/// before the next line is written.
#[derive(Debug)]
pub struct FileJournal {
    inner: Arc<Mutex<Inner>>,
    torn: TornEnd,
}

/// Shared with work that goes on when whoever waited for it stopped.
#[derive(Debug)]
struct Inner {
    path: PathBuf,
    past: Option<u64>,
    open: Option<Opened>,
    broken: Option<String>,
}

impl FileJournal {
    /// The journal in this file; it is opened with its agent, and created if it is not there.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let inner = Inner { path: path.into(), past: None, open: None, broken: None };
        Self { inner: Arc::new(Mutex::new(inner)), torn: TornEnd::default() }
    }

    /// When the file is opened and is larger than this many bytes, the records before its last point are dropped: the
    /// session opens alike, and events, forks and replays reach back to that point only. If it cannot be done, all is kept.
    /// Default: all is kept.
    pub fn drop_past_above(self, bytes: u64) -> Self {
        self.lock().past = Some(bytes);
        self
    }

    /// Tells what was torn off at the end, once the file is open.
    pub fn torn(&self) -> TornEnd {
        self.torn.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// File work goes where it may block. Whoever stops waiting does not stop it: what was begun is finished in order.
    fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Inner) -> Result<T, FileError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, BoxError>> {
        let inner = self.inner.clone();
        let work = spawn_blocking(move || work(&mut inner.lock().unwrap_or_else(PoisonError::into_inner)));
        Box::pin(async move { Ok(work.await??) })
    }
}

impl Journal for FileJournal {
    fn open(&mut self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
        let torn = self.torn.clone();
        self.blocking(move |inner| {
            let (records, end) = inner.open()?;
            if let Some(end) = end {
                // It is opened once.
                let _ = torn.0.set(end);
            }
            Ok(records)
        })
    }

    fn read(&mut self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
        self.blocking(|inner| {
            inner.writing(Opened::write)?;
            inner.opened()?.read()
        })
    }

    fn append<'a>(&'a mut self, record: &'a Record) -> BoxFuture<'a, Result<(), BoxError>> {
        let added = self.lock().writing(|open| open.add(record));
        match added {
            Ok(true) => self.blocking(|inner| inner.writing(Opened::write)),
            Ok(false) => Box::pin(async { Ok(()) }),
            Err(error) => Box::pin(async { Err(error.into()) }),
        }
    }

    fn sync(&mut self) -> BoxFuture<'_, Result<(), BoxError>> {
        self.blocking(|inner| inner.writing(Opened::sync))
    }
}

impl Inner {
    fn open(&mut self) -> Result<(Vec<Record>, Option<Torn>), FileError> {
        if self.open.is_some() {
            return Err(FileError::Held { path: self.path.clone(), who: "this agent".into() });
        }
        let (open, records, torn) = Opened::open(&self.path, self.past)?;
        self.open = Some(open);
        Ok((records, torn))
    }

    fn opened(&mut self) -> Result<&mut Opened, FileError> {
        self.open.as_mut().ok_or_else(|| FileError::NotOpen { path: self.path.clone() })
    }

    /// After the first failure nothing is written: what comes later would not follow from what is there.
    fn writing<T>(&mut self, work: impl FnOnce(&mut Opened) -> Result<T, FileError>) -> Result<T, FileError> {
        if let Some(why) = &self.broken {
            return Err(FileError::Broken(why.clone()));
        }
        let done = work(self.opened()?);
        self.broken = done.as_ref().err().map(ToString::to_string);
        done
    }
}

#[cfg(test)]
mod tests;
