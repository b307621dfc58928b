//! What can be wrong with a journal file.
use std::io;
use std::path::{Path, PathBuf};

/// Why a journal file cannot be used: which file, what is wrong, and what to do where that is not plain.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system says no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
    /// Somebody has it open (J09).
    #[error("{} is open in {who}: close it there first", path.display())]
    Held {
        /// The file.
        path: PathBuf,
        /// A process, as far as it can be known.
        who: String,
    },
    /// A line that was durable is damaged (J04). The file is untouched.
    #[error("{}: line {line} (byte {offset}) is damaged, and later lines are not: restore the file from a copy", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// Where it begins.
        offset: u64,
    },
    /// A line is sound and cannot be understood: a later version wrote it.
    #[error("{}: line {line}: {why}: open it with the version that wrote it, or a later one", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is not understood.
        why: String,
    },
    /// A record is too large.
    #[error(
        "a record of {bytes} bytes is too large, the most are {most}: let long output go to files (`spill`)"
    )]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// What is allowed.
        most: usize,
    },
    /// A store has the directory, and what it promised is not in the files yet.
    #[error("{}: the store of this directory did not end in order: open it with `Store::open` first", path.display())]
    InStore {
        /// The file.
        path: PathBuf,
    },
    /// It is some other file. It is untouched.
    #[error("{}: this is no journal: give a journal, or a file that is not there yet", path.display())]
    NotAJournal {
        /// The file.
        path: PathBuf,
    },
    /// It was not opened.
    #[error("{}: it was not opened yet: an agent opens its journal itself", path.display())]
    NotOpen {
        /// The file.
        path: PathBuf,
    },
    /// An earlier write failed.
    #[error("nothing is written after the first failure ({0}): open the session again")]
    Broken(String),
    /// A record has no text form.
    #[error("a record cannot be written as JSON: {0}")]
    NoText(String),
}

impl FileError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}
