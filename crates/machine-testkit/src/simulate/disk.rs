//! Journals that fail: in memory, with what a dead process did not make durable; and in a real file.
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use machine_host::{BoxError, BoxFuture, FileJournal, Journal};
use machine_journal::Record;

use super::fault::Fault;
use super::world::{World, fall};

/// Where a session is kept, over all its openings.
#[derive(Clone)]
pub(super) struct Disk {
    world: Arc<World>,
    kept: Arc<Mutex<Kept>>,
    file: Option<Arc<tempfile::TempDir>>,
}

#[derive(Default)]
struct Kept {
    records: Vec<Record>,
    synced: usize,
    /// A writer has it (J09).
    open: bool,
    /// Faults that struck since it was opened.
    struck: BTreeSet<&'static str>,
    /// After so many records the process that writes hangs, and is about to be killed.
    hangs_after: Option<u64>,
}

impl Disk {
    /// In memory, or in a file.
    pub(super) fn new(world: &Arc<World>, in_file: bool) -> Self {
        let file = if in_file { tempfile::tempdir().ok().map(Arc::new) } else { None };
        Self { world: world.clone(), kept: Arc::default(), file }
    }

    /// A writer for one opening.
    pub(super) fn pen(&self) -> Pen {
        let file = self.path().map(FileJournal::at);
        let mut kept = self.kept();
        kept.struck.clear();
        kept.hangs_after = None;
        drop(kept);
        Pen { disk: self.clone(), file, open: false }
    }

    /// The process is dead: of what it did not make durable a part is there, from its beginning.
    pub(super) fn crash(&self) {
        let mut kept = self.kept();
        let lost = kept.records.len() - kept.synced;
        let left = kept.synced + self.world.random.index(lost + 1);
        kept.records.truncate(left);
        kept.synced = left;
    }

    /// The next process that writes is killed after so many records.
    pub(super) fn hang_after(&self, records: u64) {
        self.kept().hangs_after = Some(records);
    }

    pub(super) fn hangs_no_more(&self) {
        self.kept().hangs_after = None;
    }

    fn hangs(&self) -> bool {
        let mut kept = self.kept();
        let hangs = kept.hangs_after == Some(0);
        kept.hangs_after = kept.hangs_after.map(|records| records.saturating_sub(1));
        hangs
    }

    pub(super) fn is_open(&self) -> bool {
        self.kept().open
    }

    /// Whether it failed since it was opened.
    pub(super) fn has_failed(&self) -> bool {
        !self.kept().struck.is_empty()
    }

    /// Everything that is there. Call it when nobody writes.
    pub(super) fn records(&self) -> Result<Vec<Record>, String> {
        match self.path() {
            Some(path) => FileJournal::read(path).map(|read| read.records).map_err(|error| error.to_string()),
            None => Ok(self.kept().records.clone()),
        }
    }

    fn path(&self) -> Option<PathBuf> {
        self.file.as_ref().map(|dir| dir.path().join("session.jsonl"))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session writes often.
    fn rarely(&self, fault: Fault) -> bool {
        self.noted(fault, self.world.rarely(fault))
    }

    fn noted(&self, fault: Fault, strikes: bool) -> bool {
        if strikes {
            self.kept().struck.insert(fault.name());
        }
        strikes
    }
}

/// The writing end of one opening.
pub(super) struct Pen {
    disk: Disk,
    file: Option<FileJournal>,
    open: bool,
}

impl Drop for Pen {
    fn drop(&mut self) {
        if self.open {
            self.disk.kept().open = false;
        }
    }
}

impl Journal for Pen {
    fn open(&mut self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
        Box::pin(async {
            let held = std::mem::replace(&mut self.disk.kept().open, true);
            self.disk.world.check(!held, || "J09: a second writer opens the journal".into());
            self.open = true;
            let fails = self.disk.world.strikes(Fault::DiskOpenFails);
            if self.disk.noted(Fault::DiskOpenFails, fails) {
                return Err("it cannot be opened".into());
            }
            match &mut self.file {
                Some(file) => at_once(file.open()),
                None => Ok(self.disk.kept().records.clone()),
            }
        })
    }

    fn read(&mut self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
        Box::pin(async {
            match &mut self.file {
                Some(file) => at_once(file.read()),
                None => Ok(self.disk.kept().records.clone()),
            }
        })
    }

    fn append<'a>(&'a mut self, record: &'a Record) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async {
            if self.disk.hangs() {
                std::future::pending::<()>().await;
            }
            if self.disk.rarely(Fault::DiskAppendFails) {
                return Err("no space left".into());
            }
            if self.disk.rarely(Fault::DiskPanics) {
                fall("the journal fell over");
            }
            match &mut self.file {
                Some(file) => at_once(file.append(record))?,
                None => self.disk.kept().records.push(record.clone()),
            }
            match self.disk.rarely(Fault::DiskAppendTears) {
                true => Err("no space left, but it was written".into()),
                false => Ok(()),
            }
        })
    }

    fn sync(&mut self) -> BoxFuture<'_, Result<(), BoxError>> {
        Box::pin(async {
            if self.disk.world.strikes(Fault::DiskSlow) {
                tokio::time::sleep(Duration::from_millis(self.disk.world.random.below(20))).await;
            }
            if self.disk.rarely(Fault::DiskSyncFails) {
                return Err("it cannot be made durable".into());
            }
            if let Some(file) = &mut self.file {
                return at_once(file.sync());
            }
            let mut kept = self.disk.kept();
            kept.synced = kept.records.len();
            Ok(())
        })
    }
}

/// Waits for file work where it is. While it were awaited the rest would go on in an order that depends on the machine,
/// and paused time would stand still.
fn at_once<T>(work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(tokio::task::unconstrained(work));
    let waker = Waker::from(Arc::new(Thread(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(done) = work.as_mut().poll(&mut context) {
            return done;
        }
        std::thread::park();
    }
}

struct Thread(std::thread::Thread);

impl Wake for Thread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
