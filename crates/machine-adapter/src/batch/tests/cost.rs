//! B10: what scheduling a batch costs, counted in allocations.
use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec::Vec;

use allocation_counter::measure;
use machine_core::access::{Access, Mode, PathRules, Touch};
use machine_core::ids::TurnId;

use super::super::Batch;

const CAP: u32 = 10;

/// In which order the calls of a batch are prepared.
#[derive(Clone, Copy, Debug)]
enum Prepared {
    InOrder,
    Backwards,
}

/// A whole batch: prepared, wanted, started, ended; the oldest that runs ends first.
fn schedule(n: u32, prepared: Prepared, bars: bool, access: impl Fn(u32) -> Access) -> u64 {
    let rules = PathRules::default();
    let step = TurnId { branch: 1, turn: 1 }.step(1);
    let mut batch = Batch::default();
    let accesses: Vec<_> = (0..n).map(access).collect();
    let order: Vec<_> = match prepared {
        Prepared::InOrder => (0..n).collect(),
        Prepared::Backwards => (0..n).rev().collect(),
    };
    let mut ended = 0;
    let cost = measure(|| {
        batch.begin(step.call(0), n);
        for i in order {
            if bars {
                batch.bar(step.call(i));
            }
            batch.plan(step.call(i), accesses[i as usize].clone(), &rules);
            batch.enqueue(step.call(i), &rules);
        }
        let mut running = VecDeque::new();
        loop {
            while let Some(call) = batch.start(CAP) {
                running.push_back(call);
            }
            let Some(call) = running.pop_front() else { break };
            assert_eq!(batch.unbar(call), bars);
            batch.end(call, &rules);
            ended += 1;
        }
    });
    assert_eq!((ended, batch), (n, Batch::default()));
    cost.count_total
}

fn near_linear(what: &str, access: impl Fn(u32) -> Access) {
    near_linear_with(what, false, access);
}

fn near_linear_with(what: &str, bars: bool, access: impl Fn(u32) -> Access) {
    for prepared in [Prepared::InOrder, Prepared::Backwards] {
        let cost = |n| schedule(n, prepared, bars, &access);
        let (once, ten_times) = (cost(1_000), cost(10_000));
        assert!(ten_times <= 16 * once, "B10: {what}, {prepared:?}: {once}, then {ten_times} allocations");
    }
}

#[test]
fn c_b10_distinct_paths() {
    near_linear("distinct", |i| Touch::path(Mode::Write, format!("/d/{i}")).into());
}

#[test]
fn c_b10_one_path() {
    near_linear("writers", |_| Touch::path(Mode::Write, "/d/f").into());
    near_linear("readers", |_| Touch::path(Mode::Read, "/d/f").into());
    near_linear("a writer, then readers", |i| {
        Touch::path(if i == 0 { Mode::Write } else { Mode::Read }, "/d/f").into()
    });
    near_linear("readers, then a writer", |i| {
        Touch::path(if i % 1_000 == 999 { Mode::Write } else { Mode::Read }, "/d/f").into()
    });
    near_linear("by turns", |i| {
        Touch::path(if i % 2 == 0 { Mode::Write } else { Mode::Read }, "/d/f").into()
    });
}

#[test]
fn c_b10_all_exclusive() {
    near_linear("exclusive", |_| Access::All);
    near_linear("a barrier now and then", |i| match i % 100 {
        0 => Access::All,
        _ => Touch::path(Mode::Write, format!("/d/{i}")).into(),
    });
    near_linear("nothing at all", |_| Access::None);
}

/// Each may end the batch: they run one after the other (T17).
#[test]
fn c_b10_all_may_end_the_batch() {
    near_linear_with("bars, distinct", true, |i| Touch::path(Mode::Write, format!("/d/{i}")).into());
    near_linear_with("bars, nothing at all", true, |_| Access::None);
}

#[test]
fn c_b10_trees() {
    near_linear("trees over files", |i| match i % 10 {
        0 => Touch::tree(Mode::Search, "/d").into(),
        _ => Touch::path(Mode::Write, format!("/d/{}/{i}", i % 7)).into(),
    });
    near_linear("each waits at several places", |i| {
        let at = |n: u32| Touch::path(Mode::Write, format!("/d/{}", n % 50));
        Access::Paths([at(i), at(i + 1), at(i + 17)].into())
    });
}
