//! The model `script:FILE`: it answers the n-th attempt with the n-th response of a YAML file, whatever was
//! asked. The format is described in `docs/script-model.md`.

mod args;
mod format;
mod load;

use std::time::Duration;

use machine_core::response::{Failure, Finish, ModelError, ModelEvent};

use super::Reply;
pub use load::ScriptError;

/// A script, read and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    replies: Vec<ScriptReply>,
}

/// One response of a script, with its pauses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptReply {
    /// The pause before the first event, or before the end if there is no event.
    pub delay: Duration,
    /// The pause before each further event.
    pub piece_delay: Duration,
    /// The pieces of the stream.
    pub events: Vec<ModelEvent>,
    /// How it ends after them.
    pub end: Result<Finish, ModelError>,
}

impl Script {
    /// The response to attempt `n`, counted from 0. `None` past the end: see [`Script::exhausted`].
    pub fn respond(&self, n: usize) -> Option<ScriptReply> {
        self.replies.get(n).cloned()
    }

    /// How an attempt past the end fails.
    pub fn exhausted(&self) -> ModelError {
        let what = if self.len() == 1 { "response" } else { "responses" };
        ModelError::new(Failure::InvalidRequest, format!("the script has only {} {what}", self.len()))
    }

    /// How many responses it has.
    pub fn len(&self) -> usize {
        self.replies.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.replies.is_empty()
    }
}

/// A reply without pauses, so that both models can be played the same way.
impl From<Reply> for ScriptReply {
    fn from(Reply { events, finish }: Reply) -> Self {
        Self { delay: Duration::ZERO, piece_delay: Duration::ZERO, events, end: Ok(finish) }
    }
}
