//! What the script brings, in the order in which it comes.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::scenario::hosted::lock;
use crate::scenario::phases;
use crate::sim::Phase;

/// Where something comes: its tick, its phase in it, whose it is, and the order in which it was arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) at: u64,
    pub(crate) phase: Phase,
    rank: usize,
    serial: u64,
}

/// What the script brings. Whoever brings it waits here until the conductor lets it.
pub(crate) struct Stage {
    inner: Arc<Inner>,
    started: Instant,
}

#[derive(Default)]
struct Inner {
    arranged: Mutex<Arranged>,
    changed: Notify,
}

#[derive(Default)]
struct Arranged {
    waiting: BTreeMap<Key, oneshot::Sender<()>>,
    serial: u64,
}

/// Waits for its turn; dropping it takes it off the stage.
pub(crate) struct Waiting {
    /// None: its turn is now.
    place: Option<(Key, Arc<Inner>, oneshot::Receiver<()>)>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self { inner: Arc::default(), started: Instant::now() }
    }

    /// Milliseconds since the start.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// When a tick is.
    pub(crate) fn instant(&self, at: u64) -> Instant {
        self.started + Duration::from_millis(at)
    }

    /// A place for something that is arranged now.
    pub(crate) fn key(&self, at: u64, phase: Phase, rank: usize) -> Key {
        let mut arranged = lock(&self.inner.arranged);
        arranged.serial += 1;
        Key { at, phase, rank, serial: arranged.serial }
    }

    /// Arranges something for this many milliseconds from now.
    pub(crate) fn arrange(&self, rank: usize, after: u64) -> Waiting {
        if after == 0 {
            return Waiting { place: None };
        }
        let key = self.key(self.now().saturating_add(after), phases::ANSWERS, rank);
        let (to, turn) = oneshot::channel();
        lock(&self.inner.arranged).waiting.insert(key, to);
        self.inner.changed.notify_one();
        Waiting { place: Some((key, self.inner.clone(), turn)) }
    }

    /// What comes next.
    pub(crate) fn next(&self) -> Option<Key> {
        lock(&self.inner.arranged).waiting.keys().next().copied()
    }

    /// Its turn has come.
    pub(crate) fn fire(&self, key: Key) {
        if let Some(to) = lock(&self.inner.arranged).waiting.remove(&key) {
            // Whoever waited may have gone away just now.
            let _ = to.send(());
        }
    }

    /// Something was arranged since the last time.
    pub(crate) async fn changed(&self) {
        self.inner.changed.notified().await;
    }
}

impl Waiting {
    /// Until its turn has come.
    pub(crate) async fn turn(mut self) {
        if let Some((_, _, turn)) = &mut self.place {
            // The stage lives as long as the runtime.
            let _ = turn.await;
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some((key, inner, _)) = &self.place {
            lock(&inner.arranged).waiting.remove(key);
        }
    }
}
