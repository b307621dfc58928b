//! A journal file that is open: where it goes on, and what waits to be written.
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use machine_journal::Record;

use crate::disk::{is_removed, lock, lock_itself, lock_of, make_private, private, remove, sync_name};
use crate::file::line::encode;
use crate::file::scan::{Reach, Scan, scan};
use crate::file::whole::write_without_past;
use crate::file::{BUFFER, FileError, Torn};
use crate::store;

/// An open file, the records that opening needs, and what was torn at its end.
pub(super) type Found = (Opened, Vec<Record>, Option<Torn>);

#[derive(Debug)]
pub(super) struct Opened {
    /// Without links.
    path: PathBuf,
    pub(super) file: File,
    /// Where the next line goes; beyond it is a torn end.
    end: u64,
    /// Lines so far, those in the buffer included.
    lines: u64,
    /// The checksum of the last of them.
    last: u32,
    /// How many of them are durable.
    synced: u64,
    /// Lines that are not written yet.
    buffer: Vec<u8>,
    /// Keeps others out. It is there from the end of the opening on.
    lock: Option<File>,
    /// Keeps a store out, where there is one.
    _no_store: Option<File>,
}

impl Opened {
    /// Opens a file, checks all of it, and reads what opening needs. A file that is refused is left as it was, and nothing
    /// is left beside it.
    pub(super) fn open(path: &Path, past: Option<u64>) -> Result<Found, FileError> {
        let failed = |source| FileError::io(path, source);
        let is_new = !path.exists();
        let file = private().open(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(FileError::NotAJournal { path: path.to_owned() });
        }
        let path = path.canonicalize().map_err(failed)?;
        let beside = lock_of(&path);
        let is_new_lock = !beside.exists();
        let lock = lock(&beside, &path)?;
        let mut found = Self::locked(path.clone(), file, is_new, past);
        match &mut found {
            Ok((open, ..)) => open.lock = Some(lock),
            Err(_) => {
                // While it is locked: nobody else goes on from these, and who waits for them sees that they are gone.
                let is_empty = || std::fs::metadata(&path).is_ok_and(|found| found.len() == 0);
                remove(is_new && is_empty(), &path);
                remove(is_new_lock, &beside);
            }
        }
        found
    }

    fn locked(path: PathBuf, file: File, is_new: bool, past: Option<u64>) -> Result<Found, FileError> {
        is_there(&file, 0).map_err(|source| FileError::io(&path, source))?;
        lock_itself(&file, &path)?;
        // In this order: a store looks for the lock of a file after it has its own.
        let _no_store = store::keep_out(path.parent().unwrap_or(Path::new("/")), &path)?;
        let buffer = Vec::new();
        let mut open =
            Self { path, file, end: 0, lines: 0, last: 0, synced: 0, buffer, lock: None, _no_store };
        let mut scan = open.scan(Reach::Opening)?;
        open.named(make_private(&open.file))?;
        if is_new {
            open.named(sync_name(&open.path))?;
        }
        if past.is_some_and(|most| scan.end > most) && scan.has_past {
            scan = Scan { torn: scan.torn, ..open.drop_past(scan)? };
        }
        (open.end, open.lines, open.last) = (scan.end, scan.lines, scan.last);
        // What was read may be in the system's memory only. Whoever goes on from it must be able to rely on it.
        open.named(open.file.sync_data())?;
        open.synced = open.lines;
        if let Some(Torn { line, bytes }) = scan.torn {
            tracing::warn!(path = %open.path.display(), line, bytes, "the end of the journal is torn");
        }
        Ok((open, scan.records, scan.torn))
    }

    /// The error of the system, with the file that it is about.
    fn named<T>(&self, done: io::Result<T>) -> Result<T, FileError> {
        done.map_err(|source| FileError::io(&self.path, source))
    }

    /// All records that are written.
    pub(super) fn read(&mut self) -> Result<Vec<Record>, FileError> {
        Ok(self.scan(Reach::All)?.records)
    }

    /// Takes a line; whether enough wait to be written.
    pub(super) fn add(&mut self, record: &Record) -> Result<bool, FileError> {
        encode(record, self.synced, &mut self.last, &mut self.buffer)?;
        self.lines += 1;
        Ok(self.buffer.len() >= BUFFER)
    }

    /// Writes what waits. What was torn goes first, durably.
    pub(super) fn write(&mut self) -> Result<(), FileError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let written = self.write_buffer();
        self.named(written)?;
        self.end += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn write_buffer(&mut self) -> io::Result<()> {
        let found = is_there(&self.file, self.end)?;
        if found.len() > self.end {
            self.file.set_len(self.end)?;
            self.file.sync_all()?;
        }
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(&self.buffer)
    }

    pub(super) fn sync(&mut self) -> Result<(), FileError> {
        self.write()?;
        if self.synced < self.lines {
            self.named(self.file.sync_data())?;
            self.synced = self.lines;
        }
        Ok(())
    }

    fn scan(&mut self, reach: Reach) -> Result<Scan, FileError> {
        let mut bytes = Vec::new();
        let read = self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.read_to_end(&mut bytes));
        self.named(read)?;
        scan(&self.path, &bytes, reach)
    }

    /// A file that cannot be written anew stays as it is: nothing depends on it.
    fn drop_past(&mut self, scanned: Scan) -> Result<Scan, FileError> {
        match write_without_past(&self.path, &scanned.records) {
            Ok(file) => {
                lock_itself(&file, &self.path)?;
                self.file = file;
                self.scan(Reach::Opening)
            }
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "the past of the journal is kept");
                Ok(scanned)
            }
        }
    }
}

/// Whether what was written is still there, so that what is promised now can be read again (J10).
fn is_there(file: &File, end: u64) -> io::Result<Metadata> {
    let found = file.metadata()?;
    if is_removed(&found) {
        return Err(io::Error::other("the file was removed or replaced while it was open"));
    }
    if found.is_file() && found.len() < end {
        return Err(io::Error::other("the file was made shorter while it was open"));
    }
    Ok(found)
}
