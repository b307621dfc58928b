//! A scenario as it is written: the keys of the file. `docs/scenarios.md` shows every one.
use std::collections::BTreeMap;

use machine_core::Text;
use machine_core::access::Access;
use machine_core::ask::{By, Plan};
use machine_core::config::{Config, Settings};
use machine_core::message::Entry;
use machine_core::outcome::ToolResult;
use machine_core::response::{Failure, Finish, ModelEvent};
use machine_core::usage::Usage;
use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::scenario::expect::Expect;
use crate::scenario::loose::{FromText, Many, Short};

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
}

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

/// What hooks say, in order, each time that they are asked; then they agree. A question without an entry is not asked.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hooks {
    /// Before a prompt opens or joins a turn.
    pub screen: Option<Vec<Spanned<Hook<Screens>>>>,
    /// Before a step.
    pub gate: Option<Vec<Spanned<Hook<Gates>>>>,
    /// After a failed attempt.
    pub recover: Option<Vec<Spanned<Hook<Recovers>>>>,
    /// When the turn would end.
    pub stop: Option<Vec<Spanned<Hook<Stops>>>>,
    /// Maintenance.
    pub maintain: Option<Vec<Spanned<Hook<Maintains>>>>,
}

/// What a hook does when it is asked.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hook<T> {
    /// Milliseconds until it answers.
    #[serde(default)]
    pub takes: u64,
    /// Changes of history before that.
    #[serde(default = "Vec::new")]
    pub edits: Vec<Edits>,
    /// Its answer.
    #[serde(default = "none")]
    pub says: Option<T>,
    /// It fails.
    #[serde(default)]
    pub fails: Option<Text>,
    /// It panics.
    #[serde(default)]
    pub panics: Option<Text>,
    /// It never answers.
    #[serde(default)]
    pub hangs: bool,
}

fn none<T>() -> Option<T> {
    None
}

/// A change of history.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Edits {
    /// The first entries become one summary.
    Fold {
        /// How many.
        up_to: usize,
        /// What stands for them.
        into: Text,
    },
    /// Everything becomes this.
    Replace(Vec<Entry>),
}

/// A screen's answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Screens {
    /// As it is.
    Admit,
    /// With another text.
    Rewrite(Text),
    /// Not at all.
    Block(Text),
}

/// A gate's answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gates {
    /// The step may begin.
    Proceed(Begins),
    /// The turn ends.
    Block(Text),
}

/// What a step begins with. What is left out stays as it is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Begins {
    /// The tools on offer, by name.
    pub tools: Option<Vec<Text>>,
    /// System text.
    pub system: Option<Text>,
    /// Model and settings.
    pub settings: Option<Settings>,
    /// Messages before the request.
    pub messages: Vec<Text>,
}

/// A recovery.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovers {
    /// Nothing.
    Decline,
    /// The turn fails with this.
    End(Fail),
    /// Ask again now.
    Retry(Retries),
}

/// A recovery that was carried out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retries {
    /// Its name.
    pub strategy: Text,
    /// Whether something is better now.
    #[serde(default)]
    pub progress: bool,
    /// Another request.
    #[serde(default)]
    pub instead: Option<Begins>,
    /// Whether that holds for the turn.
    #[serde(default)]
    pub for_turn: bool,
    /// What it cost.
    #[serde(default)]
    pub usage: Option<Usage>,
}

/// A stop hook's answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stops {
    /// The turn may end.
    End,
    /// It goes on with these messages.
    Continue(Vec<Text>),
}

/// Maintenance's answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Maintains {
    /// It is done.
    Done,
}

/// A finalizer's answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finalized {
    /// As it is.
    Same,
    /// With another text.
    Text(Text),
}

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
    Configure(Config),
    /// Ends this opening.
    Close,
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
            Self::Object(map) => serde_json::Value::Object(map.clone()).to_string().into(),
        }
    }
}
