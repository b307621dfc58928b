//! The journal of a session, pure: what is written, and how an engine comes back from it.
//!
//! A journal is the admitted inputs, each written before it is handled, plus the acts that were about to leave
//! (J02). The engine is deterministic (J01), so the inputs are enough to have it again; the acts say what may have
//! run before the process died.
//!
//! | module | what it holds |
//! |---|---|
//! | [`record`] | what a journal is made of, and its text form |
//! | [`writer`] | numbers records as they are made |
//! | [`memory`] | a journal in memory that can crash |
//! | [`mod@replay`] | records become an engine again; what a dead process left open is closed once (J05) |
//!
//! Bytes, files and locks are the host's.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod memory;
pub mod record;
pub mod replay;
pub mod writer;

pub use memory::MemoryJournal;
pub use record::{Record, SCHEMA, SEMANTICS};
pub use replay::{Reopened, ReplayError, reopen, replay};
pub use writer::Writer;
