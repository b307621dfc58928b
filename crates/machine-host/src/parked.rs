//! Hand-over: an agent that stopped here and goes on elsewhere (J07).
use machine_adapter::Snapshot;
use serde::{Deserialize, Serialize};

use crate::spine::Session;

/// An agent between two processes. It can be serialised; its journal, if it has one, goes along by itself.
///
/// Where it is opened, what was asked is asked again, and acts that were under way are lost: a request is made anew, a
/// call that ran is `Unknown`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    pub(crate) snapshot: Snapshot,
    pub(crate) inputs: u64,
    pub(crate) events: u64,
}

impl Parked {
    pub(crate) fn of(session: &Session) -> Self {
        let Session { engine, log, recorder, .. } = session;
        Self { snapshot: engine.snapshot(), inputs: log.inputs(), events: recorder.events() }
    }
}
