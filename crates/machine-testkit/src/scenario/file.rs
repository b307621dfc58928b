//! A scenario as it is written: the keys of the file. `docs/scenarios.md` shows every one.
use std::collections::BTreeMap;

use machine_core::Text;
use machine_core::config::Config;
use machine_core::response::{Failure, Finish, ModelEvent};
use machine_core::usage::Usage;
use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::scenario::call::Call;
use crate::scenario::expect::Expect;
use crate::scenario::hook::Hooks;
use crate::scenario::loose::Many;
use crate::scenario::verb::Moment;

/// A scenario file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// One line: what it is about.
    pub title: String,
    /// Ids of the rules and faults that it proves.
    #[serde(default)]
    pub proves: Vec<String>,
    /// For readers.
    #[serde(default)]
    pub why: String,
    /// Limits and policies of the agent.
    #[serde(default)]
    pub config: Option<Spanned<Config>>,
    /// What the model answers, attempt by attempt.
    #[serde(default)]
    pub model: Vec<Spanned<Reply>>,
    /// What it answers to every attempt after those.
    #[serde(default)]
    pub model_then: Option<Spanned<Reply>>,
    /// Calls by label: what they are, how they behave.
    #[serde(default)]
    pub calls: BTreeMap<String, Spanned<Many<Call>>>,
    /// What hooks say.
    #[serde(default)]
    pub hooks: Hooks,
    /// Further agents by role.
    #[serde(default)]
    pub agents: BTreeMap<String, Role>,
    /// How many model requests may run at the same time, of all agents together (H05).
    #[serde(default)]
    pub model_limit: Option<u32>,
    /// Watchers that misbehave; what they do must change nothing (E04).
    #[serde(default)]
    pub watchers: Vec<Watcher>,
    /// What happens when.
    #[serde(default)]
    pub timeline: Vec<Spanned<Moment>>,
    /// What must come out.
    pub expect: Spanned<Expect>,
}

/// An agent besides the first.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Role {
    /// It is opened at the start, under its role's name. Otherwise a call opens it, under the call's name.
    pub standalone: bool,
    /// Limits and policies.
    pub config: Option<Spanned<Config>>,
    /// What its model answers.
    pub model: Vec<Spanned<Reply>>,
    /// And after that.
    pub model_then: Option<Spanned<Reply>>,
    /// Its calls.
    pub calls: BTreeMap<String, Spanned<Many<Call>>>,
    /// Its hooks.
    pub hooks: Hooks,
}

/// A watcher that misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Watcher {
    /// Panics at every event.
    Panics,
    /// Subscribes and never reads.
    NeverReads,
}

/// What the model answers to one attempt.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reply {
    /// Reasoning.
    pub thinking: Option<Text>,
    /// Visible text.
    pub text: Option<Text>,
    /// Calls, by label, in call order.
    pub calls: Vec<String>,
    /// The stream, piece by piece, in place of `thinking` and `text`; `calls` then names the calls in the order in
    /// which the stream opens them.
    pub pieces: Vec<PieceAt>,
    /// Milliseconds from the request to the end; what is not in `pieces` comes just before it.
    pub takes: Option<u64>,
    /// How it ends. Default: `tool_use` with calls, `end_turn` without.
    pub finish: Option<Finish>,
    /// The provider's own word for that.
    pub raw: Option<Text>,
    /// Tokens.
    pub usage: Option<Usage>,
    /// It fails.
    pub fail: Option<Fail>,
    /// It goes silent after its pieces.
    pub silent: bool,
    /// The model adapter panics.
    pub panics: Option<Text>,
}

/// A piece of a stream.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PieceAt {
    /// Milliseconds from the request.
    pub at: u64,
    /// What comes.
    pub event: ModelEvent,
}

/// How an attempt fails.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fail {
    /// The kind.
    pub kind: Failure,
    /// For people.
    #[serde(default)]
    pub message: Option<Text>,
    /// HTTP status.
    #[serde(default)]
    pub status: Option<u16>,
    /// Milliseconds that the server asks to wait.
    #[serde(default)]
    pub retry_after_ms: Option<u64>,
    /// The provider's id of the request.
    #[serde(default)]
    pub request_id: Option<Text>,
    /// Tokens that were spent all the same.
    #[serde(default)]
    pub usage: Option<Usage>,
}
