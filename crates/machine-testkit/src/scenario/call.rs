//! The keys of a call: what it is, and how it behaves.
use machine_core::Text;
use machine_core::access::Access;
use machine_core::ask::Plan;
use machine_core::canonical::canonical;
use machine_core::outcome::ToolResult;
use serde::Deserialize;

use crate::scenario::hook::{Finalized, Hook};
use crate::scenario::loose::{FromText, Short};

/// A call: what it is, and how it behaves.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Call {
    /// Its tool. Default: its label.
    pub tool: Option<String>,
    /// Its arguments: a mapping, or a text that is sent as it is.
    pub args: Option<Short<Args>>,
    /// The provider's id.
    pub id: Text,
    /// What it touches. Default: nothing.
    pub access: Option<Access>,
    /// How it is planned otherwise.
    pub plan: Plan,
    /// What becomes of its preparation. Default: it is ready.
    pub prepare: Option<Prepare>,
    /// Milliseconds that its preparation takes.
    pub prepare_takes: u64,
    /// Milliseconds from its start to its end.
    pub takes: Option<u64>,
    /// How it ends. Default: `ok` with its label as text.
    pub ends: Option<Ends>,
    /// What it does when it is cancelled. Default: it stops at once.
    pub on_cancel: OnCancel,
    /// What it says on the way, for people.
    pub progress: Vec<TextAt>,
    /// Output on the way.
    pub output: Vec<TextAt>,
    /// It goes on in the background.
    pub detach: Option<TextAt>,
    /// What its result carries besides text.
    pub result: ToolResult,
    /// It reports a second end. In a host that cannot happen: a tool's future returns once.
    pub reports_again: Option<ReportAt>,
    /// What the finalizer makes of its result.
    pub finalize: Option<Hook<Finalized>>,
}

/// Arguments of a call.
#[derive(Clone, Debug)]
pub enum Args {
    /// A mapping.
    Object(serde_json::Map<String, serde_json::Value>),
    /// As it is.
    Raw(Text),
}

/// A text with its time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextAt {
    /// Milliseconds from the start of the call.
    pub at: u64,
    /// What it says.
    pub text: Text,
}

/// An end with its time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportAt {
    /// Milliseconds from the start of the call.
    pub at: u64,
    /// How it ends.
    pub ends: Ends,
}

/// How a call ends.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ends {
    /// It did what was asked.
    Ok(Text),
    /// It failed.
    Error(Text),
    /// It panics.
    Panic(Text),
    /// Its result cannot be read.
    Malformed(Text),
    /// It never ends.
    Hang,
    /// As the agent that it runs ends.
    Agent(Delegate),
}

/// A call that runs an agent.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delegate {
    /// Its role.
    pub role: String,
    /// What it is asked.
    pub prompt: String,
    /// Milliseconds from the start of the call until the agent is opened.
    #[serde(default)]
    pub opens_after: u64,
}

/// What a call does when it is cancelled.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnCancel {
    /// It stops at once, without a word.
    #[default]
    Obeys,
    /// It goes on: it is deaf.
    Ignores,
    /// It ends like this, this many milliseconds later.
    Ends(ReportAt),
}

/// What becomes of a preparation.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prepare {
    /// There is no such tool.
    Unknown,
    /// The arguments do not fit.
    Invalid(Text),
    /// A hook rewrites the arguments.
    Rewrite(Short<Args>),
    /// A hook denies it.
    Deny(Text),
    /// A hook leaves it out.
    Skip(Text),
    /// A hook answers in its place.
    Answer(Text),
    /// The hook fails.
    Fails(Text),
    /// The hook panics.
    Panics(Text),
    /// The hook never answers.
    Hangs,
}

impl FromText for Args {
    fn from_text(text: &str) -> Result<Self, String> {
        Ok(Self::Raw(text.into()))
    }
}

impl<'de> Deserialize<'de> for Args {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        serde_json::Map::deserialize(from).map(Self::Object)
    }
}

impl Args {
    /// As the model sends them.
    pub fn text(&self) -> Text {
        match self {
            Self::Raw(text) => text.clone(),
            // By key, however the parser was built.
            Self::Object(map) => {
                let text = serde_json::Value::Object(map.clone()).to_string();
                canonical(&text).unwrap_or(text).into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_one_text() {
        let args: Args = serde_json::from_str(r#"{"b": {"z": 1, "a": 2}, "a": 3}"#).expect("an object");
        assert_eq!(&*args.text(), r#"{"a":3,"b":{"a":2,"z":1}}"#);
    }
}
