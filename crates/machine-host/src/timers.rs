//! Time: timers that the engine asks for, and the time that its questions have (H02).
use std::collections::HashMap;
use std::future::{pending, poll_fn};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use machine_core::ids::AskId;
use tokio::time::Instant;
use tokio_util::time::DelayQueue;
use tokio_util::time::delay_queue::Key;

/// The longest wait of the queue below; the engine takes an early timer for a stray or sets it again.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// One time per ask.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    queue: DelayQueue<AskId>,
    keys: HashMap<AskId, (Key, Due)>,
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// A timer fired.
    Fire,
    /// A hook had its time.
    TimedOut,
}

impl Timers {
    pub(crate) fn set(&mut self, ask: AskId, ms: u64, due: Due) {
        self.clear(ask);
        let key = self.queue.insert(ask, Duration::from_millis(ms).min(LONGEST));
        self.keys.insert(ask, (key, due));
    }

    pub(crate) fn clear(&mut self, ask: AskId) {
        if let Some((key, _)) = self.keys.remove(&ask) {
            self.queue.try_remove(&key);
        }
    }

    /// The next that is due.
    pub(crate) async fn next(&mut self) -> (AskId, Due) {
        loop {
            let expired = poll_fn(|cx| self.queue.poll_expired(cx)).await;
            let Some(ask) = expired.map(|expired| expired.into_inner()) else { return pending().await };
            if let Some((_, due)) = self.keys.remove(&ask) {
                return (ask, due);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

/// Wall time for the engine, in step with the timers: it never runs slower than they do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    wall: u64,
    started: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { wall: wall(), started: Instant::now() }
    }

    /// Milliseconds since 1970. After the machine slept, wall time is ahead; under a clock that a test moves, or that
    /// somebody sets back, the timers are.
    pub(crate) fn now(self) -> u64 {
        let elapsed = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        wall().max(self.wall.saturating_add(elapsed))
    }
}

fn wall() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
