//! Reading a journal file: whole lines, a torn end, or damage (J03, J04).
use std::io::BufRead;
use std::path::Path;

use machine_journal::Record;

use crate::file::line::{checked, is_point, read, stated};
use crate::file::{FileError, Torn};
use crate::journal::Reach;

/// What a file says.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) records: Vec<Record>,
    /// Its sound lines, whether or not they were read.
    pub(crate) lines: u64,
    /// The checksum of the last of them.
    pub(crate) last: u32,
    /// Where its sound part ends.
    pub(crate) end: u64,
    pub(crate) torn: Option<Torn>,
}

/// A line whose checksum is right.
struct Sound<'b> {
    line: &'b [u8],
    is_point: bool,
}

/// Checks all lines and reads those that are needed. The first that is not sound is a torn end if no later one says that
/// it was durable; then nothing of it was promised to anybody.
pub(crate) fn scan(path: &Path, bytes: &[u8], reach: Reach) -> Result<Scan, FileError> {
    let (mut sound, mut end, mut last) = (Vec::new(), 0, 0);
    while end < bytes.len() {
        let line = whole_line(&bytes[end..]).and_then(|line| Some((line, checked(line, last)?)));
        let Some((line, (crc, rest))) = line else { break };
        last = crc;
        sound.push(Sound { line, is_point: is_point(rest) });
        end += line.len() + 1;
    }
    let lines = sound.len() as u64;
    let torn = (end < bytes.len()).then_some(Torn { line: lines + 1, bytes: (bytes.len() - end) as u64 });
    if let Some(Torn { line, .. }) = torn
        && was_durable(line, &bytes[end..])
    {
        return Err(FileError::Damaged { path: path.to_owned(), line, offset: end as u64 });
    }
    let records = needed(&sound, reach).map(|line| {
        let record = read(sound[line].line).map(|(_, record)| record);
        let unknown = |error: serde_json::Error| FileError::Unknown {
            path: path.to_owned(),
            line: line as u64 + 1,
            why: error.to_string(),
        };
        record.map_err(unknown)
    });
    Ok(Scan { records: records.collect::<Result<_, _>>()?, lines, last, end: end as u64, torn })
}

/// The first line of these bytes, if its end is there.
fn whole_line(mut bytes: &[u8]) -> Option<&[u8]> {
    let all = bytes;
    // It searches many bytes at once.
    let length = bytes.skip_until(b'\n').ok()?;
    all[..length].strip_suffix(b"\n")
}

/// Which lines are read: all; or the first, every point, and what comes after the last point.
fn needed(sound: &[Sound<'_>], reach: Reach) -> impl Iterator<Item = usize> {
    let last = sound.iter().rposition(|line| line.is_point);
    let wanted = move |line: usize, is_point: bool| {
        reach == Reach::All || line == 0 || is_point || last.is_none_or(|last| line > last)
    };
    sound.iter().enumerate().filter(move |(line, sound)| wanted(*line, sound.is_point)).map(|(line, _)| line)
}

/// Whether a later line says that this one (from 1) was durable. A later line is sound if it follows the one before it,
/// whatever became of that.
fn was_durable(number: u64, rest: &[u8]) -> bool {
    let lines: Vec<&[u8]> = rest.split(|byte| *byte == b'\n').collect();
    let is_later = |pair: &[&[u8]]| stated(pair[0]).is_some_and(|last| checked(pair[1], last).is_some());
    let later = lines.windows(2).filter(|pair| is_later(pair));
    later.into_iter().any(|pair| read(pair[1]).is_ok_and(|(synced, _)| synced >= number))
}
