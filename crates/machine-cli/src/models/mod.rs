//! The models that need no network.
//!
//! | module | the model |
//! |---|---|
//! | [`rules`] | reads a handful of requests and works on them with the tools, step by step |
//! | [`script`] | plays responses, failures and pauses from a file, one per attempt |
//!
//! Architecture invariant: what a model here answers follows from the conversation (or from the number of the
//! attempt) alone. There is no clock, no random number and no network in this module, and only
//! [`script::Script::load`] touches a file.

mod pieces;
pub mod rules;
pub mod script;

use machine_core::response::{Finish, ModelEvent};

/// One response of a model: its stream, in order, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The pieces of the stream.
    pub events: Vec<ModelEvent>,
    /// How it ended.
    pub finish: Finish,
}
