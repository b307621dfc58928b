//! The model `rules`: it understands a handful of requests and works on them with the tools, in steps and with
//! parallel calls, as a language model would.
//!
//! | module | what it knows |
//! |---|---|
//! | `words` | words and quotes of a prompt |
//! | `parse` | the grammar: from words to a [`Request`] |
//! | `scope` | which files a request is about |
//! | `conversation` | which request is the current one, and what was done for it |
//! | `output` | what the tools print |
//! | `calls` | the calls that are made, with their arguments |
//! | `plan` | the next step of a request; a new kind is a variant, a verb and a function there |
//! | `look`, `run`, `replace` | one kind of request each |
//! | `say` | wording |
//! | `stream` | from a step to the pieces of a stream |
//!
//! Architecture invariant: nothing is remembered between two responses. The next step follows from the
//! history alone, so that a repeated attempt, a restart and a fork go on where the history stands.

mod calls;
mod conversation;
mod look;
mod output;
mod parse;
mod plan;
mod replace;
mod run;
mod say;
mod scope;
mod stream;
mod words;

use machine_core::config::ToolSpec;
use machine_core::history::History;

use super::Reply;
use conversation::Conversation;
pub use parse::{Request, Unclear, parse};
pub use scope::Scope;

/// The next response of the model, from the conversation and the tools on offer.
pub fn respond(history: &History, tools: &[ToolSpec]) -> Reply {
    let conversation = Conversation::read(history);
    stream::reply(history, plan::next(&conversation, tools))
}
