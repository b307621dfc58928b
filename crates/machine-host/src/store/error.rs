//! What can go wrong with a store.
use std::path::PathBuf;

use crate::file::FileError;

/// Why a store, or a session in it, cannot be used. Each says where and what to do.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file of it cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// No file can have this name.
    #[error(
        "`{name}` is no name for a session: use up to {most} letters, digits, `_`, `-` and `.`, and no `.` first"
    )]
    Name {
        /// The name, or its beginning.
        name: String,
        /// Bytes that a name may have.
        most: usize,
    },
    /// What was durable in a log is damaged (J04). Nothing was changed.
    #[error("{}: byte {offset} is damaged, and what comes later was durable: restore the directory from a copy", path.display())]
    Damaged {
        /// The log.
        path: PathBuf,
        /// Where the damaged entry begins.
        offset: u64,
    },
    /// An entry of a log is sound and cannot be understood: a later version wrote it. Nothing was changed.
    #[error("{}: byte {offset}: {why}: open the store with the version that wrote it, or a later one", path.display())]
    Unknown {
        /// The log.
        path: PathBuf,
        /// Where the entry begins.
        offset: u64,
        /// What is not understood.
        why: String,
    },
    /// A log is missing between two others (J04). Nothing was changed.
    #[error("{} is missing: restore the directory from a copy", path.display())]
    NoLog {
        /// The log.
        path: PathBuf,
    },
    /// A session's file is shorter than what was made durable in it (J04). Nothing was changed.
    #[error(
        "{} ends at byte {length}, and {} goes on at byte {at}: restore the directory from a copy",
        path.display(),
        log.display()
    )]
    Short {
        /// The session's file.
        path: PathBuf,
        /// Its length.
        length: u64,
        /// The log.
        log: PathBuf,
        /// Where the log's entry belongs.
        at: u64,
    },
    /// There was no room, or the like: nothing of it was written. The session opens again when there is (J10).
    #[error("not written: {0}: open the session again when that is over")]
    NotWritten(String),
    /// It cannot be known what is on the disk, or the writer is gone. What was acknowledged is safe (J10).
    #[error("the store writes nothing more: {0}: close it and open it again")]
    Broken(String),
}
