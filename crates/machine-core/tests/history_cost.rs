//! The cost of a step does not grow with the length of history (V08). Counted in allocations, not in time.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
mod common;

use std::sync::Arc;

use allocation_counter::{AllocationInfo, measure};
use common::*;
use machine_core::history::History;
use machine_core::message::Entry;

const DEEP: usize = 100_000;

fn deep(len: usize) -> History {
    let mut history = History::new();
    let entry = user("x");
    let mut grow =
        |n: usize| measure(|| (0..n).for_each(|_| history.append(entry.clone()).unwrap())).bytes_total;
    // Looked at early, so that a copying history fails here and does not take an hour to be built.
    let first = len.min(2_000);
    let bytes = grow(first);
    assert!(bytes <= 2_048 * first as u64, "V08: {bytes} bytes for the first {first} entries");
    grow(len - first);
    history
}

/// What one more entry costs, at most, over some.
fn append_cost(history: &mut History, entry: &Arc<Entry>, shared: bool) -> (u64, u64) {
    let costs = (0..100).map(|_| {
        let kept = shared.then(|| history.clone());
        let AllocationInfo { count_total, bytes_total, .. } =
            measure(|| history.append(entry.clone()).unwrap());
        drop(kept);
        (count_total, bytes_total)
    });
    costs.fold((0, 0), |(count, bytes), (c, b)| (count.max(c), bytes.max(b)))
}

#[test]
fn c_v08_an_append_costs_the_same_late_as_early() {
    // Alone, and while a request holds the history as it was.
    for shared in [false, true] {
        let entry = user("x");
        let mut history = deep(1_000);
        let early = append_cost(&mut history, &entry, shared);
        let mut history = deep(DEEP);
        let late = append_cost(&mut history, &entry, shared);
        // The tree is at most two levels deeper; a copied list would be a hundred times the bytes.
        assert!(
            late.0 <= early.0 + 8 && late.1 <= 4 * early.1 + 1_024,
            "shared: {shared}: {early:?}, {late:?}"
        );
    }
}

#[test]
fn c_v08_a_clone_costs_nothing() {
    let history = deep(DEEP);
    let mut kept = None;
    let cost = measure(|| kept = Some(history.clone()));
    assert!(cost.count_total <= 2 && cost.bytes_total <= 256, "{cost:?}");
    assert_eq!(kept.as_ref().map(History::len), Some(DEEP));
    let cost = measure(|| assert_eq!(history.ready(), Ok(())));
    assert_eq!(cost.count_total, 0, "V06: `ready` is O(1)");
}

/// Entries are shared: the history that a request holds has not one of its own.
#[test]
fn c_v08_a_clone_shares_its_entries() {
    let mut history = deep(100);
    let clone = history.clone();
    history.append(user("y")).unwrap();
    assert!(history.iter().zip(clone.iter()).all(|(a, b)| Arc::ptr_eq(a, b)));
}

#[test]
fn c_v08_a_step_with_calls_costs_the_same_late_as_early() {
    let mut history = History::new();
    let mut step = |n: u32| {
        let id = TURN.step(n).call(0);
        let wire = format!("w{n}");
        let entries = [calls([call(id, &wire)]), result(id, &wire)];
        measure(|| entries.into_iter().for_each(|entry| history.append(entry).unwrap())).count_total
    };
    let early = (0..1_000).map(&mut step).max();
    let late = (1_000..20_000).map(&mut step).max();
    assert!(late <= early.map(|early| 2 * early), "{early:?}, {late:?}");
}

#[test]
fn c_v08_a_deep_history_lives_on_a_small_stack() {
    let work = || {
        let history = deep(DEEP);
        let (clone, mut other) = (history.clone(), history.clone());
        drop(history);
        other.append(user("y")).unwrap();
        assert_eq!(clone.audit(), Ok(()));
        assert_eq!(clone.iter().rev().count(), DEEP);
        assert_ne!(other, clone);
    };
    let small = std::thread::Builder::new().stack_size(128 << 10).spawn(work).unwrap();
    assert!(small.join().is_ok());
}
