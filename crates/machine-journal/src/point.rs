//! Where opening may begin: the session at one place of its record (J02, J05).
use alloc::vec::Vec;

use machine_adapter::{AdvanceError, Carry, Change, Engine};
use machine_core::digest::Digest;
use machine_core::event::Event;
use serde::{Deserialize, Serialize};

use crate::record::SEMANTICS;

/// What changed since the last point in what grows, and all the rest of the engine. Every act that is open here has its
/// record before this one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// How many inputs there were.
    pub n: u64,
    /// The rules that are in force from here on.
    pub semantics: u32,
    /// How many durable events there were (E01).
    pub events: u64,
    /// In this order, since the last point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Over all entries of history.
    pub digest: Digest,
    /// The rest.
    pub carry: Carry,
}

/// Why a point does not follow from the one before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PointError {
    /// It cannot be read.
    #[error(transparent)]
    Advance(#[from] AdvanceError),
    /// What changed does not lead to the history that the point is about.
    #[error("its entries give a history with the digest {found}, it is about {expected}")]
    Digest {
        /// What comes out.
        found: Digest,
        /// What it says.
        expected: Digest,
    },
}

impl Point {
    /// The first point of a record that begins with this engine: everything is new. None while maintenance runs.
    pub(crate) fn first(engine: &Engine, n: u64, events: u64) -> Option<Self> {
        Some(Self {
            n,
            semantics: SEMANTICS,
            events,
            changes: engine.changes(),
            digest: engine.history().digest(),
            carry: engine.carry()?,
        })
    }

    /// Takes an engine from the last point to this one.
    pub(crate) fn fold(&self, engine: Engine) -> Result<Engine, PointError> {
        let engine = engine.advance(&self.changes, self.carry.clone())?;
        let (found, expected) = (engine.history().digest(), self.digest);
        if found == expected { Ok(engine) } else { Err(PointError::Digest { found, expected }) }
    }

    /// What two points of one place differ in, as far as they do.
    pub(crate) fn differs_in(&self, other: &Self) -> Option<&'static str> {
        let same = [
            ("inputs", self.n == other.n),
            ("rules", self.semantics == other.semantics),
            ("durable events", self.events == other.events),
            ("history", self.digest == other.digest),
            ("changes", self.changes == other.changes),
            ("states", self.carry == other.carry),
        ];
        same.into_iter().find(|(_, same)| !same).map(|(what, _)| what)
    }
}

/// Whether a point follows this event: at the end of a turn, and where what grows or is configured changed otherwise.
pub(crate) fn is_due_after(event: &Event) -> bool {
    matches!(
        event,
        Event::TurnEnded(_)
            | Event::Edited { .. }
            | Event::MaintenanceEnded { .. }
            | Event::Configured
            | Event::Recovered
            | Event::Closed
    )
}
