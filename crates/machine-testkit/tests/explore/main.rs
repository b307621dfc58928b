//! Every interleaving of small worlds: of each machine alone, and of the whole engine. Run with `--nocapture` to see the
//! numbers.
mod agent;
mod call;
mod engine;
mod turn;

use std::collections::BTreeSet;
use std::num::NonZero;
use std::thread;

use machine_testkit::coverage::{Cannot, Reached, gaps};
use machine_testkit::explore::{Bounds, Explored, World, explore, walk};
use proptest::prelude::*;
use proptest::sample::Index;

/// More states than any world here has.
const ALL: Bounds = Bounds { states: 3_000_000, jobs: NonZero::new(2).expect("not zero") };

/// Everything there is was looked at, and no rule was broken. Prints how much that was.
fn clean<W: World + Send + Sync>(name: &str, world: W) -> Explored {
    let found = explore(world, ALL);
    if let Err(violation) = &found {
        println!("{name}: {violation}");
    }
    let done = found.expect("no violation");
    println!("{name}: {done}, 0 violations");
    assert!(done.whole, "{name}: {done:?}");
    done
}

/// The same of every world, which together reach every pair of a leaf and an event, but for those that cannot come.
fn covered<W: World + Send + Sync>(
    worlds: Vec<(&'static str, W)>,
    leaves: &[&'static str],
    events: &[&'static str],
    cannot: &[Cannot],
) {
    let reached: BTreeSet<Reached> = thread::scope(|scope| {
        let all: Vec<_> =
            worlds.into_iter().map(|(name, world)| scope.spawn(move || clean(name, world))).collect();
        all.into_iter().flat_map(|one| one.join().expect("no violation").reached).collect()
    });
    let wrong = gaps(&reached, leaves, events, cannot);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// One way through a world, by picks; then what is owed, until it rests.
fn walked<W: World>(mut world: W, steps: usize, picks: Vec<Index>) -> Result<(), TestCaseError> {
    let mut picks = picks.into_iter();
    let way = walk(&mut world, steps, |n| picks.next().map_or(0, |pick| pick.index(n)));
    way.map(drop).map_err(|violation| TestCaseError::fail(violation.to_string()))
}
