//! What must come out, as it is written in the file.
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::scenario::verb::Place;

/// What must come out of one agent. What is left out is not looked at.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Expect {
    /// The whole history, a line an entry.
    pub history: Option<Spanned<Vec<String>>>,
    /// How the turns ended, in order.
    pub ends: Option<Spanned<Vec<String>>>,
    /// How many requests were made.
    pub requests: Option<Spanned<usize>>,
    /// What requests said.
    pub sent: Vec<Spanned<Sent>>,
    /// The calls that started, in order.
    pub starts: Option<Spanned<Vec<String>>>,
    /// How calls were answered, by name.
    pub results: BTreeMap<String, Spanned<String>>,
    /// Texts that stand in what the model reads of a call, by name.
    pub reads: BTreeMap<String, Spanned<Vec<String>>>,
    /// Receipts of inputs, by id, in order.
    pub receipts: BTreeMap<String, Spanned<Vec<String>>>,
    /// Events that come in this order, others between them.
    pub events: Vec<Spanned<String>>,
    /// Events that never come.
    pub never: Vec<Spanned<String>>,
    /// How often events come.
    pub counts: BTreeMap<String, Spanned<usize>>,
    /// States at a time.
    pub states: Vec<Spanned<StateAt>>,
    /// What was refused, in order.
    pub refused: Option<Spanned<Vec<String>>>,
    /// Tokens of all turns together.
    pub usage: Option<Spanned<Tokens>>,
    /// What is open at the end, by kind of ask.
    pub open: Option<Spanned<Vec<String>>>,
    /// What must come out of other agents, by name.
    pub agents: BTreeMap<String, Spanned<Expect>>,
}

/// What one request said.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sent {
    /// The number of the request, from 1.
    pub n: usize,
    /// How its history ended, a line an entry.
    #[serde(default)]
    pub history_ends: Option<Vec<String>>,
    /// The tools on offer.
    #[serde(default)]
    pub tools: Option<Vec<String>>,
    /// System text.
    #[serde(default)]
    pub system: Option<String>,
    /// Model and settings, in part: JSON in which these texts stand.
    #[serde(default)]
    pub settings: Vec<String>,
    /// It said the same as this one.
    #[serde(default)]
    pub same_as: Option<usize>,
}

/// The states at a time, after everything of that tick, or where `order` says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateAt {
    /// Milliseconds from the start.
    pub at: u64,
    /// Where in its tick.
    #[serde(default = "last")]
    pub order: Place,
    /// The agent's, such as `Running/Active`, or a part of it.
    #[serde(default)]
    pub agent: Option<String>,
    /// The turn's; `none` if there is none.
    #[serde(default)]
    pub turn: Option<String>,
    /// The calls', by name; `none` for one that is over.
    #[serde(default)]
    pub calls: BTreeMap<String, String>,
    /// What is asked, by kind.
    #[serde(default)]
    pub open: Option<Vec<String>>,
}

fn last() -> Place {
    Place::Last
}

/// Tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tokens {
    /// Of requests.
    pub input: u64,
    /// Of responses.
    pub output: u64,
    /// Read from a cache.
    pub cached: u64,
    /// Attempts that reported none.
    pub unknown: u32,
}
