//! One limit on model requests for many agents (H05).
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many model requests may stream at the same time, over all agents that share it: clones are the same limit.
///
/// Only a request holds a place, from when it leaves until it is over, however that comes about. An agent that waits for
/// a tool holds none, so agents in calls of others cannot starve each other. Who waits first is served first.
#[derive(Clone, Debug)]
pub struct ModelLimit {
    places: Arc<Semaphore>,
    most: u32,
}

impl ModelLimit {
    /// At most so many. An agent with a limit of 0 is refused when it is opened.
    pub fn new(most: u32) -> Self {
        let places = usize::try_from(most).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        Self { places: Arc::new(Semaphore::new(places)), most }
    }

    /// How many there may be.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// Waits for a place. Dropping it gives the place back. None: it was closed, which nobody does.
    pub(crate) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        self.places.clone().acquire_owned().await.ok()
    }
}
