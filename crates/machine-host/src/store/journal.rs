//! A session in a store.
use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use machine_journal::Record;
use tokio::sync::oneshot;

use crate::error::BoxError;
use crate::file::line::encode;
use crate::file::scan::{Reach, Scan, scan};
use crate::file::{BUFFER, FileError, Torn};
use crate::journal::Journal;
use crate::model::BoxFuture;
use crate::store::error::StoreError;
use crate::store::name::Name;
use crate::store::shared::{Held, Shared};

/// The journal of one session in a [`Store`](crate::Store): a file `NAME.jsonl` in its directory, as a
/// [`FileJournal`](crate::FileJournal) would write it.
///
/// It is opened with its agent, and created if it is not there. While it is open the store gives it to nobody else
/// (J09); when it is dropped, it is free. What was appended and not synced by then is lost.
///
/// It waits for a thread, not for a timer or a task: time that is paused in a test goes on meanwhile.
pub struct StoreJournal {
    shared: Arc<Shared>,
    name: String,
    open: Option<Open>,
    broken: Option<String>,
}

/// A session that was loaded.
struct Open {
    held: Held,
    /// Where the next line goes.
    end: u64,
    /// Whether a torn end is beyond it.
    torn: bool,
    /// Lines that the writer does not have yet.
    buffer: Vec<u8>,
    /// Lines so far, those in the buffer included.
    lines: u64,
    /// The checksum of the last of them.
    last: u32,
    /// How many of them are durable.
    synced: u64,
    /// What the writer has and did not answer yet. It stays here if whoever waited for it stopped.
    waits: Option<Waits>,
}

struct Waits {
    lines: u64,
    done: oneshot::Receiver<Result<(), StoreError>>,
}

impl fmt::Debug for StoreJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shared: _, name, open, broken } = self;
        f.debug_struct("StoreJournal")
            .field("name", name)
            .field("is_open", &open.is_some())
            .field("broken", broken)
            .finish_non_exhaustive()
    }
}

impl Journal for StoreJournal {
    fn open(&mut self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
        Box::pin(async { Ok(self.open_session().await?) })
    }

    fn read(&mut self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
        Box::pin(async {
            self.usable()?;
            let written = self.write().await;
            self.checked(written)?;
            Ok(self.scan(Reach::All).await?.records)
        })
    }

    fn append<'a>(&'a mut self, record: &'a Record) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async {
            self.usable()?;
            let added = self.add(record).await;
            Ok(self.checked(added)?)
        })
    }

    fn sync(&mut self) -> BoxFuture<'_, Result<(), BoxError>> {
        Box::pin(async {
            self.usable()?;
            let written = self.write().await;
            Ok(self.checked(written)?)
        })
    }
}

impl StoreJournal {
    pub(crate) fn new(shared: Arc<Shared>, name: String) -> Self {
        Self { shared, name, open: None, broken: None }
    }

    fn usable(&self) -> Result<(), FileError> {
        self.broken.as_ref().map_or(Ok(()), |why| Err(FileError::Broken(why.clone())))
    }

    /// After the first failure nothing is written: what comes later would not follow from what is there.
    fn checked<T>(&mut self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        self.broken = done.as_ref().err().map(ToString::to_string);
        done
    }

    async fn open_session(&mut self) -> Result<Vec<Record>, StoreError> {
        if let Some(open) = &self.open {
            let path = open.held.name().path(self.shared.directory());
            return Err(FileError::Held { path, who: "this agent".into() }.into());
        }
        let held = self.shared.hold(Name::new(&self.name)?)?;
        // All that an earlier journal of this name gave away is to be in the file.
        self.shared.barrier(held.name()).await?;
        self.open = Some(Open::new(held));
        let scanned = self.scan(Reach::Opening).await;
        let Scan { records, lines, last, end, torn, .. } = match scanned {
            Ok(scan) => scan,
            Err(error) => {
                self.open = None;
                return Err(error);
            }
        };
        let open = self.opened()?;
        (open.end, open.torn, open.lines, open.last) = (end, torn.is_some(), lines, last);
        // It was made durable before it was read.
        open.synced = lines;
        if let Some(Torn { line, bytes }) = torn {
            tracing::warn!(session = self.name, line, bytes, "the end of the journal is torn");
        }
        Ok(records)
    }

    async fn scan(&mut self, reach: Reach) -> Result<Scan, StoreError> {
        let name = self.opened()?.held.name().clone();
        self.shared.blocking(move |shared| read(shared, &name, reach)).await
    }

    async fn add(&mut self, record: &Record) -> Result<(), StoreError> {
        let open = self.opened()?;
        encode(record, open.synced, &mut open.last, &mut open.buffer)?;
        open.lines += 1;
        if open.buffer.len() >= BUFFER {
            self.write().await?;
        }
        Ok(())
    }

    async fn write(&mut self) -> Result<(), StoreError> {
        let shared = self.shared.clone();
        let open = self.opened()?;
        // Somebody may have stopped waiting for an earlier one.
        open.answered().await?;
        open.send(&shared)?;
        open.answered().await
    }

    fn opened(&mut self) -> Result<&mut Open, StoreError> {
        self.open.as_mut().ok_or_else(|| FileError::NotOpen { path: self.name.clone().into() }.into())
    }
}

impl Open {
    /// Nothing is known of the file yet.
    fn new(held: Held) -> Self {
        Self { held, end: 0, torn: false, buffer: Vec::new(), lines: 0, last: 0, synced: 0, waits: None }
    }

    fn send(&mut self, shared: &Shared) -> Result<(), StoreError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let (at, cut) = (self.end, std::mem::take(&mut self.torn));
        let bytes = std::mem::take(&mut self.buffer);
        self.end += bytes.len() as u64;
        let done = shared.write(self.held.name(), at, cut, bytes)?;
        self.waits = Some(Waits { lines: self.lines, done });
        Ok(())
    }

    async fn answered(&mut self) -> Result<(), StoreError> {
        let Some(waits) = &mut self.waits else { return Ok(()) };
        let done = (&mut waits.done).await;
        self.synced = waits.lines;
        self.waits = None;
        done.unwrap_or_else(|_| Err(StoreError::Broken("its thread is gone".into())))
    }
}

/// Reads a session's file, if it is there. Another program may have written it, and what goes on from it relies on it.
fn read(shared: &Shared, name: &Name, reach: Reach) -> Result<Scan, StoreError> {
    let path = name.path(shared.directory());
    let mut bytes = Vec::new();
    if let Some(mut file) = shared.session(name)? {
        let read = file.sync_data().and_then(|()| file.read_to_end(&mut bytes));
        read.map_err(|source: io::Error| FileError::io(&path, source))?;
    }
    Ok(scan(&path, &bytes, reach)?)
}
