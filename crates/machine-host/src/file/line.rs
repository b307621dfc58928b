//! One line of a journal file: `{"crc":"0a1b2c3d","synced":7,"record":{…}}`. The checksum is over everything that comes
//! after it; `synced` says how many lines were durable when this one was written.
use machine_journal::Record;
use serde::Deserialize;

use crate::file::FileError;

/// The largest record, in bytes of JSON.
pub(crate) const MOST: usize = 1 << 20;

const HEAD: usize = r#"{"crc":"00000000","#.len();

/// What a line says.
#[derive(Debug)]
pub(crate) enum Line {
    Sound {
        synced: u64,
        record: Box<Record>,
    },
    /// Its checksum is right, and it says something that this version does not know.
    Unknown(String),
    Damaged,
}

#[derive(Deserialize)]
struct Envelope {
    synced: u64,
    record: Record,
}

/// Adds a line.
pub(crate) fn encode(record: &Record, synced: u64, to: &mut Vec<u8>) -> Result<(), FileError> {
    let json = record.to_json().map_err(|error| FileError::Broken(error.to_string()))?;
    if json.len() > MOST && matches!(record, Record::In { .. }) {
        return Err(FileError::TooLarge { bytes: json.len(), most: MOST });
    }
    let rest = format!(r#""synced":{synced},"record":{json}}}"#);
    let crc = crc32fast::hash(rest.as_bytes());
    to.extend_from_slice(format!(r#"{{"crc":"{crc:08x}",{rest}"#).as_bytes());
    to.push(b'\n');
    Ok(())
}

/// Reads a line, without its end.
pub(crate) fn decode(line: &[u8]) -> Line {
    let Some((head, rest)) = line.split_at_checked(HEAD) else { return Line::Damaged };
    let crc = crc32fast::hash(rest);
    if head != format!(r#"{{"crc":"{crc:08x}","#).as_bytes() {
        return Line::Damaged;
    }
    // What was checked is text that we wrote; only its meaning may be new.
    let whole = [b"{", rest].concat();
    match serde_json::from_slice::<Envelope>(&whole) {
        Ok(Envelope { synced, record }) => Line::Sound { synced, record: Box::new(record) },
        Err(error) => Line::Unknown(error.to_string()),
    }
}
