//! The keys of hooks: what they say when they are asked.
use machine_core::Text;
use machine_core::config::Settings;
use machine_core::message::Entry;
use machine_core::usage::Usage;
use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::scenario::file::Fail;

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
