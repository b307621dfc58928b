//! Reading a journal file: whole lines, a torn end, or damage (J03, J04).
use std::io::BufRead;
use std::path::Path;

use machine_journal::Record;

use crate::file::line::{BEGINS, checked, is_point, may_begin, read, synced};
use crate::file::{FileError, Torn};

/// Which records are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// What opening needs: the header, every point, and what comes after the last point.
    Opening,
    All,
}

/// What a file says.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) records: Vec<Record>,
    /// Whether there are lines between the header and the last point.
    pub(crate) has_past: bool,
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
    if let Some(Torn { line, .. }) = torn {
        let path = path.to_owned();
        if was_durable(line, &bytes[end..]) {
            return Err(FileError::Damaged { path, line, offset: end as u64 });
        }
        // No line of ours has a carriage return: other line ends are somebody's doing, and no torn end.
        if line == 1 && (!may_begin(bytes) || bytes.contains(&b'\r')) {
            return Err(FileError::NotAJournal { path });
        }
    }
    let has_past = sound.iter().rposition(|line| line.is_point).is_some_and(|last| last > 1);
    let records = needed(&sound, reach).map(|line| {
        let record = read(sound[line].line);
        let unknown = |error: serde_json::Error| FileError::Unknown {
            path: path.to_owned(),
            line: line as u64 + 1,
            why: error.to_string(),
        };
        record.map_err(unknown)
    });
    Ok(Scan { records: records.collect::<Result<_, _>>()?, has_past, lines, last, end: end as u64, torn })
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

/// Whether a line after this one (from 1) says that it was durable. It is believed also where it is not sound itself: rather
/// is a torn end called damage than what was promised cut off. Lines are found by how they begin, for their ends may be
/// damaged, too.
fn was_durable(number: u64, rest: &[u8]) -> bool {
    let begins = rest.windows(BEGINS.len()).enumerate().skip(1).filter(|(_, window)| *window == BEGINS);
    let starts: Vec<usize> = begins.map(|(at, _)| at).chain([rest.len() + 1]).collect();
    let mut lines = starts.windows(2).map(|pair| &rest[pair[0]..(pair[1] - 1).min(rest.len())]);
    lines.any(|line| synced(line).is_some_and(|synced| synced >= number))
}
