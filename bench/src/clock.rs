//! Processor time of this thread, or of all threads: what other work on the machine does not lengthen, but for caches.
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// What this thread has used so far.
pub fn now() -> Duration {
    used(ClockId::ThreadCPUTime)
}

/// What all threads of this process have used so far.
pub fn of_all() -> Duration {
    used(ClockId::ProcessCPUTime)
}

fn used(of: ClockId) -> Duration {
    let time = clock_gettime(of);
    let nanoseconds = time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs();
    Duration::from_nanos(nanoseconds)
}
