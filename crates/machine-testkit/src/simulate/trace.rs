//! What happened in a run, in order: a digest always, lines where somebody reads them.
use std::fmt::Display;
use std::hash::{Hash, Hasher};

use siphasher::sip::SipHasher13;

/// Longer lines are cut: a person reads them.
const LINE: usize = 240;

/// The trace of one run.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// Of fixed keys: the same in each process.
    digest: SipHasher13,
    lines: Option<Vec<String>>,
}

impl Trace {
    pub(super) fn new(keep: bool) -> Self {
        Self { digest: SipHasher13::new(), lines: keep.then(Vec::new) }
    }

    /// Something happened, `ms` after the beginning.
    pub(super) fn add(&mut self, ms: u64, what: &impl Hash, line: impl FnOnce() -> String) {
        (ms, what).hash(&mut self.digest);
        if let Some(lines) = &mut self.lines {
            lines.push(format!("{:>11}  {}", Seconds(ms), cut(line())));
        }
    }

    pub(super) fn digest(&self) -> u64 {
        self.digest.finish()
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        self.lines.unwrap_or_default()
    }
}

fn cut(line: String) -> String {
    if line.chars().count() <= LINE { line } else { line.chars().take(LINE).chain(['…']).collect() }
}

struct Seconds(u64);

impl Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&format!("{}.{:03}", self.0 / 1_000, self.0 % 1_000))
    }
}
