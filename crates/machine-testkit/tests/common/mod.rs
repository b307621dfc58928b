//! What every exploration here must show.
use std::num::NonZero;

use machine_testkit::explore::{Bounds, Explored, World, explore};

/// More states than any world here has.
const ALL: Bounds = Bounds { states: 3_000_000, jobs: NonZero::new(2).expect("not zero") };

/// Everything there is was looked at, and no rule was broken. Prints how much that was.
pub fn clean<W: World + Send + Sync>(name: &str, world: W) -> Explored {
    let found = explore(world, ALL);
    if let Err(violation) = &found {
        println!("{name}: {violation}");
    }
    let done = found.expect("no violation");
    println!("{name}: {done}, 0 violations");
    assert!(done.whole, "{name}: {done:?}");
    done
}
