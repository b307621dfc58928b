//! The vocabulary of `agent-machine`, shared by the three machines, the adapter and the hosts.
//!
//! | module | what it names |
//! |---|---|
//! | [`ids`] | branch, turn, step, attempt, call, ask, input |
//! | [`message`] | what a model reads and writes: parts, messages, history entries with their origin |
//! | [`response`] | what comes back from a model: stream events, finish reasons, failures |
//! | [`usage`] | tokens, per attempt and per turn |
//! | [`outcome`] | how a tool call ends, with the closed code lists and their wording |
//! | [`access`] | what a call touches, and which accesses conflict |
//! | [`history`] | the list of entries that is correct by its type |
//! | [`wires`] | ids of calls on the wire |
//! | [`ask`] | the one question protocol: asks, answers, pieces, withdrawals |
//! | [`input`] | everything a host can tell the engine |
//! | [`drain`] | what passes between the inbox and a turn |
//! | [`event`] | everything the engine reports |
//! | [`config`] | limits and policies |
//! | [`nested`] | the end of an agent that ran in a call |
//! | [`machine`] | the owner of a statig machine |
//! | [`canonical`] | one text for all ways to write the same JSON object |
//! | [`digest`] | stable digests over encoded bytes |
//!
//! The crate is `no_std`: there is no clock, thread, file or random hash order here or in any crate that
//! builds on it.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod access;
pub mod ask;
#[doc(hidden)]
pub mod canary;
pub mod canonical;
mod cause;
pub mod config;
pub mod digest;
pub mod drain;
pub mod event;
pub mod history;
pub mod ids;
pub mod input;
pub mod machine;
pub mod message;
pub mod nested;
mod object;
pub mod outcome;
mod policy;
mod receipt;
pub mod response;
pub mod usage;
pub mod wires;

/// Shared text. Payloads are shared, never copied, so that an event costs no allocation.
pub type Text = alloc::sync::Arc<str>;
