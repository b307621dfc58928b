//! What becomes of an input (E08), and why one is kept.
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::Text;
use crate::event::EndReason;
use crate::ids::TurnId;

/// What became of an input: `Accepted`, then exactly one of `Taken`, `Dropped`, `Returned`; `Steered` and `Held` may come between
/// (E08).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Receipt {
    /// It is pending.
    Accepted,
    /// It will join the running turn (A08).
    Steered,
    /// It is kept until something releases it (A14, A15).
    Held(HeldBecause),
    /// It is in history, in this turn.
    Taken(TurnId),
    /// It is gone.
    Dropped(DroppedBecause),
    /// Its client took it back, or has it back after an abort (A15).
    Returned,
    /// A prompt's turn ended.
    TurnEnded(TurnId, EndReason),
}

/// Why an input is gone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DroppedBecause {
    /// The screen said no (A11).
    Blocked(Text),
    /// The screen failed (A11).
    ScreenFailed,
    /// Aborted while it was screened (A13).
    Aborted,
    /// A reminder that a newer one replaced, or that said nothing new (A07).
    Superseded,
    /// The background call's end was told otherwise (C13).
    Consumed,
}

impl fmt::Display for DroppedBecause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocked(why) => write!(f, "blocked, {why}"),
            Self::ScreenFailed => f.write_str("its screening failed"),
            Self::Aborted => f.write_str("aborted while it was screened"),
            Self::Superseded => f.write_str("a newer one took its place, or it said nothing new"),
            Self::Consumed => f.write_str("it was told otherwise"),
        }
    }
}

/// Why pending input is held (A14, A15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldBecause {
    /// A turn failed.
    Failed,
    /// A turn was aborted, and the policy is to hold (A15).
    Aborted,
    /// The process died, or the session was opened again.
    Reopened,
}
