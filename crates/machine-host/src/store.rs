//! Many sessions in one directory: one lock, one writer, few descriptors, and one sync for all that wait (J02 to J04,
//! J09 to J11, H06). `docs/journal.md` has what it guarantees and what to do after damage.
//!
//! What a session writes goes to a log that all share, and that is what is synced. Then it is written to the session's
//! own file, without a sync. When the log has grown, the files that it speaks of are synced and it is removed. A store
//! that did not end in order does again what its log says.
//!
//! | module | its one job |
//! |---|---|
//! | `journal`, `shared` | the end of a session; what all of them share |
//! | `writer` | all that waits becomes one group: durable, written, answered |
//! | `log`, `entry` | the log's files; one entry |
//! | `files`, `name` | sessions' files, a bounded number of them open; their names |
//! | `settle` | old files of the log go |
//! | `redo` | what a log says is done again |
//! | `seam` | where tests look on and interfere |
mod entry;
mod error;
mod files;
mod journal;
mod log;
mod name;
mod redo;
mod seam;
mod settle;
mod shared;
mod writer;

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::Builder;

use tokio::sync::watch;
use tokio::task::spawn_blocking;

use crate::disk::{lock, private_directory, share};
use crate::file::FileError;
use crate::store::files::Files;
use crate::store::log::{Log, generations};
use crate::store::name::Name;
use crate::store::redo::redo;
use crate::store::seam::Seam;
use crate::store::settle::Settler;
use crate::store::shared::{Ended, Shared};
use crate::store::writer::{Broken, Writer};

pub use error::StoreError;
pub use journal::StoreJournal;

const LOCK: &str = "store.lock";

/// A directory of journals, for one program at a time (J09).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let directory = directory.path().join("sessions");
/// # async fn model(
/// #     _: machine_adapter::Request,
/// #     _: machine_host::ModelOut,
/// # ) -> Result<machine_core::response::Finished, machine_core::response::ModelError> {
/// #     Ok(machine_core::response::Finished::new(machine_core::response::Finish::EndTurn))
/// # }
/// use machine_host::{Agent, Store};
///
/// let store = Store::open(directory).await?;
/// let agent = Agent::builder().model(model).journal(store.journal("monday")).open().await?;
/// agent.close().await?;
/// drop(agent);
/// assert_eq!(store.names().await?, ["monday"]);
/// store.close().await?;
/// # Ok(())
/// # }
/// ```
///
/// A clone is the same store. What a session was told is durable stays so, whatever happens to the process (J02); with
/// many sessions at work it costs far fewer syncs than there are sessions. A session at rest has no open file (H06).
/// A full disk fails the sessions that wanted to write just then; a disk that does not keep its word stops the whole
/// store, and opening it again goes on from what is safe (J10). The directory and all files are made for their owner
/// alone (J11).
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

/// Describes a store; [`Store::builder`] begins one.
#[derive(Clone, Debug)]
pub struct StoreBuilder {
    directory: PathBuf,
    descriptors: usize,
    log_bytes: u64,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.shared.directory()).finish()
    }
}

impl Store {
    /// Opens the store in this directory, which is made if it is not there. What an earlier one left in its log is
    /// done again; if that is not possible, nothing is changed (J04).
    pub async fn open(directory: impl Into<PathBuf>) -> Result<Self, StoreError> {
        Self::builder(directory).open().await
    }

    /// The same, with other limits.
    pub fn builder(directory: impl Into<PathBuf>) -> StoreBuilder {
        StoreBuilder { directory: directory.into(), descriptors: 128, log_bytes: 64 << 20 }
    }

    /// The journal of the session of this name: letters, digits, `_`, `-` and `.`, no `.` first, at most 128 bytes. It
    /// is opened with its agent, which is where another name, or a session that is open already, is refused.
    pub fn journal(&self, name: impl Into<String>) -> StoreJournal {
        StoreJournal::new(self.shared.clone(), name.into())
    }

    /// The sessions that are there, in order.
    pub async fn names(&self) -> Result<Vec<String>, StoreError> {
        self.shared.blocking(|shared| names(shared.directory())).await
    }

    /// Lets go of the store, and returns when its writer has ended: everything is in the sessions' files, durably, and
    /// the log is gone. That is when all clones and all journals are dropped; an error says why it did not come to
    /// that, and opening the store again brings it about. Dropping is as safe; only nobody knows when it is done.
    pub async fn close(self) -> Result<(), StoreError> {
        let mut ended = self.shared.ended();
        drop(self);
        let ended = ended.wait_for(Option::is_some).await.map(|ended| ended.clone());
        match ended {
            Ok(Some(Err(cause))) => Err(StoreError::Broken(cause)),
            Ok(_) => Ok(()),
            Err(_) => Err(StoreError::Broken("its thread is gone".into())),
        }
    }
}

impl StoreBuilder {
    /// How many sessions' files may be open to be written. Default: 128.
    pub fn descriptors(self, most: usize) -> Self {
        Self { descriptors: most, ..self }
    }

    /// How large a file of the log grows before the sessions' files are synced and it can go. Default: 64 MiB. Up to
    /// six such files may be there.
    pub fn log_bytes(self, most: u64) -> Self {
        Self { log_bytes: most, ..self }
    }

    /// Opens it.
    pub async fn open(self) -> Result<Store, StoreError> {
        self.open_watched(Seam::default()).await
    }

    async fn open_watched(self, seam: Seam) -> Result<Store, StoreError> {
        let started = spawn_blocking(move || self.start(&seam));
        started.await.map_err(|error| StoreError::Broken(error.to_string()))?
    }

    fn start(self, seam: &Seam) -> Result<Store, StoreError> {
        let Self { directory, descriptors, log_bytes } = self;
        let (directory, lock) = enter(&directory)?;
        let mut files = Files::new(&directory, descriptors, seam.clone());
        let next = redo(&directory, &mut files, seam)?;
        let failed = |source| StoreError::from(FileError::io(&directory, source));
        let broken = Broken::default();
        let settler = Settler::start(directory.clone(), broken.clone(), seam.clone()).map_err(failed)?;
        let (to, requests) = mpsc::channel();
        let log = Log::new(&directory, next, seam.clone());
        let writer = Writer { requests, log, files, settler, broken, most: log_bytes, lock };
        let (end, ended) = watch::channel::<Ended>(None);
        let work = move || {
            let done = writer.run().map_err(|error| match error {
                StoreError::Broken(cause) => cause,
                other => other.to_string(),
            });
            end.send_replace(Some(done));
        };
        Builder::new().name("store-writer".into()).spawn(work).map_err(failed)?;
        Ok(Store { shared: Shared::new(directory, to, ended) })
    }
}

/// Makes the directory ours.
fn enter(given: &Path) -> Result<(PathBuf, File), StoreError> {
    let failed = |source| FileError::io(given, source);
    private_directory(given).map_err(failed)?;
    let directory = given.canonicalize().map_err(failed)?;
    let lock = lock(&directory.join(LOCK), &directory)?;
    Ok((directory, lock))
}

fn names(directory: &Path) -> Result<Vec<String>, StoreError> {
    let failed = |source| FileError::io(directory, source);
    let mut found = Vec::new();
    for entry in directory.read_dir().map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        found.extend(name.to_str().and_then(Name::of_file).map(|name| name.to_string()));
    }
    found.sort_unstable();
    Ok(found)
}

/// Whoever uses a file of a directory without a store keeps a store out meanwhile, and is kept out by one (J09).
pub(crate) fn keep_out(directory: &Path, path: &Path) -> Result<Option<File>, FileError> {
    let Some(shared) = share(&directory.join(LOCK), path)? else { return Ok(None) };
    let logs = generations(directory).map_err(|source| FileError::io(directory, source))?;
    match logs.is_empty() {
        true => Ok(Some(shared)),
        false => Err(FileError::InStore { path: path.to_owned() }),
    }
}

#[cfg(test)]
mod tests;
