//! Old files of the log go when what they say is durable where it belongs. A thread of its own does it, oldest first:
//! nobody waits for it.
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use crate::disk::sync_directory;
use crate::file::FileError;
use crate::store::files::open;
use crate::store::log::Generation;
use crate::store::name::Name;
use crate::store::seam::{Seam, Step};
use crate::store::writer::Broken;

/// Generations that wait to be settled; with more the writer waits, so that the log does not fill the disk.
const WAITING: usize = 4;

const GONE: &str = "the thread that settles is gone";

/// The thread, and the way to it.
pub(crate) struct Settler {
    to: SyncSender<Generation>,
    thread: JoinHandle<()>,
}

impl Settler {
    pub(crate) fn start(directory: PathBuf, broken: Broken, seam: Seam) -> io::Result<Self> {
        let (to, generations) = sync_channel(WAITING);
        let work = move || run(&directory, &generations, &broken, &seam);
        let thread = Builder::new().name("store-settler".into()).spawn(work)?;
        Ok(Self { to, thread })
    }

    /// Takes a generation that is not written any more. If the thread is gone, the generation stays for the next
    /// opening.
    pub(crate) fn take(&self, generation: Generation) -> Result<(), String> {
        self.to.send(generation).map_err(|_| GONE.to_owned())
    }

    /// Returns when all is settled, or nothing more will be.
    pub(crate) fn finish(self) -> Result<(), String> {
        drop(self.to);
        self.thread.join().map_err(|_| GONE.to_owned())
    }
}

fn run(directory: &Path, generations: &Receiver<Generation>, broken: &Broken, seam: &Seam) {
    for generation in generations {
        let settled = settle(directory, &generation.sessions, seam)
            .and_then(|()| retire(&generation.path, &generation.file, seam));
        if let Err(error) = settled {
            // Neither this nor any later generation goes: opening the store again needs them all.
            broken.set(&error.to_string());
            return;
        }
    }
}

/// Makes the files of these sessions durable, and their names.
pub(crate) fn settle(directory: &Path, sessions: &BTreeSet<Name>, seam: &Seam) -> Result<(), FileError> {
    for name in sessions {
        let path = name.path(directory);
        let synced = seam.pass(Step::FileSync, &path).and_then(|()| sync(directory, name));
        let synced = synced.and_then(|()| seam.pass(Step::FileSynced, &path));
        synced.map_err(|source| FileError::io(&path, source))?;
    }
    sync_directory(directory).map_err(|source| FileError::io(directory, source))
}

fn sync(directory: &Path, name: &Name) -> io::Result<()> {
    let mut writable = OpenOptions::new();
    writable.read(true).write(true);
    match open(directory, name, writable) {
        Ok(file) => file.sync_all(),
        // Somebody removed the session.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes a file of the log. It is empty first, durably: should it come back after a crash, it says nothing.
pub(crate) fn retire(path: &Path, file: &File, seam: &Seam) -> Result<(), FileError> {
    let retired = seam.pass(Step::Retire, path).and_then(|()| {
        file.set_len(0)?;
        file.sync_all()?;
        std::fs::remove_file(path)?;
        seam.pass(Step::Retired, path)
    });
    retired.map_err(|source| FileError::io(path, source))
}
