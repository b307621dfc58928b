//! What passes between the inbox and a turn at a drain (A05, T13, T14): first what waits, then what goes in.
use serde::{Deserialize, Serialize};

use crate::Text;
use crate::message::{Content, Origin};

/// What waits for the next step, and whether the agent is paused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Pending {
    /// Paused (A12).
    pub paused: bool,
    /// A steered prompt that was admitted (A08).
    pub steered: bool,
    /// A notification, an injection or a background end.
    pub outside: bool,
    /// A message of the turn's own: of its stop hook, or delivered by a result.
    pub inside: bool,
    /// How long the turn may still wait for background calls, in milliseconds; 0 = not at all (C15).
    pub wait_ms: u64,
}

/// What a drain or a turn start puts into history.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Drained {
    /// Where it comes from.
    pub origin: Origin,
    /// What it says.
    pub content: Content,
    /// The host's own data (V16).
    pub meta: Option<Text>,
}
