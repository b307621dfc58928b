//! Calls that outlive their turn: detached ones and deaf ones (A25). It can be read at any time, so that the model
//! can be told what still runs and can stop it.
use alloc::collections::BTreeMap;

use machine_core::Text;
use machine_core::ids::CallId;
use machine_core::message::Content;
use serde::{Deserialize, Serialize};

/// The lingering calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Roster {
    calls: BTreeMap<CallId, Lingering>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lingering {
    /// Its tool.
    pub tool: Text,
    /// Since when; milliseconds, wall time.
    pub since: u64,
    /// Whether its end is still to come and to be told; else it is deaf.
    pub detached: bool,
    /// Whether its end was told otherwise (C13).
    pub consumed: bool,
    /// What the model was told about it last: its result, or its end.
    pub told: Content,
}

impl Roster {
    /// All of them, by call.
    pub fn iter(&self) -> impl Iterator<Item = (&CallId, &Lingering)> {
        self.calls.iter()
    }

    /// One of them.
    pub fn get(&self, call: &CallId) -> Option<&Lingering> {
        self.calls.get(call)
    }

    /// Whether a background call is alive.
    pub fn has_background(&self) -> bool {
        self.calls.values().any(|call| call.detached)
    }

    pub(crate) fn add(&mut self, call: CallId, lingering: Lingering) {
        self.calls.insert(call, lingering);
    }

    pub(crate) fn consume(&mut self, call: CallId) {
        if let Some(lingering) = self.calls.get_mut(&call) {
            lingering.consumed = true;
        }
    }

    /// Its end came; whether it is to be told.
    pub(crate) fn background_ended(&mut self, call: CallId) -> bool {
        self.calls.get_mut(&call).is_some_and(|lingering| {
            lingering.detached = false;
            !lingering.consumed
        })
    }

    pub(crate) fn remove(&mut self, call: CallId) {
        self.calls.remove(&call);
    }
}
