//! The log of a store: what is durable, and not yet in its session's file for good. It is a row of files,
//! `store.log.1`, `store.log.2`, …, of which the last is written; the others wait until sessions' files are durable.
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use crate::disk::{private, sync_directory};
use crate::file::FileError;
use crate::store::entry::encode;
use crate::store::name::Name;
use crate::store::seam::{Seam, Step};
use crate::store::writer::Write;

const START: &str = "store.log.";

/// The writing end.
pub(crate) struct Log {
    directory: PathBuf,
    /// Is made when it is needed.
    current: Option<Generation>,
    /// The number of the next.
    next: u64,
    seam: Seam,
}

/// One file of the log.
pub(crate) struct Generation {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    /// Where the next group goes. All before it is durable.
    end: u64,
    /// Whose bytes are in it.
    pub(crate) sessions: BTreeSet<Name>,
}

/// Why a group was not made durable.
pub(crate) enum Failed {
    /// Nothing of it is there.
    Undone(FileError),
    /// Nobody knows what is there.
    Broken(FileError),
}

impl Log {
    pub(crate) fn new(directory: &Path, next: u64, seam: Seam) -> Self {
        Self { directory: directory.to_owned(), current: None, next, seam }
    }

    /// Makes a group durable, with one sync.
    pub(crate) fn append(&mut self, group: &[Write]) -> Result<(), Failed> {
        if self.current.is_none() {
            self.current = Some(self.create()?);
        }
        match &mut self.current {
            Some(current) => current.append(group, &self.seam),
            None => Ok(()),
        }
    }

    /// Gives away the file that is written, if it has grown this large; the next group begins another.
    pub(crate) fn take(&mut self, at_least: u64) -> Option<Generation> {
        self.current.take_if(|current| current.end >= at_least)
    }

    fn create(&mut self) -> Result<Generation, Failed> {
        let path = path(&self.directory, self.next);
        let file = private().create_new(true).open(&path);
        let file = file.map_err(|source| Failed::Undone(FileError::io(&path, source)))?;
        // Its name must be durable, too.
        sync_directory(&self.directory)
            .map_err(|source| Failed::Broken(FileError::io(&self.directory, source)))?;
        self.next += 1;
        Ok(Generation { path, file, end: 0, sessions: BTreeSet::new() })
    }
}

impl Generation {
    fn append(&mut self, group: &[Write], seam: &Seam) -> Result<(), Failed> {
        let mut bytes = Vec::new();
        for write in group {
            encode(&write.name, write.at, &write.bytes, self.end, &mut bytes);
        }
        if let Err(source) = self.write(&bytes, seam) {
            return Err(self.undo(source));
        }
        let synced = seam.pass(Step::LogSync, &self.path).and_then(|()| self.file.sync_data());
        let synced = synced.and_then(|()| seam.pass(Step::LogSynced, &self.path));
        synced.map_err(|source| Failed::Broken(FileError::io(&self.path, source)))?;
        self.end += bytes.len() as u64;
        self.sessions.extend(group.iter().map(|write| write.name.clone()));
        Ok(())
    }

    fn write(&mut self, bytes: &[u8], seam: &Seam) -> io::Result<()> {
        seam.pass(Step::LogWrite, &self.path)?;
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(bytes)
    }

    /// Part of a group is no group.
    fn undo(&mut self, failed: io::Error) -> Failed {
        match self.file.set_len(self.end).and_then(|()| self.file.sync_all()) {
            Ok(()) => Failed::Undone(FileError::io(&self.path, failed)),
            Err(source) => Failed::Broken(FileError::io(&self.path, source)),
        }
    }
}

/// The log's files that are there, oldest first, with their numbers.
pub(crate) fn generations(directory: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut found = Vec::new();
    for entry in directory.read_dir()? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(START)?.parse().ok());
        // Only in the way in which we write a number.
        found.extend(number.filter(|number| name.to_str() == Some(&file_name(*number))));
    }
    found.sort_unstable();
    Ok(found.into_iter().map(|number| (number, path(directory, number))).collect())
}

pub(crate) fn path(directory: &Path, number: u64) -> PathBuf {
    directory.join(file_name(number))
}

fn file_name(number: u64) -> String {
    format!("{START}{number}")
}
