//! The tokio host in faulty worlds: everything holds, everything happens, and a seed is the same each time.
//! `SEED=n` runs one seed alone and prints what happened.
#![cfg(feature = "tokio")]
use std::thread::available_parallelism;

use machine_testkit::simulate::{self, Summary};

/// Enough that everything happens at least once.
const SEEDS: u64 = 2_000;

/// Everything besides faults that must happen in so many runs: how a turn can end, and which hooks are asked.
const HAPPENS: &[&str] = &[
    "turn completed",
    "turn stopped by a result",
    "turn max_tokens",
    "turn suspended",
    "turn other",
    "turn filtered",
    "turn paused",
    "turn blocked",
    "turn step_limit",
    "turn repeat_limit",
    "turn budget_limit",
    "turn aborted",
    "turn interrupted",
    "turn failed: model",
    "turn failed: rate limited",
    "turn failed: empty response",
    "turn failed: context overflow",
    "turn failed: gate",
    "turn failed: fatal call",
    "faulted",
    "hook session start",
    "hook screen",
    "hook gate",
    "hook recover",
    "hook before call",
    "hook approve",
    "hook finalize",
    "hook stop",
    "hook step ended",
    "hook turn ended",
    "hook maintain",
];

#[test]
fn whatever_happens_the_rules_hold_and_everything_ends() {
    if let Some(seed) = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()) {
        let run = simulate::run(seed, true);
        println!("{}", run.trace.join("\n"));
        assert_eq!(run.violations, []);
        return;
    }
    let jobs = available_parallelism().map_or(1, |jobs| jobs.get());
    let Summary { seeds, violations, tally } = simulate::many(0..SEEDS, jobs);
    let told: Vec<_> =
        violations.iter().map(|violation| format!("SEED={} {violation}", violation.seed)).collect();
    assert!(told.is_empty(), "{}", told.join("\n"));
    assert_eq!(seeds, SEEDS);
    let never: Vec<_> =
        simulate::faults().chain(HAPPENS.iter().copied()).filter(|name| tally.of(name) == 0).collect();
    assert!(never.is_empty(), "never in {SEEDS} seeds: {never:?}");
}

#[test]
fn a_seed_is_the_same_each_time() {
    for seed in 0..300 {
        let (first, again) = (simulate::run(seed, false), simulate::run(seed, true));
        let trace = || simulate::run(seed, true).trace.join("\n");
        assert_eq!(first.digest, again.digest, "seed {seed} differs:\n{}", trace());
        assert_eq!(first.tally, again.tally, "seed {seed}");
    }
}

#[test]
fn the_last_seeds_and_any_number_of_threads_will_do() {
    assert_eq!(simulate::many(u64::MAX - 2..u64::MAX, 4).seeds, 2);
    assert_eq!(simulate::many(0..3, usize::MAX).seeds, 3);
}

#[tokio::test]
async fn a_seed_runs_within_a_runtime_too() {
    assert_eq!(
        simulate::run(3, false),
        std::thread::spawn(|| simulate::run(3, false)).join().expect("it ran")
    );
    assert_eq!(simulate::many(3..4, 1).violations, []);
}
