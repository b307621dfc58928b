//! Watchers: one that writes down everything, and others that do not read, panic, or come late (E01, E03, E04).
use std::sync::Arc;

use machine_host::{Events, Lagged, Place, Seen};

use super::world::{World, fall};

/// How a watcher behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// Reads at once, and writes the trace.
    Witness,
    /// Reads at once.
    Reads,
    /// Does not read before the world heals.
    Deaf,
    /// Panics at the first event.
    Panics,
}

/// Watches until the agent is gone.
pub(super) async fn watch(world: Arc<World>, mut events: Events, manner: Manner) {
    let mut reader = Reader::default();
    if manner == Manner::Deaf {
        world.until_healed().await;
    }
    while let Some(seen) = events.next().await {
        if manner == Manner::Panics {
            fall("the watcher fell over");
        }
        if let (Manner::Witness, Ok(seen)) = (manner, &seen) {
            world.saw(&number(seen.place), &seen.event);
        }
        reader.see(&world, seen);
    }
}

/// Its place, as the trace shows it: the number, and whether it is durable.
fn number(place: Place) -> (Option<u64>, bool) {
    match place {
        Place::Durable(n) => (Some(n), true),
        Place::Live { after } => (after, false),
    }
}

/// What one watcher knows of the numbers.
#[derive(Default)]
pub(super) struct Reader {
    /// The last durable number, once it has seen any event.
    last: Option<Option<u64>>,
    missed: u64,
}

impl Reader {
    pub(super) fn see(&mut self, world: &World, seen: Result<Seen, Lagged>) {
        let seen = match seen {
            Ok(seen) => seen,
            Err(Lagged(missed)) => {
                world.check(missed > 0, || "E04: a watcher missed nothing, and is told so".into());
                self.missed += missed;
                return;
            }
        };
        // How many durable ones lie between the last that it knows and this.
        let before = match seen.place {
            Place::Durable(n) => n.checked_sub(1),
            Place::Live { after } => after,
        };
        if let Some(last) = self.last {
            let (before, last) = (before.map_or(0, |n| n + 1), last.map_or(0, |n| n + 1));
            let between = before.checked_sub(last);
            let honest = between.is_some_and(|between| between <= self.missed);
            world.check(honest, || {
                format!("E01: {:?} comes after {last} durable ones; {} were missed", seen.place, self.missed)
            });
        }
        self.missed = 0;
        self.last = Some(match seen.place {
            Place::Durable(n) => Some(n),
            Place::Live { after } => after,
        });
        if let Place::Durable(n) = seen.place {
            let mut book = world.book();
            let first = book.told.entry(n).or_insert_with(|| seen.event.clone()).clone();
            drop(book);
            world.check(first == seen.event, || {
                format!("E03: number {n} was told as {first:?} and as {:?}", seen.event)
            });
        }
    }
}
