//! What all parts of one run share: its numbers, its time, and the book in which everything is written down.
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use machine_core::event::Event;
use machine_core::ids::CallId;
use machine_host::{ModelLimit, WallClock};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::book::Book;
use super::fault::{Fault, Rates};
use super::random::Random;

/// The branch of the first child.
const CHILDREN: u32 = 1_000;

/// The faulty world of one run.
pub(super) struct World {
    pub(super) random: Random,
    rates: Rates,
    /// Everything that hangs goes on when this fires.
    pub(super) healed: CancellationToken,
    /// No fault strikes for a while: an opening was tried too often.
    calm: AtomicBool,
    pub(super) clock: WallClock,
    start: Instant,
    /// Shared by the agent and its children.
    pub(super) limit: Option<ModelLimit>,
    book: Mutex<Book>,
}

impl World {
    pub(super) fn new(seed: u64, keep_lines: bool) -> Arc<Self> {
        let random = Random::new(seed);
        let rates = Rates::drawn(&random);
        let limit = random.of(&[None, Some(1), Some(2)]).map(ModelLimit::new);
        let world = Arc::new(Self {
            random,
            rates,
            healed: CancellationToken::new(),
            calm: AtomicBool::new(false),
            clock: WallClock::starting_at(0),
            start: Instant::now(),
            limit,
            book: Mutex::new(Book::new(keep_lines)),
        });
        for fault in Fault::ALL.iter().filter(|fault| world.rates.of(**fault) > 0) {
            let rate = world.rates.of(*fault);
            world.say(|| format!("draw: {}, {rate} %", fault.name()));
        }
        world
    }

    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Virtual milliseconds since the beginning.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Whether this trouble happens now; it is counted if it does.
    pub(super) fn strikes(&self, fault: Fault) -> bool {
        let strikes = !self.is_healed()
            && !self.calm.load(Ordering::Relaxed)
            && self.random.percent(self.rates.of(fault));
        if strikes {
            self.book().tally.count(fault.name());
            self.say(|| format!("  fault: {}", fault.name()));
        }
        strikes
    }

    /// The same for what is asked so often that at the drawn rate alone no run would live long.
    pub(super) fn rarely(&self, fault: Fault) -> bool {
        self.knows(fault) && self.random.below(40) == 0 && self.strikes(fault)
    }

    /// Whether this run knows this trouble at all.
    pub(super) fn knows(&self, fault: Fault) -> bool {
        self.rates.of(fault) > 0
    }

    pub(super) fn be_calm(&self, calm: bool) {
        self.calm.store(calm, Ordering::Relaxed);
    }

    pub(super) fn is_healed(&self) -> bool {
        self.healed.is_cancelled()
    }

    /// A line of the trace.
    pub(super) fn say(&self, line: impl FnOnce() -> String) {
        let (now, line) = (self.now(), line());
        self.book().trace.add(now, &line, || line.clone());
    }

    /// An event as somebody saw it.
    pub(super) fn saw(&self, place: &(impl Hash + std::fmt::Debug), event: &Event) {
        let now = self.now();
        self.book().trace.add(now, &(place, event), || format!("    {place:?} {event:?}"));
    }

    /// A rule does not hold.
    pub(super) fn violated(&self, what: impl Into<String>) {
        let what = what.into();
        self.say(|| format!("VIOLATION {what}"));
        self.book().violations.push(what);
    }

    /// Holds what must hold.
    pub(super) fn check(&self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.violated(what());
        }
    }

    /// A branch for a child in this call (V02).
    pub(super) fn child_branch(&self, call: CallId) -> u32 {
        let mut book = self.book();
        let branch = CHILDREN + u32::try_from(book.parents.len()).unwrap_or(0);
        book.parents.insert(branch, call);
        branch
    }

    /// A pause as somebody makes one.
    pub(super) async fn pause(&self) {
        let ms = self.random.of(&[0, 1, 100, 2_000, 30_000]);
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }

    /// Hangs until the world heals.
    pub(super) async fn until_healed(&self) {
        self.healed.cancelled().await;
    }
}

/// Panics without a word on the screen.
pub(super) fn fall(message: &str) -> ! {
    std::panic::resume_unwind(Box::new(message.to_owned()))
}
