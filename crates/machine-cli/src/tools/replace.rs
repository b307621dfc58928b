//! Putting a whole file in place: all of it or nothing, with the permissions it had.
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{
    Dir, File, Metadata, MetadataExt, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt,
};
use rustix::fs::{Gid, OFlags, Uid, fchown};

use super::error::{PathFault, ToolError};
use super::place::Place;
use super::workspace::{Changing, Workspace, check_regular, is_writable};

/// How many names for the new file are tried; one is taken only if a process of this number died here before.
const MAX_TRIES: usize = 100;

/// The permissions that stay. Set-user-id and its like go, as they do whenever a file is written.
const MODE_BITS: u32 = 0o777;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// What `put` did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put {
    Created,
    Replaced,
}

impl Workspace {
    /// Makes or replaces the file at a place. A reader sees the old or the new content, never a mixture; upon
    /// an error nothing is changed and nothing left behind. Other names of the file (hard links) keep the old
    /// content.
    pub(super) fn put(&self, _: &Changing<'_>, place: &Place, content: &[u8]) -> Result<Put, ToolError> {
        if place.is_directory_only() {
            return Err(place.fault(PathFault::IsDirectory));
        }
        self.put_at(place.path(), content).map_err(|fault| place.fault(fault))
    }

    fn put_at(&self, path: &Path, content: &[u8]) -> Result<Put, PathFault> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(PathFault::IsDirectory);
        };
        let old = self.writable_file(path)?;
        let made = MadeDirs::make(self.dir(), above)?;
        let above = self.dir().open_dir(at(above)).map_err(PathFault::writing)?;
        let mut new = Draft::create(&above, old.as_ref()).map_err(in_directory)?;
        new.fill(content, old.as_ref()).map_err(PathFault::writing)?;
        new.rename(name.as_ref()).map_err(in_directory)?;
        made.keep();
        Ok(if old.is_some() { Put::Replaced } else { Put::Created })
    }

    /// The file at this path if there is one; an error if it may not be written.
    fn writable_file(&self, path: &Path) -> Result<Option<Metadata>, PathFault> {
        let metadata = match self.dir().symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(PathFault::writing(error)),
        };
        check_regular(&metadata)?;
        if !is_writable(&metadata) {
            return Err(PathFault::NoWritePermission);
        }
        // A rename would not ask whether this process may write the file; opening it asks.
        let mut options = OpenOptions::new();
        options.write(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        self.dir().open_with(path, &options).map_err(PathFault::writing)?;
        Ok(Some(metadata))
    }
}

/// Directories that were made for a file; removed again unless the file came to be.
struct MadeDirs<'a> {
    dir: &'a Dir,
    paths: Vec<PathBuf>,
}

impl<'a> MadeDirs<'a> {
    fn make(dir: &'a Dir, path: &Path) -> Result<Self, PathFault> {
        let mut made = Self { dir, paths: Vec::new() };
        let missing: Vec<&Path> = path.ancestors().take_while(|path| !exists(dir, path)).collect();
        let deepest = path.ancestors().nth(missing.len()).unwrap_or(Path::new(""));
        let metadata = dir.metadata(at(deepest)).map_err(PathFault::writing)?;
        if !metadata.is_dir() {
            return Err(PathFault::NotDirectory);
        }
        if !is_writable(&metadata) {
            return Err(PathFault::NoWritePermissionInDirectory);
        }
        for path in missing.into_iter().rev() {
            dir.create_dir(path).map_err(in_directory)?;
            made.paths.push(path.to_owned());
        }
        Ok(made)
    }

    fn keep(mut self) {
        self.paths.clear();
    }
}

impl Drop for MadeDirs<'_> {
    fn drop(&mut self) {
        for path in self.paths.iter().rev() {
            // Nothing more can be done about a failure, and the call has failed already.
            let _ = self.dir.remove_dir(path);
        }
    }
}

/// The new file before it has its name; removed unless it gets there.
struct Draft<'a> {
    dir: &'a Dir,
    file: File,
    name: Option<String>,
}

impl<'a> Draft<'a> {
    fn create(dir: &'a Dir, old: Option<&Metadata>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        if old.is_some() {
            // Until it has the permissions of the old file, nobody else may look into it.
            options.mode(0o600);
        }
        let mut tries = 0;
        loop {
            tries += 1;
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!(".agent-machine-{}-{number}.tmp", std::process::id());
            match dir.open_with(&name, &options) {
                Ok(file) => return Ok(Self { dir, file, name: Some(name) }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < MAX_TRIES => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn fill(&mut self, content: &[u8], old: Option<&Metadata>) -> io::Result<()> {
        self.file.write_all(content)?;
        if let Some(old) = old {
            let new = self.file.metadata()?;
            if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
                // Only root may give files away; for others the file becomes theirs, as with any editor.
                let _ = fchown(&self.file, Some(Uid::from_raw(old.uid())), Some(Gid::from_raw(old.gid())));
            }
            self.file.set_permissions(Permissions::from_mode(old.mode() & MODE_BITS))?;
        }
        // Else a crash could leave the name with an empty file.
        self.file.sync_all()
    }

    fn rename(mut self, to: &Path) -> io::Result<()> {
        if let Some(name) = &self.name {
            self.dir.rename(name, self.dir, to)?;
        }
        self.name = None;
        Ok(())
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // Nothing more can be done about a failure, and the call has failed already.
            let _ = self.dir.remove_file(name);
        }
    }
}

fn at(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

fn exists(dir: &Dir, path: &Path) -> bool {
    dir.symlink_metadata(at(path)).is_ok()
}

/// What an error of making an entry says: the permission that lacks is the directory's.
fn in_directory(error: io::Error) -> PathFault {
    match PathFault::writing(error) {
        PathFault::NoWritePermission => PathFault::NoWritePermissionInDirectory,
        fault => fault,
    }
}
