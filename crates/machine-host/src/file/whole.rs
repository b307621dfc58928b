//! A whole journal file at once: read without opening it, or written anew.
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use machine_journal::{Record, without_past};

use crate::disk::{beside, make_private, private, sync_name};
use crate::file::line::encode;
use crate::file::scan::{Scan, scan};
use crate::file::{FileError, FileJournal, Torn};
use crate::journal::Reach;

/// What a journal file has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Its records; one is on each line.
    pub records: Vec<Record>,
    /// A torn end, if it has one. It may also be what its writer writes just now.
    pub torn: Option<Torn>,
}

impl FileJournal {
    /// All records of a file, without opening it: nothing is locked or changed, and its writer may be at work.
    pub fn read(path: impl AsRef<Path>) -> Result<Recorded, FileError> {
        let path = path.as_ref();
        let failed = |source| FileError::io(path, source);
        let mut bytes = Vec::new();
        File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(failed)?;
        let Scan { records, torn, .. } = scan(path, &bytes, Reach::All)?;
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
/// durable. Gives the new file; none if there is nothing to drop.
pub(crate) fn forget_past(path: &Path, records: &[Record]) -> Result<Option<File>, FileError> {
    let Some(kept) = without_past(records).ok().filter(|kept| kept.len() < records.len()) else {
        return Ok(None);
    };
    let beside = beside(path, ".new");
    let failed = |source| FileError::io(&beside, source);
    // What a process left that died here is of no use to anybody.
    match std::fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    FileJournal::create(&beside, &kept)?;
    std::fs::rename(&beside, path).and_then(|()| sync_name(path)).map_err(failed)?;
    private().open(path).map(Some).map_err(failed)
}

fn encoded(records: &[Record]) -> Result<Vec<u8>, FileError> {
    let (mut bytes, mut last) = (Vec::new(), 0);
    for (lines, record) in (0..).zip(records) {
        // All of it is durable before anybody sees it.
        encode(record, lines, &mut last, &mut bytes)?;
    }
    Ok(bytes)
}
