//! Wall time for the engine, which only stamps with it.
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// What an agent takes for the time of day. The default is the system's.
///
/// Timers do not follow it: they count tokio's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WallClock {
    /// None: the system's.
    counted: Option<Counted>,
}

/// A time that is counted from an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counted {
    ms: u64,
    from: Instant,
}

impl WallClock {
    /// The system's time.
    pub fn system() -> Self {
        Self::default()
    }

    /// It is `ms` now, in milliseconds, and goes on with tokio's time. In a runtime whose time is paused every event
    /// then has exactly the time at which the test put it.
    pub fn starting_at(ms: u64) -> Self {
        Self { counted: Some(Counted { ms, from: Instant::now() }) }
    }
}

/// Wall time while a driver works, in step with its timers: it never runs slower than they do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    counted: Counted,
    /// Whether the system's time may be ahead of what was counted.
    system: bool,
}

impl Clock {
    pub(crate) fn start(wall: WallClock) -> Self {
        let system = || Counted { ms: system(), from: Instant::now() };
        Self { counted: wall.counted.unwrap_or_else(system), system: wall.counted.is_none() }
    }

    /// Milliseconds since 1970, or as the origin says. After the machine slept, the system's time is ahead; under a
    /// clock that a test moves, or that somebody sets back, the timers are.
    pub(crate) fn now(self) -> u64 {
        let Counted { ms, from } = self.counted;
        let elapsed = u64::try_from(from.elapsed().as_millis()).unwrap_or(u64::MAX);
        let counted = ms.saturating_add(elapsed);
        if self.system { system().max(counted) } else { counted }
    }
}

fn system() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
