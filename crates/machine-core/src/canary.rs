//! Faults that are planted on purpose, to prove that the tests find them.
//!
//! Nothing but that proof switches on the feature `canary`. Without it no fault can be planted, and every place that
//! could hold one is compiled as if it were not there.

/// A fault of a kind that real loops had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Canary {
    /// A call: an abort spares what waits for approval, so a late grant runs it.
    AbortSparesApprovals = 1,
    /// A call: nobody waits out the grace of what was told to stop.
    GraceIsNotArmed,
    /// A call: what ends after the engine had answered it is answered once more.
    LateEndAnswersAgain,
    /// A call: what ran when the process died runs again.
    CrashRunsAgain,
    /// A call: the end of background work is told twice.
    BackgroundIsToldTwice,
    /// A turn: an abort while it waits for the next attempt is lost.
    AbortWaitsForBackoff,
    /// A turn: the tokens of a failed attempt count twice.
    FailureCostsTwice,
    /// A turn: empty responses are not counted, so they are asked again for ever.
    EmptyIsNotCounted,
    /// A turn: a step that fails has no end.
    FailedStepStaysOpen,
    /// An agent: what was steered in the last moment of a turn is lost.
    LateSteerIsLost,
    /// An agent: what waits after an abort starts nothing.
    AbortStrandsTheQueue,
    /// An agent: what came during maintenance starts nothing.
    MaintenanceStrandsTheQueue,
    /// The adapter: one call too many at once.
    CapIsOffByOne,
    /// The adapter: calls that touch the same overlap.
    ConflictsOverlap,
    /// The adapter: an answer leaves its question open.
    AnsweredStaysOpen,
    /// The adapter: a steer is put into history without a receipt.
    DrainSkipsReceipts,
    /// The journal: what leaves is not written down.
    ActsAreNotWritten,
    /// The host: timers never fire.
    TimersNeverFire,
    /// The host: a tool does not hear that it is cancelled.
    CancellationIsNotTold,
    /// The host: a call is carried out twice.
    CallsRunTwice,
    /// The host: what is acknowledged is not on disk.
    AcknowledgedUnsynced,
}

impl Canary {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::AbortSparesApprovals,
        Self::GraceIsNotArmed,
        Self::LateEndAnswersAgain,
        Self::CrashRunsAgain,
        Self::BackgroundIsToldTwice,
        Self::AbortWaitsForBackoff,
        Self::FailureCostsTwice,
        Self::EmptyIsNotCounted,
        Self::FailedStepStaysOpen,
        Self::LateSteerIsLost,
        Self::AbortStrandsTheQueue,
        Self::MaintenanceStrandsTheQueue,
        Self::CapIsOffByOne,
        Self::ConflictsOverlap,
        Self::AnsweredStaysOpen,
        Self::DrainSkipsReceipts,
        Self::ActsAreNotWritten,
        Self::TimersNeverFire,
        Self::CancellationIsNotTold,
        Self::CallsRunTwice,
        Self::AcknowledgedUnsynced,
    ];

    /// Whether this fault is planted.
    #[cfg(feature = "canary")]
    pub fn is_planted(self) -> bool {
        planted::NOW.load(core::sync::atomic::Ordering::Relaxed) == self as u8
    }

    /// Whether this fault is planted: it cannot be.
    #[cfg(not(feature = "canary"))]
    #[inline(always)]
    pub const fn is_planted(self) -> bool {
        false
    }

    /// Plants this fault, in place of any other, for the whole process; none: takes it out.
    #[cfg(feature = "canary")]
    pub fn plant(canary: Option<Self>) {
        planted::NOW.store(canary.map_or(0, |canary| canary as u8), core::sync::atomic::Ordering::Relaxed);
    }
}

#[cfg(feature = "canary")]
mod planted {
    use core::sync::atomic::AtomicU8;

    /// The fault that is planted; 0: none.
    pub(super) static NOW: AtomicU8 = AtomicU8::new(0);
}
