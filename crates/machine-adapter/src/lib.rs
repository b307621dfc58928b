//! The engine: three machines and the small parts between them.
//!
//! Inputs come down, signals run to completion inside one `handle`, events and asks come out in order. A machine
//! never calls another: it pushes signals. Of what runs in a host, this crate alone knows all three.
//!
//! | module | its one job |
//! |---|---|
//! | [`engine`] | what a host holds: admit, handle, read, save |
//! | `deliver` | an input becomes an event of the machine that it belongs to |
//! | `route` | a signal becomes what it asks for: one match, one line a signal |
//! | [`asks`] | the table of open asks |
//! | `recent` | a map that finds its newest keys without a search |
//! | [`batch`] | who may start: accesses, cap, call order |
//! | `scheduling` | the life of calls: opening, starting, answering, ending |
//! | `at_turn_end` | background calls and the end of their turn; calls that a prompt cuts |
//! | [`ledger`] | every call is announced once and answered once, in call order |
//! | `result` | what the model reads of a result |
//! | `repeat` | calls that were made again and again with the same result |
//! | `entries` | asks and withdrawals, requests, entries besides results, staged edits |
//! | `hook_text` | how much text hooks may put into history |
//! | `recover` | a dead process, a fault |
//! | [`carry`] | from one state of a session to a later one: what a journal's points hold |
//! | `fork` | another session that begins like this one |
//! | `answers` | answers for hosts that do not care |
//! | [`out`] | what a `handle` brings out |
//! | [`view`] | the state as a host reads it |
//! | [`kept`] | output that waits for its finalizer, for hosts |
//! | [`trace`] | transitions as data |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod answers;
pub mod asks;
mod at_turn_end;
pub mod batch;
pub mod carry;
mod deliver;
pub mod engine;
mod entries;
mod fork;
mod hook_text;
pub mod kept;
pub mod ledger;
pub mod out;
mod recent;
mod recover;
mod repeat;
mod result;
mod route;
mod scheduling;
pub mod trace;
pub mod view;

pub use answers::default_answer;
pub use carry::{AdvanceError, CARRY_SCHEMA, Carry, Change};
pub use engine::{Admitted, Engine, Request, RestoreError, Snapshot};
pub use fork::ForkError;
pub use out::{Order, Out};
