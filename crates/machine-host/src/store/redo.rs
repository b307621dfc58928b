//! What a store that did not end in order left in its log is done again (J03, J04). Bytes have their place, so doing it
//! twice is doing it once. First all is checked, then something is changed.
use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

use crate::file::FileError;
use crate::store::entry::{Entry, Read, decode, may_begin};
use crate::store::error::StoreError;
use crate::store::files::Files;
use crate::store::log::{generations, path};
use crate::store::name::Name;
use crate::store::seam::Seam;
use crate::store::settle::{retire, settle};

/// Brings everything into its file, durably, and removes the log. Gives the number of the next file of it.
pub(crate) fn redo(directory: &Path, files: &mut Files, seam: &Seam) -> Result<u64, StoreError> {
    let logs = generations(directory).map_err(|source| FileError::io(directory, source))?;
    let full = full(directory, &logs)?;
    check(directory, &full)?;
    let sessions = apply(&full, files)?;
    if !logs.is_empty() {
        settle(directory, &sessions, seam)?;
    }
    for (_, log) in &logs {
        let file = OpenOptions::new().write(true).open(log).map_err(|source| FileError::io(log, source))?;
        retire(log, &file, seam)?;
    }
    Ok(logs.last().map_or(1, |(number, _)| number + 1))
}

/// Those that say something. One that is empty was settled, or is new; between the others none may be missing.
fn full<'a>(directory: &Path, logs: &'a [(u64, PathBuf)]) -> Result<Vec<&'a Path>, StoreError> {
    let (mut full, mut expected) = (Vec::new(), None);
    for (number, log) in logs {
        if log.metadata().map_err(|source| FileError::io(log, source))?.len() == 0 {
            continue;
        }
        if let Some(expected) = expected.filter(|expected| expected != number) {
            return Err(StoreError::NoLog { path: path(directory, expected) });
        }
        expected = Some(number + 1);
        full.push(&**log);
    }
    Ok(full)
}

/// Whether all of it can be done. Changes nothing.
fn check(directory: &Path, logs: &[&Path]) -> Result<(), StoreError> {
    let mut lengths = BTreeMap::new();
    for (index, log) in logs.iter().enumerate() {
        let bytes = read(log)?;
        for Entry { name, at, bytes, .. } in entries(log, &bytes, index + 1 == logs.len())?.0 {
            let length = match lengths.get(&name) {
                Some(length) => *length,
                None => length_of(directory, &name)?,
            };
            if at > length {
                let path = name.path(directory);
                return Err(StoreError::Short { path, length, log: (*log).to_owned(), at });
            }
            lengths.insert(name, length.max(at + bytes.len() as u64));
        }
    }
    Ok(())
}

/// Writes everything to its place. Gives whose files were written.
fn apply(logs: &[&Path], files: &mut Files) -> Result<BTreeSet<Name>, StoreError> {
    let mut sessions = BTreeSet::new();
    for (index, log) in logs.iter().enumerate() {
        let bytes = read(log)?;
        let (entries, torn) = entries(log, &bytes, index + 1 == logs.len())?;
        for entry in entries {
            files.write(&entry.name, entry.at, entry.bytes)?;
            sessions.insert(entry.name);
        }
        if torn > 0 {
            tracing::warn!(path = %log.display(), bytes = torn, "the end of the log is torn");
        }
    }
    Ok(sessions)
}

/// All entries, and how many bytes at the end are torn. What is not sound is a torn end if nothing later says that it
/// was durable; then it was promised to nobody. A file of the log that is not the last was durable to its end.
fn entries<'a>(path: &Path, log: &'a [u8], is_last: bool) -> Result<(Vec<Entry<'a>>, usize), StoreError> {
    let (mut found, mut end) = (Vec::new(), 0);
    while end < log.len() {
        let offset = end as u64;
        match decode(&log[end..]) {
            Read::Sound(entry, size) => {
                found.push(entry);
                end += size;
            }
            Read::Unknown(why) => return Err(StoreError::Unknown { path: path.to_owned(), offset, why }),
            Read::Damaged if !is_last || was_durable(offset, &log[end..]) => {
                return Err(StoreError::Damaged { path: path.to_owned(), offset });
            }
            Read::Damaged => break,
        }
    }
    Ok((found, log.len() - end))
}

/// Whether something later says that what stands at `offset` was durable.
fn was_durable(offset: u64, rest: &[u8]) -> bool {
    let mut later = (1..rest.len()).map(|at| &rest[at..]).filter(|later| may_begin(later));
    later.any(|later| match decode(later) {
        Read::Sound(entry, _) => entry.synced > offset,
        Read::Unknown(_) => true,
        Read::Damaged => false,
    })
}

fn read(log: &Path) -> Result<Vec<u8>, StoreError> {
    Ok(std::fs::read(log).map_err(|source| FileError::io(log, source))?)
}

fn length_of(directory: &Path, name: &Name) -> Result<u64, StoreError> {
    let path = name.path(directory);
    match path.symlink_metadata() {
        Ok(found) => Ok(found.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(source) => Err(FileError::io(&path, source).into()),
    }
}
