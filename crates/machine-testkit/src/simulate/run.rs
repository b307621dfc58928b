//! One seed, and many.
use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Builder};
use std::time::Duration;

use tokio::runtime::{self, Handle};
use tokio::time::sleep;

use super::fault::Fault;
use super::heal;
use super::life::Life;
use super::tally::Tally;
use super::world::World;

/// A rule that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The seed that shows it, always.
    pub seed: u64,
    /// What did not hold; it begins with the rule's id.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}: {}", self.seed, self.what)
    }
}

/// What came of one seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The seed.
    pub seed: u64,
    /// Over all that happened, in order: the same each time.
    pub digest: u64,
    /// What did not hold.
    pub violations: Vec<Violation>,
    /// What happened how often.
    pub tally: Tally,
    /// What happened, line by line, if it was asked for.
    pub trace: Vec<String>,
}

/// Runs one seed. `traced`: keep what happened, line by line.
pub fn run(seed: u64, traced: bool) -> Run {
    if Handle::try_current().is_ok() {
        // A runtime cannot be driven within another one, so that it has a thread of its own.
        let ran = thread::scope(|scope| scope.spawn(|| run(seed, traced)).join());
        return ran.unwrap_or_else(|panic| resume_unwind(panic));
    }
    let failed = |what: String| Run {
        seed,
        digest: 0,
        violations: vec![Violation { seed, what }],
        tally: Tally::default(),
        trace: Vec::new(),
    };
    let runtime = match runtime::Builder::new_current_thread().enable_time().start_paused(true).build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(format!("no runtime: {error}")),
    };
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let world = runtime.block_on(async {
            let world = World::new(seed, traced);
            live(&world).await;
            nothing_is_left(&world).await;
            world
        });
        drop(runtime);
        world
    }));
    match ran {
        Ok(world) => {
            let book = std::mem::take(&mut *world.book());
            let violations = book.violations.into_iter().map(|what| Violation { seed, what }).collect();
            let (digest, trace) = (book.trace.digest(), book.trace.into_lines());
            Run { seed, digest, violations, tally: book.tally, trace }
        }
        Err(panic) => failed(format!("H03: a panic: {}", message(&*panic))),
    }
}

/// Acts, then heals.
async fn live(world: &Arc<World>) {
    let mut life = Life::begins(world).await;
    for _ in 0..world.random.of(&[3, 10, 25, 50]) {
        let ms = world.random.of(&[0, 0, 1, 50, 3_000, 40_000]);
        sleep(Duration::from_millis(ms)).await;
        // Most of the time it lives on.
        if world.random.below(4) > 0 {
            life.client().await;
            life.leaves_a_fault().await;
            continue;
        }
        match () {
            () if world.strikes(Fault::Crash) => life.crashes().await,
            () if world.strikes(Fault::OpenTwice) => life.crashes_twice().await,
            () if world.strikes(Fault::Park) => life.is_handed_over().await,
            () if world.strikes(Fault::Close) => life.closes().await,
            () => life.client().await,
        }
        life.leaves_a_fault().await;
    }
    heal::heal(life).await;
}

/// After the end no task is alive (P16).
async fn nothing_is_left(world: &World) {
    let alive = || Handle::current().metrics().num_alive_tasks();
    for _ in 0..100 {
        if alive() == 0 {
            return;
        }
        sleep(Duration::from_secs(60)).await;
    }
    world.violated(format!("P16: {} tasks are alive after the end", alive()));
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".into())
}

/// What came of many seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many seeds ran.
    pub seeds: u64,
    /// What did not hold, in the order of the seeds.
    pub violations: Vec<Violation>,
    /// What happened how often, over all seeds.
    pub tally: Tally,
}

/// Runs these seeds in so many threads, or as many as there can be. What comes of them does not depend on how many there are.
pub fn many(seeds: Range<u64>, jobs: usize) -> Summary {
    let next = AtomicU64::new(seeds.start);
    let work = || {
        let mut part = Summary::default();
        // It never goes past the end: behind the last number comes the first.
        let take = |seed| (seed < seeds.end).then(|| seed + 1);
        while let Ok(seed) = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            let run = run(seed, false);
            part.seeds += 1;
            part.violations.extend(run.violations);
            part.tally.add(&run.tally);
        }
        part
    };
    let mut all = Summary::default();
    let most = usize::try_from(seeds.end.saturating_sub(seeds.start)).unwrap_or(usize::MAX);
    thread::scope(|scope| {
        let spawned = (1..jobs.min(most)).map_while(|_| Builder::new().spawn_scoped(scope, work).ok());
        let threads: Vec<_> = spawned.collect();
        let own = work();
        let others =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        for part in others.chain([own]) {
            all.seeds += part.seeds;
            all.violations.extend(part.violations);
            all.tally.add(&part.tally);
        }
    });
    all.violations.sort_by_key(|violation| violation.seed);
    all
}
