//! The files of sessions that are written just now: a bounded number of descriptors, whoever was used last (H06).
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::disk::{make_private, private};
use crate::file::FileError;
use crate::store::name::Name;
use crate::store::seam::{Seam, Step};

/// Open files, at most so many.
pub(crate) struct Files {
    directory: PathBuf,
    most: usize,
    open: BTreeMap<Name, Used>,
    /// Who was used when; the first is the next to go.
    order: BTreeMap<u64, Name>,
    uses: u64,
    seam: Seam,
}

struct Used {
    file: File,
    last: u64,
}

impl Files {
    pub(crate) fn new(directory: &Path, most: usize, seam: Seam) -> Self {
        let (open, order) = (BTreeMap::new(), BTreeMap::new());
        Self { directory: directory.to_owned(), most: most.max(1), open, order, uses: 0, seam }
    }

    /// Writes bytes to their place. The file is made if it is not there.
    pub(crate) fn write(&mut self, name: &Name, at: u64, bytes: &[u8]) -> Result<(), FileError> {
        let (path, seam) = (name.path(&self.directory), self.seam.clone());
        self.with(name, |file| {
            seam.pass(Step::FileWrite, &path)?;
            if file.metadata()?.len() < at {
                return Err(io::Error::other("the file was made shorter while it was open"));
            }
            file.seek(SeekFrom::Start(at))?;
            file.write_all(bytes)?;
            seam.pass(Step::FileWritten, &path)
        })
    }

    /// Removes a torn end, durably.
    pub(crate) fn cut(&mut self, name: &Name, at: u64) -> Result<(), FileError> {
        self.with(name, |file| {
            file.set_len(at)?;
            file.sync_all()
        })
    }

    /// Lets go of a file: it may be another one when it is used again.
    pub(crate) fn forget(&mut self, name: &Name) {
        if let Some(used) = self.open.remove(name) {
            self.order.remove(&used.last);
        }
    }

    fn with(&mut self, name: &Name, work: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), FileError> {
        self.uses += 1;
        let file = match self.open.remove(name) {
            Some(used) => {
                self.order.remove(&used.last);
                Ok(used.file)
            }
            None => {
                self.make_room();
                open(&self.directory, name, private())
            }
        };
        let done = file.and_then(|mut file| {
            let done = work(&mut file);
            self.open.insert(name.clone(), Used { file, last: self.uses });
            self.order.insert(self.uses, name.clone());
            done
        });
        done.map_err(|source| FileError::io(&name.path(&self.directory), source))
    }

    fn make_room(&mut self) {
        while self.open.len() >= self.most
            && let Some((_, name)) = self.order.pop_first()
        {
            self.open.remove(&name);
        }
    }
}

/// Opens a session's file. What is no file is not followed: two names must not lead to one file (J09).
pub(crate) fn open(directory: &Path, name: &Name, how: OpenOptions) -> io::Result<File> {
    let path = name.path(directory);
    match path.symlink_metadata() {
        Ok(found) if !found.is_file() => {
            let why = "a session of a store must be a file, not a link or a directory";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let file = how.open(&path)?;
    make_private(&file)?;
    Ok(file)
}

#[cfg(test)]
impl Files {
    pub(crate) fn held(&self) -> usize {
        assert_eq!(self.open.len(), self.order.len());
        self.open.len()
    }
}
