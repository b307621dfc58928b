//! One entry of a store's log: bytes that belong into a session's file. A line that says where, then the bytes:
//! `{"crc":"0a1b2c3d","synced":4096,"name":"a","at":512,"length":70}`. The checksum is over everything after it, the
//! bytes too; `synced` says how many bytes of this log were durable when the entry was written.
use serde::{Deserialize, Serialize};

use crate::store::name::Name;

/// What every entry begins with, and no line of a journal goes on like.
const START: &[u8] = br#"{"crc":""#;
const CRC: usize = r#"{"crc":"00000000","#.len();
/// Bytes of the line; names are short.
const MOST: usize = 1 << 10;

/// An entry that was read.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) synced: u64,
    pub(crate) name: Name,
    /// Where the bytes belong in the session's file.
    pub(crate) at: u64,
    pub(crate) bytes: &'a [u8],
}

/// What stands at a place in a log.
#[derive(Debug)]
pub(crate) enum Read<'a> {
    /// An entry, and how long it is with its line.
    Sound(Entry<'a>, usize),
    /// Its checksum is right, and it says something that this version does not know.
    Unknown(String),
    Damaged,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    synced: u64,
    name: String,
    at: u64,
    length: u64,
}

/// What a line of any version has.
#[derive(Deserialize)]
struct Length {
    length: usize,
}

/// Adds an entry.
pub(crate) fn encode(name: &Name, at: u64, bytes: &[u8], synced: u64, to: &mut Vec<u8>) {
    let rest = format!(r#""synced":{synced},"name":"{name}","at":{at},"length":{}}}"#, bytes.len()) + "\n";
    let crc = checksum(rest.as_bytes(), bytes);
    to.extend_from_slice(format!(r#"{{"crc":"{crc:08x}","#).as_bytes());
    to.extend_from_slice(rest.as_bytes());
    to.extend_from_slice(bytes);
}

/// Reads what stands at the beginning of `log`.
pub(crate) fn decode(log: &[u8]) -> Read<'_> {
    sound(log).unwrap_or(Read::Damaged)
}

/// Whether an entry may begin here.
pub(crate) fn may_begin(log: &[u8]) -> bool {
    log.starts_with(START)
}

fn sound(log: &[u8]) -> Option<Read<'_>> {
    let line = log.iter().take(MOST).position(|byte| *byte == b'\n')? + 1;
    let (crc, rest) = log[..line].split_at_checked(CRC)?;
    let json = [b"{", rest].concat();
    let Length { length } = serde_json::from_slice(&json).ok()?;
    let bytes = log[line..].get(..length)?;
    if crc != format!(r#"{{"crc":"{:08x}","#, checksum(rest, bytes)).as_bytes() {
        return None;
    }
    // What was checked is what somebody meant; only its meaning may be new.
    let head = serde_json::from_slice::<Head>(&json).map_err(|error| error.to_string());
    let name = head.and_then(|head| Ok((Name::new(&head.name).map_err(|error| error.to_string())?, head)));
    Some(match name {
        Ok((name, Head { synced, at, .. })) => Read::Sound(Entry { synced, name, at, bytes }, line + length),
        Err(why) => Read::Unknown(why),
    })
}

fn checksum(line: &[u8], bytes: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(line);
    crc.update(bytes);
    crc.finalize()
}
