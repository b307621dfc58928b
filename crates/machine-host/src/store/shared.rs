//! What the clones of a store and its journals share. When the last of them goes, so does the writer.
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::spawn_blocking;

use crate::disk::{lock_of, share};
use crate::file::FileError;
use crate::store::error::StoreError;
use crate::store::files::open;
use crate::store::name::Name;
use crate::store::writer::{Barrier, Request, Write};

/// Files that are read at once; each is a descriptor.
const READERS: usize = 16;

/// How the writer ended; none while it works.
pub(crate) type Ended = Option<Result<(), String>>;

pub(crate) struct Shared {
    directory: PathBuf,
    /// Has at most one request of each journal.
    requests: mpsc::Sender<Request>,
    /// Sessions that are open.
    held: Mutex<BTreeSet<Name>>,
    readers: Semaphore,
    ended: watch::Receiver<Ended>,
}

/// A session that is open: nobody else has it (J09).
pub(crate) struct Held {
    shared: Arc<Shared>,
    name: Name,
}

impl Shared {
    pub(crate) fn new(
        directory: PathBuf,
        requests: mpsc::Sender<Request>,
        ended: watch::Receiver<Ended>,
    ) -> Arc<Self> {
        let (held, readers) = (Mutex::default(), Semaphore::new(READERS));
        Arc::new(Self { directory, requests, held, readers, ended })
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn ended(&self) -> watch::Receiver<Ended> {
        self.ended.clone()
    }

    pub(crate) fn hold(self: &Arc<Self>, name: Name) -> Result<Held, StoreError> {
        if !self.names().insert(name.clone()) {
            let who = "another journal of this store".to_owned();
            return Err(FileError::Held { path: name.path(&self.directory), who }.into());
        }
        Ok(Held { shared: self.clone(), name })
    }

    /// Gives bytes to the writer.
    pub(crate) fn write(
        &self,
        name: &Name,
        at: u64,
        cut: bool,
        bytes: Vec<u8>,
    ) -> Result<oneshot::Receiver<Result<(), StoreError>>, StoreError> {
        let (done, waits) = oneshot::channel();
        self.send(Request::Write(Write { name: name.clone(), at, cut, bytes, done }))?;
        Ok(waits)
    }

    /// Returns when all that the writer had is in the session's file.
    pub(crate) async fn barrier(&self, name: &Name) -> Result<(), StoreError> {
        let (done, waits) = oneshot::channel();
        self.send(Request::Settle(Barrier { name: name.clone(), done }))?;
        waits.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Reads where it may block, a bounded number at once.
    pub(crate) async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let _place = self.readers.acquire().await.map_err(|_| gone())?;
        let shared = self.clone();
        let work = spawn_blocking(move || work(&shared));
        work.await.map_err(|error| StoreError::Broken(error.to_string()))?
    }

    /// A session's file, if it is there, and nobody has it open without the store.
    pub(crate) fn session(&self, name: &Name) -> Result<Option<File>, StoreError> {
        let path = name.path(&self.directory);
        drop(share(&lock_of(&path), &path)?);
        let mut readable = OpenOptions::new();
        readable.read(true);
        match open(&self.directory, name, readable) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(FileError::io(&path, source).into()),
        }
    }

    fn send(&self, request: Request) -> Result<(), StoreError> {
        self.requests.send(request).map_err(|_| gone())
    }

    fn names(&self) -> MutexGuard<'_, BTreeSet<Name>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    pub(crate) fn name(&self) -> &Name {
        &self.name
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.shared.names().remove(&self.name);
    }
}

fn gone() -> StoreError {
    StoreError::Broken("its thread is gone".into())
}
