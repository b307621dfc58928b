//! Watching an agent: numbered events, and channels that can never delay it (E01, E04).
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use machine_core::event::Event;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// Events that a watcher may fall behind before it misses some.
pub(crate) const BEHIND: usize = 1_024;

/// An event with its place in the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its place.
    pub place: Place,
    /// When its input was handled: wall time in milliseconds. It never goes back while the agent is open.
    pub at: u64,
    /// What happened.
    pub event: Arc<Event>,
}

/// Where an event stands (E01).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the record, under this number: from 0, without gaps.
    Durable(u64),
    /// Not in the record; it came after this number, or before all. Besides deltas, progress and strays, all that
    /// happens after the journal failed: it is true in memory only (A22).
    Live {
        /// The last durable number before it.
        after: Option<u64>,
    },
}

/// This many events were missed. The durable ones are in [`Agent::recorded`](crate::Agent::recorded).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} events were missed")]
pub struct Lagged(pub u64);

/// A watcher's end. Dropping it is fine at any time.
#[derive(Debug)]
pub struct Events {
    from: broadcast::Receiver<Seen>,
}

impl Events {
    /// The next event; none when the agent is gone. One that reads too slowly is told how many it missed, and goes
    /// on after them.
    pub async fn next(&mut self) -> Option<Result<Seen, Lagged>> {
        match self.from.recv().await {
            Ok(seen) => Some(Ok(seen)),
            Err(RecvError::Lagged(missed)) => Some(Err(Lagged(missed))),
            Err(RecvError::Closed) => None,
        }
    }

    /// The next event that is there already.
    pub fn try_next(&mut self) -> Option<Result<Seen, Lagged>> {
        match self.from.try_recv() {
            Ok(seen) => Some(Ok(seen)),
            Err(broadcast::error::TryRecvError::Lagged(missed)) => Some(Err(Lagged(missed))),
            Err(broadcast::error::TryRecvError::Empty | broadcast::error::TryRecvError::Closed) => None,
        }
    }
}

/// The sending end, shared by an agent and its handles. Without a watcher it has no buffer (H06).
#[derive(Debug)]
pub(crate) struct Watch {
    /// How many events a watcher may be behind.
    behind: usize,
    watched: Mutex<Watched>,
}

#[derive(Debug, Default)]
enum Watched {
    #[default]
    ByNobody,
    By(broadcast::Sender<Seen>),
    Over,
}

impl Watch {
    pub(crate) fn new(behind: usize) -> Self {
        Self { behind: behind.max(1), watched: Mutex::default() }
    }

    pub(crate) fn subscribe(&self) -> Events {
        let mut watched = self.lock();
        let from = match &*watched {
            Watched::By(to) => to.subscribe(),
            Watched::Over => broadcast::channel(1).1,
            Watched::ByNobody => {
                let (to, from) = broadcast::channel(self.behind);
                *watched = Watched::By(to);
                from
            }
        };
        Events { from }
    }

    /// Lets the buffer go if nobody reads any more.
    pub(crate) fn tidy(&self) {
        let mut watched = self.lock();
        if matches!(&*watched, Watched::By(to) if to.receiver_count() == 0) {
            *watched = Watched::ByNobody;
        }
    }

    /// Nothing will come any more.
    pub(crate) fn end(&self) {
        *self.lock() = Watched::Over;
    }

    fn tell(&self, seen: impl FnOnce() -> Seen) {
        let mut watched = self.lock();
        if let Watched::By(to) = &*watched
            && to.send(seen()).is_err()
        {
            *watched = Watched::ByNobody;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Numbers durable events as they leave (E01).
#[derive(Debug)]
pub(crate) struct Recorder {
    next: u64,
    /// When the last one was told.
    at: u64,
    watch: Arc<Watch>,
}

impl Recorder {
    /// Goes on after this many.
    pub(crate) fn after(events: u64, watch: Arc<Watch>) -> Self {
        Self { next: events, at: 0, watch }
    }

    pub(crate) fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }

    /// How many durable events there are.
    pub(crate) fn events(&self) -> u64 {
        self.next
    }

    /// Tells one event. `at`: when its input was handled. `durable`: the journal has its input.
    pub(crate) fn tell(&mut self, at: u64, event: Event, durable: bool) {
        self.at = self.at.max(at);
        let place = if durable && event.is_durable() {
            self.next += 1;
            Place::Durable(self.next - 1)
        } else {
            Place::Live { after: self.next.checked_sub(1) }
        };
        let at = self.at;
        self.watch.tell(|| Seen { place, at, event: Arc::new(event) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_h06_who_is_not_watched_has_no_buffer() {
        let watch = Watch::new(BEHIND);
        watch.tell(|| unreachable!("H06: nobody sees it"));
        assert!(matches!(*watch.lock(), Watched::ByNobody));
        let events = watch.subscribe();
        watch.tidy();
        assert!(matches!(*watch.lock(), Watched::By(_)));
        drop(events);
        watch.tidy();
        assert!(matches!(*watch.lock(), Watched::ByNobody));
    }
}
