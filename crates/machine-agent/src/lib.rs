//! The agent machine: the inbox, one turn at a time, and the roster of calls that outlive their turn.
//!
//! | module | what it holds |
//! |---|---|
//! | [`state`] | states, and what outlives them |
//! | [`event`] | what happens to an agent, and what it signals |
//! | [`inbox`], `receipts` | the two lanes, reminders; the ids that were seen |
//! | [`roster`] | calls that work on after their turn |
//! | `admit` | which commands fit now |
//! | `screening` | who is asked before input goes in |
//! | `turns` | how a turn starts and what its end means |
//! | `rows` | one row per transition |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod admit;
pub mod event;
pub mod inbox;
mod receipts;
pub mod roster;
mod rows;
mod screening;
pub mod state;
mod turns;

pub use admit::admit;
pub use event::{Ctx, Event, Signal};
pub use state::{Agent, State};
