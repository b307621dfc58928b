//! The batch against the pairwise definition of B02 and B04, over random schedules.
mod cost;
mod earlier;
mod world;

use alloc::vec;

use machine_core::access::{Access, Mode as Does, Touch};
use proptest::prelude::*;

use super::*;
use world::{Op, World, ops};

fn write(path: &str) -> Access {
    Touch::path(Does::Write, path).into()
}

/// Runs a schedule; the world checks every step. Then everything is brought to its end.
fn run(max_parallel: u32, ops: &[Op]) -> World {
    let mut world = World::new(max_parallel);
    for op in ops {
        world.apply(op);
    }
    world.finish();
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any order of preparations, approvals, ends, detachments; nobody declares again.
    #[test]
    fn c_b04_calls_start_as_the_definition_says(max_parallel in 1..5u32, ops in ops(world::Kinds::PLAIN)) {
        let world = run(max_parallel, &ops);
        prop_assert_eq!(world.batch, Batch::default(), "nothing is left behind");
    }

    /// The same, and calls are answered before they are prepared: refused, skipped, cancelled, aborted.
    #[test]
    fn c_b04_calls_that_never_run_leave_nothing(max_parallel in 1..5u32, ops in ops(world::Kinds { early_end: true, ..world::Kinds::PLAIN })) {
        let world = run(max_parallel, &ops);
        prop_assert_eq!(world.batch, Batch::default(), "nothing is left behind");
    }

    /// The same, and accesses are declared again.
    #[test]
    fn c_b06_what_counts_is_the_declaration_at_the_start(max_parallel in 1..5u32, ops in ops(world::Kinds { declare: true, ..world::Kinds::PLAIN })) {
        let world = run(max_parallel, &ops);
        prop_assert_eq!(world.batch, Batch::default(), "nothing is left behind");
    }

    /// And all of it together.
    #[test]
    fn c_b04_and_b06_together(max_parallel in 1..5u32, ops in ops(world::Kinds { early_end: true, declare: true })) {
        let world = run(max_parallel, &ops);
        prop_assert_eq!(world.batch, Batch::default(), "nothing is left behind");
    }
}

/// What an access touches, as the definition sees it and as the batch does: for two calls alone.
#[test]
fn c_b02_two_calls_conflict_as_defined() {
    let rules = world::rules();
    let paths = ["", "/", "/w", "a", "a/b", "/a", "/a/b/../b", "/ab", "..", "c:\\x", "/w/a/b/c"];
    let modes = [Does::Read, Does::Write, Does::ReadWrite, Does::Search];
    let mut all = vec![Access::None, Access::All, Access::Paths([].into())];
    for path in paths {
        for mode in modes {
            all.push(Touch::path(mode, path).into());
            all.push(Touch::tree(mode, path).into());
        }
    }
    let first = machine_core::ids::TurnId { branch: 1, turn: 1 }.step(1).call(0);
    let second = CallId { index: 1, ..first };
    for a in &all {
        for b in &all {
            let mut batch = Batch::default();
            batch.begin(first, 2);
            for (call, access) in [(first, a), (second, b)] {
                batch.plan(call, access.clone(), &rules);
                batch.enqueue(call, &rules);
            }
            assert_eq!(batch.start(10), Some(first));
            let together = batch.start(10) == Some(second);
            assert_eq!(together, !conflict(a, b, &rules), "{a:?} {b:?}");
        }
    }
}

#[test]
fn c_b05_a_barrier_waits_for_all_and_holds_all() {
    let mut world = World::new(10);
    world.begin(&[write("a"), Access::None, Access::All, write("b"), Access::None]);
    world.plan_all();
    (0..5).for_each(|i| world.enqueue(i));
    assert_eq!(world.running(), [0, 1, 4], "a call that touches nothing neither waits nor is held");
    world.end(0);
    assert_eq!(world.running(), [1, 2, 4]);
    world.end(2);
    assert_eq!(world.running(), [1, 3, 4]);
    world.finish();
}

/// A call that waits for a person holds back later ones that conflict, and only these (C04).
#[test]
fn c_b04_an_approval_holds_back_what_conflicts() {
    let mut world = World::new(10);
    world.begin(&[write("a"), write("a"), write("b")]);
    world.plan_all();
    [1, 2].iter().for_each(|i| world.enqueue(*i));
    assert_eq!(world.running(), [2]);
    world.enqueue(0);
    assert_eq!(world.running(), [0, 2]);
    world.finish();
}

#[test]
fn c_b07_a_deaf_call_holds_slot_and_accesses() {
    let mut world = World::new(1);
    world.begin(&[write("a"), write("b")]);
    world.plan_all();
    (0..2).for_each(|i| world.enqueue(i));
    world.deafen(0);
    assert_eq!(world.running(), [0], "the slot");
    assert_eq!(world.batch.held_by_deaf(1, &world.rules).len(), 1);
    world.end(0);
    assert_eq!(world.running(), [1]);
    world.finish();
    assert_eq!(world.batch, Batch::default());
}

#[test]
fn c_b07_a_detached_call_gives_back_its_slot_and_maybe_its_accesses() {
    for keep in [false, true] {
        let mut world = World::new(1);
        world.begin(&[write("a"), write("a"), write("b")]);
        world.plan_all();
        (0..3).for_each(|i| world.enqueue(i));
        world.detach(0, keep);
        assert_eq!(world.running(), [if keep { 2 } else { 1 }]);
        world.finish();
        assert_eq!(world.batch, Batch::default());
    }
}

/// Accesses that a call keeps hold back the next batch too.
#[test]
fn c_b07_what_lingers_holds_back_the_next_batch() {
    let mut world = World::new(10);
    world.begin(&[write("a")]);
    world.plan_all();
    world.enqueue(0);
    world.detach(0, true);
    world.begin(&[write("a"), Access::All, write("b")]);
    world.plan_all();
    (1..4).for_each(|i| world.enqueue(i));
    assert_eq!(world.running(), [0; 0]);
    world.end(0);
    assert_eq!(world.running(), [1]);
    world.finish();
    assert_eq!(world.batch, Batch::default());
}

#[test]
fn c_b06_a_new_declaration_frees_what_waits() {
    let mut world = World::new(10);
    world.begin(&[Access::All, write("a"), write("b")]);
    world.plan_all();
    [1, 2].iter().for_each(|i| world.enqueue(*i));
    assert_eq!(world.running(), [0; 0]);
    world.declare(0, &write("a"));
    assert_eq!(world.running(), [2]);
    world.declare(0, &Access::None);
    assert_eq!(world.running(), [1, 2]);
}

#[test]
fn c_b06_it_is_declared_until_the_start() {
    let mut world = World::new(10);
    world.begin(&[write("a"), write("a"), write("a")]);
    let ids: Vec<_> = world.calls.iter().map(|call| call.id).collect();
    assert!(!world.batch.is_waiting(ids[1]), "B06: until it is prepared a call counts as `All`");
    world.plan(1);
    assert!(world.batch.is_waiting(ids[1]));
    world.plan(0);
    world.plan(2);
    (0..2).for_each(|i| world.enqueue(i));
    assert_eq!(world.running(), [0]);
    let waiting: Vec<_> = ids.iter().map(|id| world.batch.is_waiting(*id)).collect();
    assert_eq!(waiting, [false, true, true]);
    let before = world.batch.clone();
    world.batch.declare(ids[0], Access::None, &world.rules);
    assert_eq!(world.batch, before, "it runs: too late");
}

#[test]
fn c_b06_declared_again_while_a_person_decides() {
    let mut world = World::new(10);
    world.begin(&[Access::All]);
    world.plan_all();
    world.declare(0, &write("a"));
    world.enqueue(0);
    assert_eq!(world.running(), [0]);
}

#[test]
fn c_b06_a_later_call_that_waits_elsewhere_sees_the_new_declaration() {
    let mut world = World::new(10);
    world.begin(&[
        write("z"),
        write("b"),
        Access::Paths([Touch::path(Does::Write, "a"), Touch::path(Does::Write, "b")].into()),
    ]);
    world.plan_all();
    world.enqueue(1);
    world.enqueue(2); // waits for 1 at `b`; `a` is free and passed
    world.declare(0, &write("a"));
    world.end(1);
    assert_eq!(world.running(), [0; 0], "0 comes first at `a`");
}

#[test]
fn c_b06_two_that_were_declared_again() {
    let mut world = World::new(10);
    world.begin(&[write("y"), write("z"), write("r")]);
    world.plan_all();
    world.enqueue(2);
    world.declare(1, &Access::Paths([Touch::path(Does::Write, "r"), Touch::path(Does::Write, "a")].into()));
    world.enqueue(1); // 2 is in its way
    world.declare(0, &write("a"));
    world.enqueue(0);
    world.end(2);
    assert_eq!(world.running(), [0]);
}

#[test]
fn c_b06_a_later_call_that_kept_its_accesses() {
    let mut world = World::new(10);
    world.begin(&[write("z"), write("a"), write("b")]);
    world.plan_all();
    world.enqueue(1);
    world.detach(1, true);
    world.declare(0, &write("a"));
    world.enqueue(0);
    world.enqueue(2);
    world.end(2); // something ends: 0 is looked at
    assert_eq!(world.running(), [0; 0], "1 keeps `a`");
}

#[test]
fn c_b04_a_refused_call_leaves_nothing() {
    let mut world = World::new(10);
    world.begin(&[write("a"), write("b")]);
    world.plan(1);
    world.end(1); // say, an unknown tool
    let refused = world.calls[1].id;
    world.plan(0);
    world.enqueue(0);
    world.end(0);
    assert!(!world.batch.is_waiting(refused), "it could be declared again, though it is answered");
    assert_eq!(world.batch, Batch::default());
}
