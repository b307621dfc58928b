//! The tool-call machine: one call's life, from preparation to the end of its work.
//!
//! A call is *answered* once (its result is in the ledger) and *ended* once (its work is over, or was declared
//! gone). `Lingering` is answered and not ended: a detached call, or a deaf one; it outlives batch and turn.
//!
//! | module | what it holds |
//! |---|---|
//! | [`state`] | states, superstates, and what lives in them |
//! | [`event`] | what happens to a call, and what it signals |
//! | `rows` | one row per transition |
//! | `settlements` | how a call is answered |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod event;
mod rows;
mod settlements;
pub mod state;

pub use event::{Ctx, Event, Signal};
pub use rows::{answer, prepare};
pub use state::{Call, State};
