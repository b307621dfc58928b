//! Processor time of this thread: what other work on the machine does not lengthen, but for caches.
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// What this thread has used so far.
pub fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let nanoseconds = time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs();
    Duration::from_nanos(nanoseconds)
}
