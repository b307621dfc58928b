//! What is on disk of a session, and a process that dies while it writes there.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use machine_host::{BoxError, BoxFuture, Journal};
use machine_journal::{MemoryJournal, Record};
use tokio::sync::Notify;

/// What is on disk of a session.
pub(crate) type Disk = Arc<Mutex<MemoryJournal>>;

/// The writing end of one opening.
pub(crate) struct Writing {
    disk: Disk,
    fate: Arc<Fate>,
}

/// Whether a process dies while it writes.
#[derive(Debug, Default)]
pub(crate) struct Fate {
    dies_unsaved: AtomicBool,
    dead: AtomicBool,
    buried: Notify,
}

impl Writing {
    pub(crate) fn new(disk: Disk, fate: Arc<Fate>) -> Self {
        Self { disk, fate }
    }
}

impl Fate {
    /// It will die when it next has to make something durable, just before that is.
    pub(crate) fn die_unsaved(&self) {
        self.dies_unsaved.store(true, Ordering::SeqCst);
    }

    /// It did.
    pub(crate) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    /// Its tasks may go.
    pub(crate) fn bury(&self) {
        self.dead.store(false, Ordering::SeqCst);
        self.buried.notify_one();
    }
}

impl Journal for Writing {
    fn open(&mut self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
        self.disk.open()
    }

    fn read(&mut self) -> BoxFuture<'_, Result<Vec<Record>, BoxError>> {
        self.disk.read()
    }

    fn append<'a>(&'a mut self, record: &'a Record) -> BoxFuture<'a, Result<(), BoxError>> {
        self.disk.append(record)
    }

    fn sync(&mut self) -> BoxFuture<'_, Result<(), BoxError>> {
        if !self.fate.dies_unsaved.swap(false, Ordering::SeqCst) {
            return self.disk.sync();
        }
        self.fate.dead.store(true, Ordering::SeqCst);
        // Nobody goes on before the process is gone; then nobody hears it.
        Box::pin(async {
            self.fate.buried.notified().await;
            Err("the process died".into())
        })
    }
}
