//! Who stops something, why, and how an ask is taken back (X01).
use alloc::sync::Arc;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::Text;
use crate::ids::AskId;

/// An ask is taken back. Leaves at once, even when the engine is `Faulted`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Withdrawal {
    /// Which.
    pub ask: AskId,
    /// Why.
    pub why: WithdrawnBecause,
    /// For an execution: milliseconds in which its outcome still counts.
    pub grace_ms: Option<u64>,
}

/// Why an ask is taken back.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WithdrawnBecause {
    /// Somebody stopped it.
    Cancelled(Arc<Cause>),
    /// Its time was up.
    TimedOut,
    /// What it was asked for is no longer needed.
    Obsolete,
    /// The engine is faulted.
    Faulted,
}

/// Who stopped something, and why (X01).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// Who.
    pub by: By,
    /// Why, in their words.
    #[serde(default)]
    pub reason: Option<Text>,
}

/// Who stopped something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// A person.
    User,
    /// A clock of the host.
    Timeout,
    /// The agent that runs this one.
    Parent,
    /// The process ends.
    Shutdown,
    /// A program.
    Program,
    /// A prompt that joined the turn (C14).
    Steer,
    /// The end of the turn that the call belongs to (C15).
    TurnEnd,
}

impl Cause {
    /// Somebody, without a reason.
    pub fn by(by: By) -> Arc<Self> {
        Arc::new(Self { by, reason: None })
    }

    /// Whether a person did it on purpose.
    pub fn is_by_user(&self) -> bool {
        self.by == By::User
    }
}

impl fmt::Display for Cause {
    /// Who, and why if they said so: it goes on from "stopped by".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.by {
            By::User => "the user",
            By::Timeout => "a time-out",
            By::Parent => "the end of its call",
            By::Shutdown => "the end of the process",
            By::Program => "a program",
            By::Steer => "a new prompt",
            By::TurnEnd => "the end of its turn",
        })?;
        self.reason.as_ref().map_or(Ok(()), |reason| write!(f, ", {reason}"))
    }
}
