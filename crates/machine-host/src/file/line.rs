//! One line of a journal file: `{"crc":"0a1b2c3d","synced":7,"record":{…}}`. The checksum is over that of the line before
//! and over everything that comes after it, so that a line is sound only in its place; `synced` says how many lines were
//! durable when this one was written.
use machine_journal::Record;
use serde::Deserialize;

use crate::file::FileError;

/// The largest input, in bytes of JSON. Four times what a response may have (`turn.response_bytes`): a bound against what
/// runs away, not for what a tool may say.
pub(crate) const MOST: usize = 64 << 20;

const HEAD: usize = r#"{"crc":"00000000","#.len();

/// Adds a line, or nothing of it. `last`: the checksum of the line before, then of this one; 0 before the first.
pub(crate) fn encode(
    record: &Record,
    synced: u64,
    last: &mut u32,
    to: &mut Vec<u8>,
) -> Result<(), FileError> {
    let begin = to.len();
    let written = write(record, synced, to);
    if written.is_err() {
        to.truncate(begin);
        return written;
    }
    *last = checksum(*last, &to[begin + HEAD..]);
    to[begin..begin + HEAD].copy_from_slice(head(*last).as_bytes());
    to.push(b'\n');
    Ok(())
}

/// The line with room for its checksum, written where it belongs: a record is long, and copied by nobody.
fn write(record: &Record, synced: u64, to: &mut Vec<u8>) -> Result<(), FileError> {
    to.extend_from_slice(head(0).as_bytes());
    to.extend_from_slice(format!(r#""synced":{synced},"record":"#).as_bytes());
    let begin = to.len();
    serde_json::to_writer(&mut *to, record).map_err(|error| FileError::NoText(error.to_string()))?;
    let bytes = to.len() - begin;
    if bytes > MOST && matches!(record, Record::In { .. }) {
        return Err(FileError::TooLarge { bytes, most: MOST });
    }
    to.push(b'}');
    Ok(())
}

/// What a line says, and its checksum, if that is right after this last one. Nothing else of it is looked at.
pub(crate) fn checked(line: &[u8], last: u32) -> Option<(u32, &[u8])> {
    let (found, rest) = line.split_at_checked(HEAD)?;
    let crc = checksum(last, rest);
    (found == head(crc).as_bytes()).then_some((crc, rest))
}

/// How far the file was durable when a line was written, as it says.
pub(crate) fn synced(line: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Mark {
        synced: u64,
    }
    let line = line.trim_ascii_end();
    serde_json::from_slice(line).ok().map(|Mark { synced }| synced)
}

/// With what every line begins.
pub(crate) const BEGINS: &[u8] = br#"{"crc":""#;

/// Whether these bytes are the beginning of a journal, however little of it is there, or its first block was lost.
pub(crate) fn may_begin(bytes: &[u8]) -> bool {
    const FIRST: &[u8] = br#""synced":0,"record":{"header":{"#;
    let first = &bytes[..bytes.len().min(HEAD + FIRST.len())];
    if first.iter().all(|byte| *byte == 0) {
        return true;
    }
    let same = |bytes: &[u8], expected: &[u8]| bytes.iter().zip(expected).all(|(a, b)| a == b);
    let (head, tail) = first.split_at(first.len().min(HEAD));
    let (begins, digits) = head.split_at(head.len().min(BEGINS.len()));
    let (digits, ends) = digits.split_at(digits.len().min(8));
    let is_head = same(begins, BEGINS) && digits.iter().all(u8::is_ascii_hexdigit) && same(ends, b"\",");
    is_head && same(tail, FIRST)
}

fn checksum(last: u32, rest: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&last.to_le_bytes());
    hasher.update(rest);
    hasher.finalize()
}

fn head(crc: u32) -> String {
    format!(r#"{{"crc":"{crc:08x}","#)
}

/// Whether what a line says is a point.
pub(crate) fn is_point(rest: &[u8]) -> bool {
    const KEY: &[u8] = br#""record":"#;
    let record = rest.windows(KEY.len()).position(|window| window == KEY).map(|at| &rest[at + KEY.len()..]);
    record.is_some_and(Record::is_point)
}

/// Reads a checked line. An error: it was written by a later version.
pub(crate) fn read(line: &[u8]) -> Result<Record, serde_json::Error> {
    #[derive(Deserialize)]
    struct Envelope {
        record: Record,
    }
    // What was checked is text that we wrote; only its meaning may be new.
    serde_json::from_slice(line).map(|Envelope { record }| record)
}
