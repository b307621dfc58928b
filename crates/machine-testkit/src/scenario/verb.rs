//! The keys of the timeline: what somebody does, and when.
use machine_core::Text;
use machine_core::access::Access;
use machine_core::ask::By;
use machine_core::config::Config;
use serde::Deserialize;

use crate::scenario::loose::{FromText, Many, Short};

/// Something that happens at a time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// Milliseconds from the start.
    pub at: u64,
    /// Where among the things of its tick it comes.
    #[serde(default)]
    pub order: Place,
    /// To which agent. Default: the first.
    #[serde(default)]
    pub agent: Option<String>,
    /// What happens.
    #[serde(rename = "do")]
    pub verbs: Many<Verb>,
}

/// Where among the things of its tick something comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Before everything, timers too.
    First,
    /// After timers, before what model, calls and hooks bring.
    #[default]
    Between,
    /// After everything.
    Last,
}

/// What somebody does.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// A prompt.
    Submit(Short<Says>),
    /// A prompt that joins the running turn.
    Join(Short<Says>),
    /// Queued prompts join the running turn.
    Steer(Many<String>),
    /// A notification.
    Notify(Short<Says>),
    /// An injection.
    Inject(Short<Says>),
    /// A reminder.
    Remind(Reminds),
    /// Takes pending input back.
    Withdraw(String),
    /// Changes a pending prompt.
    Replace(Replaces),
    /// Declares a call's accesses again.
    Declare(Declares),
    /// Cancels a call.
    Cancel(Short<Cancels>),
    /// A background end was told otherwise.
    Consume(String),
    /// Grants an approval.
    Approve(Short<Approves>),
    /// Denies an approval.
    Deny(Denies),
    /// Nobody answered an approval in time.
    Expire(String),
    /// Stops what runs.
    Abort(Short<Aborts>),
    /// No new turn.
    Pause,
    /// Turns again.
    Resume,
    /// Begins maintenance.
    Maintain,
    /// Another configuration, from the next turn on.
    Configure(Box<Config>),
    /// Ends this opening.
    Close,
    /// The process dies, and another one opens the session.
    Crash,
    /// The process dies while it writes what must be durable next, and another one opens the session.
    CrashUnsaved,
    /// The process dies.
    Die,
    /// Another process opens the session. One that still has it ends before that, in order.
    Reopen,
    /// Hands the session over to another process.
    Park,
}

/// How an opening of a session ends, and the next begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// The process dies, and another one opens what is left.
    Crash,
    /// The same, but not before the next input that must be durable.
    CrashUnsaved,
    /// The process dies.
    Die,
    /// Another process opens the session; one that still has it ends in order.
    Reopen,
    /// It is handed over.
    Park,
}

/// Something that is said. A text alone is its id, too.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Says {
    /// Its id.
    pub id: Text,
    /// What it says. Default: its id.
    #[serde(default)]
    pub text: Option<Text>,
    /// A prompt may leave an idle agent asleep.
    #[serde(default = "yes")]
    pub wake: bool,
    /// The host's own data, JSON text.
    #[serde(default)]
    pub meta: Option<Text>,
}

fn yes() -> bool {
    true
}

/// A reminder.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reminds {
    /// What it is about.
    pub key: Text,
    /// What it says.
    pub text: Text,
    /// Told only if it says something new.
    #[serde(default)]
    pub only_if_changed: bool,
}

/// Another text for a pending prompt.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replaces {
    /// Which.
    pub id: Text,
    /// The new text.
    pub text: Text,
}

/// Other accesses of a call.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declares {
    /// Which.
    pub call: String,
    /// What it touches.
    pub access: Access,
}

/// A call to cancel. A text alone is the call; a user does it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cancels {
    /// Which.
    pub call: String,
    /// Who.
    #[serde(default = "user")]
    pub by: By,
    /// Why.
    #[serde(default)]
    pub reason: Option<Text>,
}

fn user() -> By {
    By::User
}

/// An approval that is granted. A text alone is the call.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approves {
    /// Of which call.
    pub call: String,
    /// A rule grants it, and from now on whatever it covers.
    #[serde(default)]
    pub rule: Option<Allows>,
}

/// A rule that grants approvals.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allows {
    /// Its name.
    pub name: Text,
    /// The tools that it covers.
    pub tools: Vec<Text>,
}

/// An approval that is denied.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Denies {
    /// Of which call.
    pub call: String,
    /// Why.
    pub reason: Text,
}

/// Who aborts. A text alone is who.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aborts {
    /// Who.
    pub by: By,
    /// Why.
    #[serde(default)]
    pub reason: Option<Text>,
    /// Only this turn, by number.
    #[serde(default)]
    pub turn: Option<u32>,
    /// Only the turn that this prompt opened.
    #[serde(default)]
    pub prompt: Option<Text>,
}

impl Place {
    /// Its name in a file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Between => "between",
            Self::Last => "last",
        }
    }
}

impl FromText for Says {
    fn from_text(text: &str) -> Result<Self, String> {
        Ok(Self { id: text.into(), text: None, wake: true, meta: None })
    }
}

impl FromText for Cancels {
    fn from_text(text: &str) -> Result<Self, String> {
        Ok(Self { call: text.into(), by: By::User, reason: None })
    }
}

impl FromText for Approves {
    fn from_text(text: &str) -> Result<Self, String> {
        Ok(Self { call: text.into(), rule: None })
    }
}

impl FromText for Aborts {
    fn from_text(text: &str) -> Result<Self, String> {
        let by = serde::de::value::StrDeserializer::<serde::de::value::Error>::new(text);
        let by = By::deserialize(by).map_err(|error| error.to_string())?;
        Ok(Self { by, reason: None, turn: None, prompt: None })
    }
}
