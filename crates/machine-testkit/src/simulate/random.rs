//! Numbers that a seed gives (SplitMix64).
use std::sync::atomic::{AtomicU64, Ordering};

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A row of numbers. All of a run draw from one, in the one order in which a single thread runs them.
#[derive(Debug)]
pub(super) struct Random(AtomicU64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    fn next(&self) -> u64 {
        let state = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 0 to `n` - 1.
    pub(super) fn below(&self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    pub(super) fn index(&self, n: usize) -> usize {
        usize::try_from(self.below(n as u64)).unwrap_or(0)
    }

    pub(super) fn percent(&self, percent: u64) -> bool {
        percent > 0 && self.below(100) < percent
    }

    /// One of these.
    pub(super) fn of<T: Copy>(&self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }
}
