//! A journal in memory: for tests, and for sessions that need not outlive their process.
use alloc::vec::Vec;

use crate::record::Record;

/// Records, and how far they are durable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryJournal {
    records: Vec<Record>,
    synced: usize,
}

impl MemoryJournal {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a record; it is durable after the next [`sync`](Self::sync).
    pub fn append(&mut self, record: Record) {
        self.records.push(record);
    }

    /// Everything so far is durable.
    pub fn sync(&mut self) {
        self.synced = self.records.len();
    }

    /// What is not durable is gone, as when the process dies at the worst moment.
    pub fn crash(&mut self) {
        self.records.truncate(self.synced);
    }

    /// All records, durable or not.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The durable ones.
    pub fn synced(&self) -> &[Record] {
        &self.records[..self.synced]
    }
}
