//! Why records are no session.
use alloc::sync::Arc;

use machine_core::config::ConfigError;
use machine_core::input::Refused;

use crate::point::PointError;
use crate::record::Left;

/// Why records are no session that can be opened (J04, J06). `record` counts them from 0. The way out is a copy of the
/// records from before they were changed; what leads up to the named record may still be replayed and forked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The first record is no header.
    #[error("record 0: expected the header of a session")]
    NoHeader,
    /// There is a header that is not the first record.
    #[error("record {record}: a second header")]
    SecondHeader {
        /// Its position.
        record: usize,
    },
    /// A later version wrote it.
    #[error(
        "record 0: the session has schema {found}, this version reads up to {known}: open it with the version that wrote it, or a later one"
    )]
    Schema {
        /// The session's.
        found: u32,
        /// The newest that is known.
        known: u32,
    },
    /// The configuration in the header is nonsense.
    #[error("record 0: {0}")]
    Config(#[from] ConfigError),
    /// A record is missing, or there twice.
    #[error("record {record}: expected number {expected}, found {found}")]
    Number {
        /// Its position.
        record: usize,
        /// What must come.
        expected: u64,
        /// What came.
        found: u64,
    },
    /// This input is never written.
    #[error("record {record}: an input of the kind {kind} is never written")]
    NeverWritten {
        /// Its position.
        record: usize,
        /// The input's name.
        kind: &'static str,
    },
    /// The engine does not take this input where it stands.
    #[error("record {record}: the engine refuses this input: {why}")]
    Refused {
        /// Its position.
        record: usize,
        /// Why.
        why: Refused,
    },
    /// The ask that an input names is about something else here.
    #[error("record {record}: this input does not belong to the ask that it names")]
    About {
        /// Its position.
        record: usize,
    },
    /// The acts that left are not those that the inputs lead to.
    #[error("record {record}: acts {recorded:?} left, the inputs lead to {replayed:?}")]
    Acts {
        /// Its position.
        record: usize,
        /// What the journal says.
        recorded: Arc<[Left]>,
        /// What the replay says.
        replayed: Arc<[Left]>,
    },
    /// Acts should have left before this record, and are not recorded.
    #[error("record {record}: the acts of the input before it are missing")]
    ActsMissing {
        /// Its position.
        record: usize,
    },
    /// What a dead process left open is something else.
    #[error("record {record}: other calls may have run than this recovery says")]
    Recovered {
        /// Its position.
        record: usize,
    },
    /// A point is not what the inputs lead to.
    #[error("record {record}: the inputs lead to a point that differs in its {what}")]
    Point {
        /// Its position.
        record: usize,
        /// What differs first.
        what: &'static str,
    },
    /// A point does not follow from the one before it.
    #[error("record {record}: {why}")]
    BadPoint {
        /// Its position.
        record: usize,
        /// Why.
        why: PointError,
    },
}
