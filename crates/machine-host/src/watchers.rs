//! Hooks that only watch: they hear of what happened, after it happened, and can neither delay nor change it (E04).
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use machine_adapter::Engine;
use machine_core::event::Event;
use tracing::warn;

use crate::error::BoxError;
use crate::hooks::{EndedStep, EndedTurn};
use crate::inside::Inside;
use crate::order::Placed;
use crate::unwind::caught;

/// All hooks of an agent that watch.
pub(crate) struct Watchers {
    all: Vec<Arc<Watcher>>,
    inside: Inside,
    /// How many things each may be behind before it misses some.
    behind: usize,
}

/// One hook. What it was not told yet waits; a task works on it as long as there is something (H06).
struct Watcher {
    hook: Placed,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Told>,
    missed: u64,
    at_work: bool,
}

#[derive(Clone)]
enum Told {
    Step(EndedStep),
    Turn(EndedTurn),
}

impl Watchers {
    pub(crate) fn of(hooks: &[Placed], inside: Inside, behind: usize) -> Self {
        let watching = hooks.iter().filter(|placed| placed.wants.step_ended || placed.wants.turn_ended);
        let all = watching.map(|hook| Arc::new(Watcher { hook: hook.clone(), queue: Mutex::default() }));
        Self { all: all.collect(), inside, behind: behind.max(1) }
    }

    /// Something happened. It does not wait.
    pub(crate) fn see(&self, event: &Event, engine: &Engine) {
        if self.all.is_empty() {
            return;
        }
        let history = || engine.history().clone();
        let told = match event {
            Event::StepEnded { step, sealed } => {
                Told::Step(EndedStep { step: *step, sealed: *sealed, history: history() })
            }
            Event::TurnEnded(end) => Told::Turn(EndedTurn { end: end.clone(), history: history() }),
            _ => return,
        };
        let within = Duration::from_millis(engine.config().ask.timeout_ms);
        for watcher in self.all.iter().filter(|watcher| watcher.wants(&told)) {
            if watcher.take(told.clone(), self.behind) {
                tokio::spawn(self.inside.scope(watcher.clone().work(within)));
            }
        }
    }
}

impl Watcher {
    fn wants(&self, told: &Told) -> bool {
        match told {
            Told::Step(_) => self.hook.wants.step_ended,
            Told::Turn(_) => self.hook.wants.turn_ended,
        }
    }

    /// Whether somebody must begin to work on it.
    fn take(&self, told: Told, behind: usize) -> bool {
        let mut queue = self.lock();
        if queue.waiting.len() >= behind {
            queue.missed += 1;
            return false;
        }
        queue.waiting.push_back(told);
        !std::mem::replace(&mut queue.at_work, true)
    }

    fn next(&self) -> Option<(Told, u64)> {
        let mut queue = self.lock();
        let next = queue.waiting.pop_front();
        queue.at_work = next.is_some();
        Some((next?, std::mem::take(&mut queue.missed)))
    }

    /// One after the other. A failure, a panic, and a time that is up are reported, nothing else (H02).
    async fn work(self: Arc<Self>, within: Duration) {
        let hook = &*self.hook.name;
        while let Some((told, missed)) = self.next() {
            if missed > 0 {
                warn!(hook, missed, "a watching hook is too slow");
            }
            match caught(in_time(within, self.tell(told))).await {
                Ok(Some(Ok(()))) => {}
                Ok(Some(Err(error))) => warn!(hook, %error, "a watching hook failed"),
                Ok(None) => warn!(hook, error = "it took too long", "a watching hook failed"),
                Err(error) => warn!(hook, %error, "a watching hook panicked"),
            }
        }
    }

    async fn tell(&self, told: Told) -> Result<(), BoxError> {
        match told {
            Told::Step(step) => self.hook.hook.step_ended(step).await,
            Told::Turn(turn) => self.hook.hook.turn_ended(turn).await,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// None: its time is up. 0 is no bound.
pub(crate) async fn in_time<T>(within: Duration, work: impl Future<Output = T>) -> Option<T> {
    match within {
        Duration::ZERO => Some(work.await),
        within => tokio::time::timeout(within, work).await.ok(),
    }
}
