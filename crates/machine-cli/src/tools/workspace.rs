//! The directory that the tools work on.
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;

use super::error::PathFault;

/// The most that is read of one file.
pub(super) const MAX_FILE: u64 = 16 * 1024 * 1024;

const READ_BITS: u32 = 0o444;
const WRITE_BITS: u32 = 0o222;

/// One directory, and nothing outside of it.
#[derive(Debug)]
pub struct Workspace {
    dir: Dir,
    /// The spellings of the root that an absolute path may begin with; the first is the canonical one.
    roots: Vec<PathBuf>,
    changing: Mutex<()>,
}

/// The right to change files. Held while a file is read, changed and put back, so that no change is lost even
/// when two calls reach one file by two names.
pub(super) struct Changing<'a>(#[expect(dead_code, reason = "held for its drop")] MutexGuard<'a, ()>);

impl Workspace {
    /// Opens the directory. The process's own rights are used here and never again.
    pub fn open(root: &Path) -> io::Result<Self> {
        let canonical = root.canonicalize()?;
        let dir = Dir::open_ambient_dir(&canonical, ambient_authority())?;
        let given = std::path::absolute(root)?;
        let mut roots = vec![canonical];
        if !roots.contains(&given) {
            roots.push(given);
        }
        Ok(Self { dir, roots, changing: Mutex::new(()) })
    }

    /// The directory's canonical path.
    pub fn root(&self) -> &Path {
        &self.roots[0]
    }

    pub(super) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// A path as it is below the root; `None` if it is absolute and elsewhere. Lexical.
    pub(super) fn strip_root<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        if path.is_relative() {
            return Some(path);
        }
        self.roots.iter().find_map(|root| path.strip_prefix(root).ok())
    }

    pub(super) fn changing(&self) -> Changing<'_> {
        // The lock guards no data, so a panic elsewhere left nothing half done in it.
        Changing(self.changing.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The text of a regular file.
    pub(super) fn read_text(&self, path: &Path) -> Result<String, PathFault> {
        let mut options = OpenOptions::new();
        // Without it, opening a named pipe waits for a writer.
        options.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        let file = self.dir.open_with(path, &options).map_err(PathFault::reading)?;
        let metadata = file.metadata().map_err(PathFault::reading)?;
        check_regular(&metadata)?;
        check_readable(&metadata)?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(PathFault::reading)?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(PathFault::TooLarge { limit: MAX_FILE });
        }
        String::from_utf8(bytes).map_err(|_| PathFault::NotUtf8)
    }
}

pub(super) fn check_regular(metadata: &Metadata) -> Result<(), PathFault> {
    match metadata.file_type() {
        kind if kind.is_dir() => Err(PathFault::IsDirectory),
        kind if kind.is_file() => Ok(()),
        _ => Err(PathFault::NotRegular),
    }
}

/// The system lets root read what nobody may read; the tools do not.
pub(super) fn check_readable(metadata: &Metadata) -> Result<(), PathFault> {
    if metadata.mode() & READ_BITS == 0 { Err(PathFault::NoReadPermission) } else { Ok(()) }
}

/// Whether anybody may write it. The system lets root write all the same; the tools do not.
pub(super) fn is_writable(metadata: &Metadata) -> bool {
    metadata.mode() & WRITE_BITS != 0
}
