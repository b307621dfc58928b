//! Files for their owner alone, and locks that go with their process (J09, J11).
use std::fs::{DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::file::FileError;

/// For its owner alone.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// A file that was there may have been readable by others.
pub(crate) fn make_private(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = file.metadata()?.permissions().mode();
        if mode & 0o077 != 0 {
            file.set_permissions(std::fs::Permissions::from_mode(mode & 0o700))?;
        }
    }
    Ok(())
}

/// A directory for its owner alone. One that is there is left as it is: other things may be in it.
pub(crate) fn private_directory(path: &Path) -> io::Result<()> {
    let missing: Vec<_> =
        path.ancestors().take_while(|at| !at.as_os_str().is_empty() && !at.exists()).collect();
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    for made in missing {
        let above = made.parent().filter(|above| !above.as_os_str().is_empty());
        sync_directory(above.unwrap_or(Path::new(".")))?;
    }
    Ok(())
}

/// Names of new files must be durable, too.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// The name of a new file must be durable, too.
pub(crate) fn sync_name(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    sync_directory(directory.unwrap_or(Path::new(".")))
}

/// The lock of a file stands beside it.
pub(crate) fn lock_of(path: &Path) -> PathBuf {
    beside(path, ".lock")
}

/// A file beside another.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(ending);
    beside.into()
}

/// One writer: nobody else has this lock, and it goes with its process, whatever happens to that. `what` is locked.
pub(crate) fn lock(at: &Path, what: &Path) -> Result<File, FileError> {
    let lock = private().open(at).map_err(|source| FileError::io(at, source))?;
    held(lock, File::try_lock, at, what)
}

/// Takes back what an opening made that is refused, if it did. The lock must be held: who opened it meanwhile then finds it
/// [removed](held). Where that cannot be seen it stays.
pub(crate) fn remove(made: bool, path: &Path) {
    if cfg!(unix) && made {
        // It stays, then. The opening was refused for another reason, which is told.
        let _ = std::fs::remove_file(path);
    }
}

/// The file is locked as well, where that keeps nobody from reading it: somebody may have removed the lock beside it.
pub(crate) fn lock_itself(file: &File, path: &Path) -> Result<(), FileError> {
    if !cfg!(unix) {
        return Ok(());
    }
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            Err(FileError::Held { path: path.to_owned(), who: "another process".into() })
        }
        Err(TryLockError::Error(source)) => Err(FileError::io(path, source)),
    }
}

/// Keeps away who would lock it, and is refused by who did. None if there is no such lock.
pub(crate) fn share(at: &Path, what: &Path) -> Result<Option<File>, FileError> {
    match OpenOptions::new().read(true).write(true).open(at) {
        Ok(lock) => held(lock, File::try_lock_shared, at, what).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(FileError::io(at, source)),
    }
}

fn held(
    mut lock: File,
    how: fn(&File) -> Result<(), TryLockError>,
    at: &Path,
    what: &Path,
) -> Result<File, FileError> {
    match how(&lock) {
        // Who had it was refused, and took it away: another one may be there by now.
        Ok(()) if lock.metadata().is_ok_and(|found| is_removed(&found)) => {
            return Err(FileError::Held { path: what.to_owned(), who: "another process".into() });
        }
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut who = String::new();
            // Who holds it may be just about to write it down.
            let _ = lock.read_to_string(&mut who);
            let who = match who.trim() {
                "" => "another process".to_owned(),
                pid => format!("process {pid}"),
            };
            return Err(FileError::Held { path: what.to_owned(), who });
        }
        Err(TryLockError::Error(source)) => return Err(FileError::io(at, source)),
    }
    // Always as long: a file that is emptied first gives its block back to the disk, which takes longer than all else here.
    let signed = lock.write_all(format!("{:<10}", std::process::id()).as_bytes());
    signed.map_err(|source| FileError::io(at, source))?;
    Ok(lock)
}

/// Whether it has no name any more.
pub(crate) fn is_removed(found: &Metadata) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::nlink(found) == 0;
    #[cfg(not(unix))]
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn c_j09_a_lock_that_was_taken_away_locks_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let (at, what) = (dir.path().join("a.lock"), dir.path().join("a"));
        let early = private().open(&at).expect("it can be made");
        drop(lock(&at, &what).expect("nobody has it"));
        remove(true, &at);
        let late = lock(&at, &what).expect("this is another one");
        let error = held(early, File::try_lock, &at, &what).map(drop).expect_err("it is gone");
        assert!(matches!(error, FileError::Held { .. }), "{error}");
        drop(late);
    }
}
