//! How often a store synced its log: what one group wrote says the same of how far the log was durable before it.
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::Done;

/// In all files of the log that are there.
pub fn of_log(directory: &Path) -> Done<usize> {
    let mut count = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("store.log.") {
            count += groups(&fs::read(entry.path())?);
        }
    }
    Ok(count)
}

fn groups(log: &[u8]) -> usize {
    let lines = log.split(|byte| *byte == b'\n');
    lines.filter_map(durable_before).collect::<BTreeSet<_>>().len()
}

/// What an entry says; the lines of sessions, which stand between, are no entries.
fn durable_before(line: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(line).ok()?;
    let (_, rest) = line.split_once(r#""synced":"#)?;
    let (synced, rest) = rest.split_once(',')?;
    rest.starts_with(r#""name":"#).then_some(synced)
}
