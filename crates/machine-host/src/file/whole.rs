//! A whole journal file at once: read without opening it, or written anew.
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use machine_journal::{Record, without_past};

use crate::disk::{beside, make_private, private, sync_name};
use crate::file::line::encode;
use crate::file::scan::{Reach, Scan, scan};
use crate::file::{FileError, FileJournal, Torn};

/// What a journal file has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Its records; one is on each line.
    pub records: Vec<Record>,
    /// A torn end, if it has one. It may also be what its writer writes just now.
    pub torn: Option<Torn>,
}

impl FileJournal {
    /// All records of a file, without opening it: nothing is locked or changed, and its writer may be at work. Of a session
    /// in a [`Store`](crate::Store) that is open, or did not end in order, the last ones may be in the store's log only.
    pub fn read(path: impl AsRef<Path>) -> Result<Recorded, FileError> {
        let path = path.as_ref();
        let failed = |source| FileError::io(path, source);
        if !path.metadata().map_err(failed)?.is_file() {
            return Err(FileError::NotAJournal { path: path.to_owned() });
        }
        let mut bytes = Vec::new();
        File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(failed)?;
        Self::parse(path, &bytes)
    }

    /// All records of a journal that was read elsewhere; `path` is what errors call it.
    ///
    /// # Errors
    /// It is no journal, or it is damaged (J04).
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Recorded, FileError> {
        let Scan { records, torn, .. } = scan(path, bytes, Reach::All)?;
        Ok(Recorded { records, torn })
    }

    /// A new file with these records, durable when this returns. One that is there is left alone.
    pub fn create(path: impl AsRef<Path>, records: &[Record]) -> Result<(), FileError> {
        let path = path.as_ref();
        let failed = |source| FileError::io(path, source);
        let bytes = encoded(records)?;
        let mut file = private().create_new(true).open(path).map_err(failed)?;
        make_private(&file).and_then(|()| file.write_all(&bytes)).map_err(failed)?;
        file.sync_all().and_then(|()| sync_name(path)).map_err(failed)
    }
}

/// Drops the records before the last point: the file is written anew beside the old one, and takes its place when it is
/// durable. Gives the new file.
pub(crate) fn write_without_past(path: &Path, records: &[Record]) -> Result<File, FileError> {
    let kept = without_past(records).map_err(|error| FileError::io(path, io::Error::other(error)))?;
    let beside = beside(path, ".new");
    match std::fs::remove_file(&beside) {
        // What a process left that died here is of no use to anybody.
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(FileError::io(&beside, error)),
        _ => {}
    }
    FileJournal::create(&beside, &kept)?;
    let renamed = std::fs::rename(&beside, path).and_then(|()| sync_name(path));
    renamed.and_then(|()| private().open(path)).map_err(|source| FileError::io(path, source))
}

fn encoded(records: &[Record]) -> Result<Vec<u8>, FileError> {
    let (mut bytes, mut last) = (Vec::new(), 0);
    for (lines, record) in (0..).zip(records) {
        // All of it is durable before anybody sees it.
        encode(record, lines, &mut last, &mut bytes)?;
    }
    Ok(bytes)
}
