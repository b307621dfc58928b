//! Everything that can go wrong, and how often it does in one run.
use super::random::Random;

macro_rules! faults {
    ($($fault:ident = $name:literal),+ $(,)?) => {
        /// One kind of trouble.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum Fault { $($fault),+ }

        impl Fault {
            pub(super) const ALL: &[Self] = &[$(Self::$fault),+];

            pub(super) fn name(self) -> &'static str {
                match self { $(Self::$fault => $name),+ }
            }
        }
    };
}

faults! {
    ToolSlow = "tool is slow",
    ToolHangs = "tool hangs and obeys",
    ToolDeaf = "tool is deaf",
    ToolLate = "tool brings its result after the grace",
    ToolFails = "tool fails",
    ToolFatal = "tool fails fatally",
    ToolMalformed = "tool brings what cannot be read",
    ToolPanics = "tool panics",
    ToolPanicsWhenCancelled = "tool panics when it is cancelled",
    ToolDetaches = "tool detaches",
    ToolDetachesTwice = "tool detaches twice",
    ToolTalksAfterItsEnd = "tool reports after its end",
    ToolStopsTurn = "tool stops the turn",
    ToolStopsBatch = "tool stops the batch",
    ToolDelivers = "tool delivers a message",
    ToolTalksTooMuch = "tool brings too much output",
    ToolRunsAgent = "tool runs an agent",
    PlanPanics = "plan panics",
    PlanRejects = "plan rejects",
    CallTimeout = "call has a short time",
    CallNeedsApproval = "call needs an approval",
    CallCutBySteer = "call can be cut by a steer",
    CallBoundToTurn = "call is bound to its turn",
    CallUnknownTool = "call of an unknown tool",
    CallInvalid = "call with invalid arguments",
    CallBadJson = "call with broken JSON",
    CallBadName = "call with an illegal name",
    HookSlow = "hook is slow",
    HookFails = "hook fails",
    HookPanics = "hook panics",
    HookHangs = "hook hangs",
    HookRefuses = "hook refuses",
    HookRewrites = "hook rewrites",
    ApprovalUnanswered = "approval is left to others",
    ApprovalByRule = "approval by a rule",
    SealPanics = "seal panics",
    ProgressHidden = "progress is hidden",
    ProgressPanics = "progress filter panics",
    ModelSlow = "model is slow",
    ModelCut = "stream is cut",
    ModelStalls = "stream stalls",
    ModelGarbled = "stream is garbled",
    ModelThinksOnly = "response of thinking only",
    ModelSilent = "empty response",
    ModelRateLimited = "rate limit",
    ModelLongRateLimit = "rate limit beyond the cap",
    ModelOverloaded = "overloaded",
    ModelOverflow = "context overflow",
    ModelRefused = "request is refused",
    ModelPanics = "model panics",
    ModelHangs = "model hangs",
    ModelFinish = "response with another finish",
    ModelRepeats = "model repeats its call",
    ModelSameIds = "calls with one id",
    DiskAppendFails = "append fails",
    DiskAppendTears = "append fails after it wrote",
    DiskSyncFails = "sync fails",
    DiskPanics = "journal panics",
    DiskOpenFails = "journal cannot be opened",
    DiskSlow = "journal is slow",
    WatcherDeaf = "watcher does not read",
    WatcherPanics = "watcher panics",
    WatcherLate = "watcher comes late",
    ClientGoesAway = "client goes away",
    Crash = "crash",
    CrashInOpen = "crash while it opens",
    OpenTwice = "two openings in a row",
    Park = "parked and handed over",
    Close = "closed and opened",
    Fork = "forked",
}

/// How often each kind happens in one run, in percent. Most runs do without many of them, so that rare combinations
/// of the others have their chance.
#[derive(Clone, Debug)]
pub(super) struct Rates(Vec<u64>);

impl Rates {
    pub(super) fn drawn(random: &Random) -> Self {
        // How many kinds this run knows at all.
        let known = random.of(&[5, 15, 15, 30, 60]);
        let rate = || if random.percent(known) { random.of(&[2, 5, 10, 25, 60]) } else { 0 };
        Self(Fault::ALL.iter().map(|_| rate()).collect())
    }

    pub(super) fn of(&self, fault: Fault) -> u64 {
        self.0[fault as usize]
    }
}
