//! Reading a journal file: whole lines, a torn end, or damage (J03, J04).
use std::path::Path;

use machine_journal::Record;

use crate::file::line::{Line, decode};
use crate::file::{FileError, Torn};

/// What a file says.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) records: Vec<Record>,
    /// Where its sound part ends.
    pub(crate) end: u64,
    pub(crate) torn: Option<Torn>,
}

/// Reads all lines. The first that is not sound is a torn end if no later one says that it was durable; then nothing of
/// it was promised to anybody.
pub(crate) fn scan(path: &Path, bytes: &[u8]) -> Result<Scan, FileError> {
    let (mut records, mut end) = (Vec::new(), 0);
    while end < bytes.len() {
        let line = bytes[end..].iter().position(|byte| *byte == b'\n');
        let number = records.len() as u64 + 1;
        match line.map(|length| (length, decode(&bytes[end..end + length]))) {
            Some((length, Line::Sound { record, .. })) => {
                records.push(*record);
                end += length + 1;
            }
            Some((_, Line::Unknown(why))) => {
                return Err(FileError::Unknown { path: path.to_owned(), line: number, why });
            }
            Some((_, Line::Damaged)) | None => {
                let (line, offset) = (number, end as u64);
                if was_durable(number, &bytes[end..]) {
                    return Err(FileError::Damaged { path: path.to_owned(), line, offset });
                }
                let torn = Some(Torn { line, bytes: (bytes.len() - end) as u64 });
                return Ok(Scan { records, end: offset, torn });
            }
        }
    }
    Ok(Scan { records, end: end as u64, torn: None })
}

/// Whether a later line says that this one (from 1) was durable.
fn was_durable(number: u64, rest: &[u8]) -> bool {
    let mut later = rest.split(|byte| *byte == b'\n').skip(1);
    later.any(|line| matches!(decode(line), Line::Sound { synced, .. } if synced >= number))
}
