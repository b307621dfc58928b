//! The explorer itself, on worlds so small that one can count.
use std::num::NonZero;

use machine_testkit::explore::{Bounds, Explored, Violation, World, explore, walk};

/// A number that is brought to 0: `down` is owed while it is not there, `up` may come a few times.
#[derive(Clone, Hash)]
struct Counter {
    at: u32,
    ups: u32,
    flaw: Flaw,
}

#[derive(Clone, Copy, Hash, PartialEq, Eq)]
enum Flaw {
    None,
    /// Nothing is owed at 2, and that is not at rest.
    Deaf,
    /// What is owed changes nothing at 2.
    Spins,
    /// What is owed leads from 1 to 2, and from 2 to 1.
    Swings,
    /// It breaks at 3.
    Breaks,
    /// It panics at 3.
    Panics,
    /// It cannot say at 3 what is owed.
    Speechless,
}

impl World for Counter {
    type Move = &'static str;

    #[expect(clippy::panic, reason = "that a panic is told is what is tested")]
    fn owed(&self) -> Vec<&'static str> {
        if self.flaw == Flaw::Speechless && self.at == 3 {
            panic!("no word at 3");
        }
        if self.at == 0 || (self.flaw == Flaw::Deaf && self.at == 2) { Vec::new() } else { vec!["down"] }
    }

    fn volunteered(&self) -> Vec<&'static str> {
        if self.ups > 0 { vec!["up"] } else { Vec::new() }
    }

    #[expect(clippy::panic, reason = "that a panic is told is what is tested")]
    fn apply(&mut self, input: &&'static str) -> Result<(), String> {
        match (*input, self.flaw, self.at) {
            ("up", ..) => (self.at, self.ups) = (self.at + 1, self.ups - 1),
            (_, Flaw::Spins, 2) => {}
            (_, Flaw::Swings, at @ (1 | 2)) => self.at = 3 - at,
            _ => self.at -= 1,
        }
        match (self.flaw, self.at) {
            (Flaw::Breaks, 3) => Err("broken at 3".into()),
            (Flaw::Panics, 3) => panic!("fell over at {}", self.at),
            _ => Ok(()),
        }
    }

    fn at_rest(&self) -> Result<(), String> {
        if self.at == 0 { Ok(()) } else { Err(format!("left at {}", self.at)) }
    }
}

fn run(flaw: Flaw, states: usize, jobs: usize) -> Result<Explored, Violation<&'static str>> {
    let jobs = NonZero::new(jobs).expect("some");
    explore(Counter { at: 1, ups: 3, flaw }, Bounds { states, jobs })
}

fn broken(flaw: Flaw) -> (String, usize) {
    let violation = run(flaw, 100, 1).expect_err("it is flawed");
    (violation.what, violation.trace.len())
}

#[test]
fn every_state_is_counted_once_whatever_the_number_of_threads() {
    // (at, ups): 3 ups are spread over the way down; 1..=4 with 0 left, and so on.
    let one = run(Flaw::None, 100, 1).expect("sound");
    assert_eq!((one.states, one.transitions, one.rests, one.depth, one.whole), (14, 19, 4, 7, true));
    let three = run(Flaw::None, 100, 3).expect("sound");
    assert_eq!(Explored { took: one.took, ..three }, one);
    let most = run(Flaw::None, 100, usize::MAX).expect("sound");
    assert_eq!(Explored { took: one.took, ..most }, one);
}

/// Each number leads to two others: layers are wide.
#[derive(Clone, Hash)]
struct Bush(u32);

impl World for Bush {
    type Move = u32;

    fn owed(&self) -> Vec<u32> {
        Vec::new()
    }

    fn volunteered(&self) -> Vec<u32> {
        vec![2 * self.0, 2 * self.0 + 1]
    }

    fn apply(&mut self, to: &u32) -> Result<(), String> {
        self.0 = *to;
        Ok(())
    }

    fn at_rest(&self) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn a_bound_is_met_at_the_same_state_whatever_the_number_of_threads() {
    let run = |jobs| {
        let bounds = Bounds { states: 3_000, jobs: NonZero::new(jobs).expect("some") };
        explore(Bush(1), bounds).expect("sound")
    };
    let one = run(1);
    assert_eq!((one.states, one.whole), (3_001, false));
    assert_eq!(Explored { took: one.took, ..run(7) }, one);
}

#[test]
fn a_bound_is_told() {
    let some = run(Flaw::None, 5, 1).expect("sound as far as it went");
    assert!(!some.whole && some.states > 5, "{some:?}");
}

#[test]
fn what_is_wrong_is_found_with_a_shortest_trace() {
    assert_eq!(broken(Flaw::Deaf), ("left at 2".into(), 1));
    assert_eq!(broken(Flaw::Breaks), ("broken at 3".into(), 2));
    assert_eq!(broken(Flaw::Panics), ("a panic: fell over at 3".into(), 2));
    assert_eq!(broken(Flaw::Speechless), ("a panic: no word at 3".into(), 2));
}

#[test]
fn a_walk_tells_its_way_to_a_panic_and_may_be_of_any_length() {
    let walked = |flaw| walk(&mut Counter { at: 1, ups: 3, flaw }, usize::MAX, |choices| choices - 1);
    assert_eq!(walked(Flaw::None).map(|way| way.len()).expect("sound"), 7);
    for flaw in [Flaw::Panics, Flaw::Speechless] {
        let Violation { what, trace } = walked(flaw).expect_err("it is flawed");
        assert!(what.starts_with("a panic: "), "{what}");
        assert_eq!(trace, ["up", "up"]);
    }
}

#[test]
fn what_is_owed_must_lead_to_rest() {
    let hang = "hang: what is owed never leads to rest from here";
    assert_eq!(broken(Flaw::Spins), (hang.into(), 1));
    assert_eq!(broken(Flaw::Swings), (hang.into(), 0));
}
