//! The turn machine: steps, attempts, and what comes after a step.
//!
//! | module | what it holds |
//! |---|---|
//! | [`state`] | states, and what outlives them |
//! | [`event`] | what happens to a turn, and what it signals |
//! | [`attempt`] | what one attempt has streamed so far (M01, M02) |
//! | `judge` | what a finished response means (T08 to T11) |
//! | `cascade` | what a failed attempt leads to (M03 to M09) |
//! | `backoff` | how long to wait (M05) |
//! | `after_step` | what comes after a step, as one list of rows (T13) |
//! | `steps` | how a step begins, receives and ends |
//! | `rows` | one row per transition |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod after_step;
pub mod attempt;
mod backoff;
mod cascade;
pub mod event;
mod judge;
mod rows;
pub mod state;
mod steps;

pub use event::{Ctx, Event, Signal};
pub use rows::start;
pub use state::{State, Turn};
