//! Where records go, and the order of writing (J02).
use std::sync::{Arc, Mutex, PoisonError};

use machine_adapter::{Engine, Out};
use machine_core::Text;
use machine_core::input::Input;
use machine_journal::{MemoryJournal, Record, Writer};

use crate::error::BoxError;
use crate::model::BoxFuture;
use crate::unwind::caught;

/// A session's journal. One writer at a time (J09).
///
/// A panic counts as an error (H03). After the first error nothing is written any more: the agent is faulted, and the
/// way out is to open it again (J10).
pub trait Journal: Send + 'static {
    /// Opens it, once, and gives the records that opening needs, oldest first; none for a new session. These are at least the
    /// header, every point, and what comes after the last point; more may come. While somebody else has it open, it is
    /// refused.
    fn open(&mut self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>>;

    /// All records that there are, oldest first. It may be asked at any time while it is open.
    fn read(&mut self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>>;

    /// Adds a record. It need not be durable yet.
    fn append<'a>(&'a mut self, record: &'a Record) -> BoxFuture<'a, Result<(), BoxError>>;

    /// Returns when everything that was added is durable.
    fn sync(&mut self) -> BoxFuture<'_, Result<(), BoxError>>;
}

impl Journal for MemoryJournal {
    fn open(&mut self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
        self.read()
    }

    fn read(&mut self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
        Box::pin(async { Ok(self.records().to_vec()) })
    }

    fn append<'a>(&'a mut self, record: &'a Record) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async {
            self.append(record.clone());
            Ok(())
        })
    }

    fn sync(&mut self) -> BoxFuture<'_, Result<(), BoxError>> {
        Box::pin(async {
            self.sync();
            Ok(())
        })
    }
}

/// A journal in memory that outlives its agent: whoever has the other clone can open it again.
impl Journal for Arc<Mutex<MemoryJournal>> {
    fn open(&mut self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
        self.read()
    }

    fn read(&mut self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
        Box::pin(async { Ok(lock(self).records().to_vec()) })
    }

    fn append<'a>(&'a mut self, record: &'a Record) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async {
            lock(self).append(record.clone());
            Ok(())
        })
    }

    fn sync(&mut self) -> BoxFuture<'_, Result<(), BoxError>> {
        Box::pin(async {
            lock(self).sync();
            Ok(())
        })
    }
}

fn lock(journal: &Mutex<MemoryJournal>) -> std::sync::MutexGuard<'_, MemoryJournal> {
    journal.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The writing end: writes no more after the first error.
pub(crate) struct Log {
    /// Without a journal nothing is kept, and everything counts as durable.
    kept: Option<Kept>,
    broken: Option<Text>,
}

struct Kept {
    journal: Box<dyn Journal>,
    writer: Writer,
    /// Records on their way to the journal.
    records: Vec<Record>,
}

impl Log {
    /// Goes on where the writer is.
    pub(crate) fn new(journal: Option<Box<dyn Journal>>, writer: Writer) -> Self {
        let kept = journal.map(|journal| Kept { journal, writer, records: Vec::new() });
        Self { kept, broken: None }
    }

    /// How many inputs are written.
    pub(crate) fn inputs(&self) -> u64 {
        self.kept.as_ref().map_or(0, |kept| kept.writer.inputs())
    }

    /// Why nothing is written any more: an append or a sync failed.
    pub(crate) fn broken(&self) -> Option<&Text> {
        self.broken.as_ref()
    }

    /// Nothing is written any more.
    pub(crate) fn give_up(&mut self, why: Text) {
        self.broken = Some(why);
    }

    /// Takes an input that is about to be handled. Deltas may wait for more of their kind.
    pub(crate) fn input(&mut self, engine: &Engine, at: u64, input: &Input) {
        if let Some(kept) = self.working() {
            kept.writer.input(engine, at, input, &mut kept.records);
        }
    }

    /// Takes what belongs after an input that was handled: the acts that are about to leave, a point.
    pub(crate) fn handled(&mut self, engine: &Engine, out: &Out) {
        if let Some(kept) = self.working() {
            kept.writer.handled(engine, out, &mut kept.records);
        }
    }

    /// Writes what was taken. Where nothing is to be written this costs nothing: futures that may wait for a disk are large,
    /// and are not moved through those of every input.
    pub(crate) async fn write(&mut self) -> Result<(), Text> {
        match self.working() {
            Some(kept) if !kept.records.is_empty() => Box::pin(self.append()).await,
            Some(_) | None => Ok(()),
        }
    }

    /// Makes everything durable.
    pub(crate) async fn make_durable(&mut self) -> Result<(), Text> {
        match self.working() {
            Some(_) => Box::pin(self.sync()).await,
            None => Ok(()),
        }
    }

    /// All records, from the oldest that is kept.
    pub(crate) async fn read(&mut self) -> Result<Vec<Record>, Text> {
        let Kept { journal, .. } = self.kept.as_mut().ok_or("there is no journal")?;
        caught(async { journal.read().await }).await?.map_err(|error| error.to_string().into())
    }

    async fn append(&mut self) -> Result<(), Text> {
        let Some(Kept { journal, records, .. }) = self.working() else { return Ok(()) };
        let mut done = Ok(Ok(()));
        for record in records.drain(..) {
            done = caught(async { journal.append(&record).await }).await;
            if !matches!(done, Ok(Ok(()))) {
                break;
            }
        }
        self.checked(done)
    }

    async fn sync(&mut self) -> Result<(), Text> {
        if let Some(kept) = self.working() {
            kept.writer.flush(&mut kept.records);
        }
        self.append().await?;
        let Some(Kept { journal, .. }) = self.working() else { return Ok(()) };
        let done = caught(async { journal.sync().await }).await;
        self.checked(done)
    }

    fn working(&mut self) -> Option<&mut Kept> {
        self.kept.as_mut().filter(|_| self.broken.is_none())
    }

    fn checked(&mut self, done: Result<Result<(), BoxError>, Text>) -> Result<(), Text> {
        let done = done.and_then(|done| done.map_err(|error| error.to_string().into()));
        self.broken = done.clone().err();
        done
    }
}
