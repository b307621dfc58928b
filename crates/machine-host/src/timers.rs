//! Time: timers that the engine asks for, and the time that its questions have (H02).
use std::collections::BTreeMap;
use std::future::pending;
use std::pin::Pin;
use std::time::Duration;

use machine_core::canary::Canary;
use machine_core::ids::AskId;
use tokio::time::{Instant, Sleep, sleep_until};

/// The longest wait; the engine takes an early timer for a stray or sets it again.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// One time per ask. What is due at the same moment is told in the order of the asks, so that a run in simulated time
/// is the same each time.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    queue: BTreeMap<(Instant, AskId), Due>,
    by_ask: BTreeMap<AskId, Instant>,
    sleep: Option<Pin<Box<Sleep>>>,
    /// The latest time that a sleep reached.
    reached: Option<Instant>,
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
        if due == Due::Fire && Canary::TimersNeverFire.is_planted() {
            return;
        }
        let at = Instant::now() + Duration::from_millis(ms).min(LONGEST);
        self.queue.insert((at, ask), due);
        self.by_ask.insert(ask, at);
    }

    pub(crate) fn clear(&mut self, ask: AskId) {
        if let Some(at) = self.by_ask.remove(&ask) {
            self.queue.remove(&(at, ask));
        }
    }

    /// The next that is due. One that is cleared before its turn is not told, even if its time was up.
    pub(crate) async fn next(&mut self) -> (AskId, Due) {
        if let Some((&(at, _), _)) = self.queue.first_key_value() {
            self.sleep_until(at).await;
        }
        let Some(((_, ask), due)) = self.queue.pop_first() else { return pending().await };
        self.by_ask.remove(&ask);
        (ask, due)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// One sleep serves all: it is set again only when another time is the next. Only a sleep that is over says that a
    /// time is up, never the clock: so what a test does at the very instant of a timer can come before it.
    async fn sleep_until(&mut self, at: Instant) {
        if self.reached.is_some_and(|reached| at <= reached) {
            return;
        }
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(at)));
        if sleep.deadline() != at {
            sleep.as_mut().reset(at);
        }
        sleep.as_mut().await;
        self.reached = Some(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(serial: u64) -> AskId {
        AskId { branch: 0, serial: serial.try_into().unwrap() }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_due_together_is_told_in_the_order_of_the_asks() {
        let mut timers = Timers::default();
        for serial in [4, 2, 5, 1, 3] {
            timers.set(ask(serial), 10, Due::Fire);
        }
        timers.set(ask(6), 9, Due::TimedOut);
        assert_eq!(timers.next().await, (ask(6), Due::TimedOut), "the earlier one comes first");
        for serial in 1..=5 {
            assert_eq!(timers.next().await, (ask(serial), Due::Fire));
        }
        assert!(timers.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_cleared_or_set_again_while_others_are_told_does_not_fire() {
        let mut timers = Timers::default();
        for serial in [3, 2, 1] {
            timers.set(ask(serial), 10, Due::Fire);
        }
        assert_eq!(timers.next().await, (ask(1), Due::Fire));
        timers.clear(ask(2));
        timers.set(ask(3), 5, Due::TimedOut);
        timers.set(ask(4), 0, Due::Fire);
        assert_eq!(timers.next().await, (ask(4), Due::Fire));
        let before = Instant::now();
        assert_eq!(timers.next().await, (ask(3), Due::TimedOut));
        assert_eq!(before.elapsed(), Duration::from_millis(5));
        assert!(timers.is_empty());
    }
}
