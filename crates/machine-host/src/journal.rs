//! Where records go, and the order of writing (J02).
use std::sync::{Arc, Mutex, PoisonError};

use machine_core::Text;
use machine_core::ask::Ask;
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
    /// All records, oldest first; none for a new session.
    fn load(&mut self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>>;

    /// Adds a record. It need not be durable yet.
    fn append<'a>(&'a mut self, record: &'a Record) -> BoxFuture<'a, Result<(), BoxError>>;

    /// Returns when everything that was added is durable.
    fn sync(&mut self) -> BoxFuture<'_, Result<(), BoxError>>;
}

impl Journal for MemoryJournal {
    fn load(&mut self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
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
    fn load(&mut self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
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

/// The writing end: numbers records, and writes no more after the first error.
pub(crate) struct Log {
    journal: Option<Box<dyn Journal>>,
    writer: Writer,
    broken: Option<Text>,
}

impl Log {
    /// Goes on after this many inputs. Without a journal nothing is kept, and everything counts as durable.
    pub(crate) fn new(journal: Option<Box<dyn Journal>>, writer: Writer) -> Self {
        Self { journal, writer, broken: None }
    }

    /// How many inputs are written.
    pub(crate) fn inputs(&self) -> u64 {
        self.writer.inputs()
    }

    /// Why nothing is written any more: an append or a sync failed.
    pub(crate) fn broken(&self) -> Option<&Text> {
        self.broken.as_ref()
    }

    /// Writes an input that is about to be handled.
    pub(crate) async fn input(&mut self, at: u64, input: &Input) -> Result<(), Text> {
        let record = self.writer.input(at, input.clone());
        self.write(&record).await
    }

    /// Writes the acts that are about to leave, and makes everything durable.
    pub(crate) async fn make_durable(&mut self, acts: &[Ask]) -> Result<(), Text> {
        if let Some(record) = self.writer.acts(acts) {
            self.write(&record).await?;
        }
        let Some(journal) = self.working() else { return Ok(()) };
        let done = caught(async { journal.sync().await }).await;
        self.checked(done)
    }

    /// All records, from the beginning.
    pub(crate) async fn load(&mut self) -> Result<Vec<Record>, Text> {
        let journal = self.journal.as_mut().ok_or("there is no journal")?;
        caught(async { journal.load().await }).await?.map_err(|error| error.to_string().into())
    }

    async fn write(&mut self, record: &Record) -> Result<(), Text> {
        let Some(journal) = self.working() else { return Ok(()) };
        let done = caught(async { journal.append(record).await }).await;
        self.checked(done)
    }

    fn working(&mut self) -> Option<&mut Box<dyn Journal>> {
        self.journal.as_mut().filter(|_| self.broken.is_none())
    }

    fn checked(&mut self, done: Result<Result<(), BoxError>, Text>) -> Result<(), Text> {
        let done = done.and_then(|done| done.map_err(|error| error.to_string().into()));
        self.broken = done.clone().err();
        done
    }
}
