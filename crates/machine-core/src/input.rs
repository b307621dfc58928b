//! Everything a host can tell the engine.
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Text;
use crate::access::Access;
use crate::ask::{Answer, Cause, Piece};
use crate::config::{Config, ConfigError};
use crate::event::Receipt;
use crate::ids::{AskId, CallId, InputId, TurnId};
use crate::message::Content;

/// One input. At most 64 bytes, so that it is cheap in a channel.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// Answers an ask.
    Answer {
        /// Which.
        ask: AskId,
        /// How.
        answer: Answer,
    },
    /// Something on the way to an answer.
    Piece {
        /// To which ask.
        ask: AskId,
        /// What.
        piece: Piece,
    },
    /// Nobody will answer this ask: hand-over, dead process, vanished task.
    Lost {
        /// Which.
        ask: AskId,
    },
    /// Answers nothing; may be refused.
    Command(Command),
    /// The process that carried out the asks is gone (J05). Written only if something was open.
    Recovered {
        /// Open calls whose execution left, as the journal says, and whose end it does not have: they may have run.
        ran: Arc<[CallId]>,
    },
    /// The journal cannot be written (J10). Not journaled.
    Fault {
        /// Why.
        cause: Text,
    },
}

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// A prompt (A03).
    Submit(Arc<Submit>),
    /// For the next step; wakes (A03).
    Notify(Arc<Note>),
    /// For the next step; does not wake (A03).
    Inject(Arc<Note>),
    /// A reminder, keyed by its id (A07).
    Remind(Arc<Reminder>),
    /// Queued prompts join the running turn (A08).
    Steer(Arc<[InputId]>),
    /// Takes pending input back (A09, A23).
    Withdraw(InputId),
    /// Changes a pending prompt in its place (A23).
    Replace(InputId, Content),
    /// Declares a call's accesses again (B06).
    Declare(CallId, Access),
    /// Cancels one call (C13).
    CancelCall(CallId, Arc<Cause>),
    /// A background call's end was told otherwise (C13).
    Consume(CallId),
    /// Stops what runs (X01).
    Abort(Arc<Abort>),
    /// No new turn, and the running one ends at its next drain (A12).
    Pause,
    /// Takes `Pause` back, releases what is held (A12).
    Resume,
    /// Begins maintenance: compaction, import (A17).
    Maintain,
    /// Another configuration, from the next turn on (J06).
    Configure(Arc<Config>),
    /// Ends this opening (A19).
    Close,
}

/// A prompt.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    /// Chosen by the client.
    pub id: InputId,
    /// What it says.
    pub message: Content,
    /// Where it waits.
    #[serde(default)]
    pub lane: Lane,
    /// Whether it wakes an idle agent.
    #[serde(default = "yes")]
    pub wake: bool,
    /// The host's own data, JSON text (V16).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Text>,
}

fn yes() -> bool {
    true
}

/// The two lanes of input (A02).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// One prompt a turn, first in first out.
    #[default]
    NextTurn,
    /// Everything, at the nearest drain.
    NextStep,
}

/// A notification or an injection.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// Chosen by the client.
    pub id: InputId,
    /// What it says.
    pub message: Content,
    /// The host's own data, JSON text (V16).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Text>,
}

/// A reminder: a later one with the same key replaces it and moves to the end (A07).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reminder {
    /// What it is about.
    pub key: InputId,
    /// What it says.
    pub message: Content,
    /// Told only if it differs from what was last told under this key.
    #[serde(default)]
    pub only_if_changed: bool,
}

/// An abort.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Abort {
    /// Who and why.
    pub cause: Arc<Cause>,
    /// Only this turn, or the one that this prompt opened (X12).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
}

/// Which turn an abort means.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// This turn.
    Turn(TurnId),
    /// The turn that this prompt opened.
    Prompt(InputId),
}

/// A command that fits nothing now. Nothing happened, nothing is journaled (E07).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// A prompt, notification or reminder without anything in it (A03).
    #[error("`{0}` is empty: send at least one text or media part")]
    Empty(InputId),
    /// A message from outside has a tool call or thinking in it.
    #[error("`{0}` has a tool call or thinking in it: send text and media only")]
    NotSayable(InputId),
    /// The id is pending, or was taken not long ago (A10).
    #[error("`{id}` was sent before: {first:?}")]
    Duplicate {
        /// The id.
        id: InputId,
        /// What became of it so far.
        first: Receipt,
    },
    /// No pending input has this id (A09, A23).
    #[error("no pending input has the id `{0}`")]
    UnknownInput(InputId),
    /// Only a pending prompt can be replaced or steered (A08, A23).
    #[error("`{0}` is no queued prompt")]
    NotAPrompt(InputId),
    /// There is no such call, or it is over.
    #[error("no call {0} is open for this")]
    UnknownCall(CallId),
    /// A bound is reached (A24).
    #[error("{what}: the limit of {limit} is reached; send it again when some are taken")]
    Full {
        /// Which bound.
        what: &'static str,
        /// Its value.
        limit: usize,
    },
    /// No turn runs (A08).
    #[error("no turn is running")]
    NoTurn,
    /// The named turn is not the running one (X12).
    #[error("the turn that the abort names is not running")]
    NotThatTurn,
    /// Maintenance starts only when idle (A17).
    #[error("the agent is {0}: maintenance begins only when it is idle")]
    Busy(&'static str),
    /// The agent is closing or closed (A19).
    #[error("the session is closed")]
    Closed,
    /// The engine is faulted (A22).
    #[error("the session is faulted ({0}): open it again")]
    Faulted(Text),
    /// The configuration is nonsense (B11).
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Nothing is open that a recovery could close (J05).
    #[error("nothing is open: there is nothing to recover")]
    NothingOpen,
}

impl Input {
    /// The ask that it belongs to, if any.
    pub fn ask(&self) -> Option<AskId> {
        match self {
            Self::Answer { ask, .. } | Self::Piece { ask, .. } | Self::Lost { ask } => Some(*ask),
            Self::Command(_) | Self::Recovered { .. } | Self::Fault { .. } => None,
        }
    }

    /// Its name, as it stands in a trace.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Answer { .. } => "Answer",
            Self::Piece { .. } => "Piece",
            Self::Lost { .. } => "Lost",
            Self::Command(command) => command.kind(),
            Self::Recovered { .. } => "Recovered",
            Self::Fault { .. } => "Fault",
        }
    }
}

impl Command {
    /// Its name, as it stands in a trace.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Submit(_) => "Submit",
            Self::Notify(_) => "Notify",
            Self::Inject(_) => "Inject",
            Self::Remind(_) => "Remind",
            Self::Steer(_) => "Steer",
            Self::Withdraw(_) => "Withdraw",
            Self::Replace(..) => "Replace",
            Self::Declare(..) => "Declare",
            Self::CancelCall(..) => "CancelCall",
            Self::Consume(_) => "Consume",
            Self::Abort(_) => "Abort",
            Self::Pause => "Pause",
            Self::Resume => "Resume",
            Self::Maintain => "Maintain",
            Self::Configure(_) => "Configure",
            Self::Close => "Close",
        }
    }
}

impl From<Command> for Input {
    fn from(command: Command) -> Self {
        Self::Command(command)
    }
}

impl Submit {
    /// A text prompt for the next turn that wakes.
    pub fn text(id: impl Into<InputId>, text: impl Into<Text>) -> Arc<Self> {
        Arc::new(Self {
            id: id.into(),
            message: crate::message::text_content(text),
            lane: Lane::NextTurn,
            wake: true,
            meta: None,
        })
    }
}

impl Note {
    /// A text note.
    pub fn text(id: impl Into<InputId>, text: impl Into<Text>) -> Arc<Self> {
        Arc::new(Self { id: id.into(), message: crate::message::text_content(text), meta: None })
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_input_fits_in_64_bytes() {
        assert!(size_of::<super::Input>() <= 64, "{}", size_of::<super::Input>());
    }
}
