//! The entries below a directory, in order.
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, FileType};

use super::error::PathFault;
use super::report::Skipped;
use super::workspace::check_readable;

/// The most entries that one walk looks at.
const MAX_ENTRIES: usize = 200_000;

/// Named, but never walked into.
const NOT_WALKED: &str = ".git";

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Directory,
    File,
    Link,
    /// A device, pipe or socket.
    Other,
}

/// One entry.
#[derive(Debug)]
pub(super) struct Entry {
    /// From the workspace.
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
}

/// A walk: each directory before what is in it, siblings by name. With `/` after the directories' names, as
/// it is shown, the whole is in the order of the bytes. Links are not followed, so that there are no circles.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    dir: &'a Dir,
    recursive: bool,
    /// What is still to go, the next entry last.
    rest: Vec<Entry>,
    seen: usize,
    stopped: bool,
    /// Directories that could not be read.
    pub(super) skipped: Skipped,
}

impl<'a> Walk<'a> {
    /// A walk below `start`, which is not itself an entry.
    pub(super) fn new(dir: &'a Dir, start: &Path, recursive: bool) -> Result<Self, PathFault> {
        let mut walk =
            Self { dir, recursive, rest: Vec::new(), seen: 0, stopped: false, skipped: Skipped::default() };
        walk.enter(start)?;
        Ok(walk)
    }

    /// Whether the walk ended before the entries did.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped
    }

    fn enter(&mut self, path: &Path) -> Result<(), PathFault> {
        let at = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let dir = self.dir.open_dir(at).map_err(PathFault::reading)?;
        check_readable(&dir.dir_metadata().map_err(PathFault::reading)?)?;
        let mut entries = Vec::new();
        for entry in dir.entries().map_err(PathFault::reading)? {
            if self.seen == MAX_ENTRIES {
                self.stopped = true;
                break;
            }
            self.seen += 1;
            let entry = entry.map_err(PathFault::reading)?;
            let kind = kind_of(entry.file_type().map_err(PathFault::reading)?);
            entries.push(Entry { path: path.join(entry.file_name()), kind });
        }
        entries.sort_by_cached_key(|entry| std::cmp::Reverse(sort_key(entry)));
        self.rest.append(&mut entries);
        Ok(())
    }
}

impl Iterator for Walk<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let entry = self.rest.pop()?;
        let goes_in = self.recursive && entry.kind == Kind::Directory && !is_not_walked(&entry.path);
        if goes_in && let Err(fault) = self.enter(&entry.path) {
            self.skipped.add(&entry.path, &fault);
        }
        Some(entry)
    }
}

/// Whether walks keep out of it.
pub(super) fn is_not_walked(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == NOT_WALKED)
}

fn sort_key(entry: &Entry) -> Vec<u8> {
    let mut key = entry.path.as_os_str().as_encoded_bytes().to_vec();
    if entry.kind == Kind::Directory {
        key.push(b'/');
    }
    key
}

fn kind_of(kind: FileType) -> Kind {
    match kind {
        kind if kind.is_dir() => Kind::Directory,
        kind if kind.is_file() => Kind::File,
        kind if kind.is_symlink() => Kind::Link,
        _ => Kind::Other,
    }
}
