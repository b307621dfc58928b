//! Numbers records as they are made, so that a journal has no gap and no number twice.
use alloc::sync::Arc;

use machine_core::ask::Ask;
use machine_core::config::Config;
use machine_core::input::Input;

use crate::record::{Record, SCHEMA, SEMANTICS};

/// Where a journal goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writer {
    next: u64,
}

impl Writer {
    /// Of a new session.
    pub fn new() -> Self {
        Self::default()
    }

    /// Of a session that has this many inputs.
    pub fn after(inputs: u64) -> Self {
        Self { next: inputs }
    }

    /// How many inputs are written.
    pub fn inputs(self) -> u64 {
        self.next
    }

    /// The first record of a session.
    pub fn header(branch: u32, config: Arc<Config>) -> Record {
        Record::Header { schema: SCHEMA, semantics: SEMANTICS, branch, config }
    }

    /// An input that was admitted and is about to be handled.
    pub fn input(&mut self, at: u64, input: Input) -> Record {
        let n = self.next;
        self.next += 1;
        Record::In { n, at, input }
    }

    /// The acts that the last input led to, if any; they are about to leave.
    pub fn acts(self, acts: &[Ask]) -> Option<Record> {
        let n = self.next.checked_sub(1).filter(|_| !acts.is_empty())?;
        Some(Record::Act { n, asks: acts.iter().map(|act| act.id).collect() })
    }
}
