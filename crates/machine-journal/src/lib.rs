//! The journal of a session, pure: what is written, and how an engine comes back from it.
//!
//! A journal is the admitted inputs, each written before it is handled, the acts that were about to leave, and a point
//! at the end of each turn (J02). The engine is deterministic (J01), so the inputs are enough to have it again; the acts
//! say what may have run before the process died; points make opening cheap, and outlast a change of the rules.
//!
//! | module | what it holds |
//! |---|---|
//! | [`record`] | what a journal is made of, and its text form |
//! | [`point`] | where opening may begin |
//! | `deltas` | pieces of a stream that are written as one record |
//! | [`writer`] | makes the records, in order and numbered |
//! | [`memory`] | a journal in memory that can crash |
//! | `replay` | records are handled once more, and compared |
//! | [`open`] | a session again: from its last point, or from a point on; its events; without its past |
//! | [`error`] | why records are no session |
//!
//! Bytes, files and locks are the host's.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod deltas;
pub mod error;
pub mod memory;
pub mod open;
pub mod point;
pub mod record;
mod replay;
pub mod writer;

pub use error::ReplayError;
pub use memory::MemoryJournal;
pub use open::{
    Closing, Maintaining, Reopened, Start, begin, events, oldest_event, reopen, replay, without_past,
};
pub use point::{Point, PointError};
pub use record::{Left, Record, SCHEMA, SEMANTICS};
pub use writer::Writer;
