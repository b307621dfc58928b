//! The states of a call (C01), and what lives in them.
use alloc::sync::Arc;
use alloc::vec::Vec;

use machine_core::Text;
use machine_core::ask::{AtTurnEnd, Cause, Plan};
use machine_core::ids::CallId;
use machine_core::machine::Path;
use machine_core::message::{Content, Part, keep_output};
use machine_core::outcome::{ErrorCode, Outcome, Settlement, SkipCode, ToolResult};
use serde::{Deserialize, Serialize};

use crate::event::Ctx;

/// What outlives every state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Call {
    /// Its id.
    pub id: CallId,
    /// Its tool.
    pub tool: Text,
    /// Its original arguments, a JSON object.
    pub args: Text,
}

/// One execution; moved, never copied, between the states of running.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Run {
    /// What was prepared.
    pub plan: Arc<Plan>,
    /// Output that came on the way (X10).
    pub output: Vec<Part>,
    /// Characters in it.
    pub chars: usize,
    /// Whether some of it was left out (V15).
    #[serde(default)]
    pub cut: bool,
    /// Since when its turn waits for it; milliseconds, wall time (C15).
    #[serde(default)]
    pub awaited: Option<u64>,
}

/// Why an execution is being stopped.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// Its time is up.
    TimedOut,
    /// Somebody stopped it.
    Cancelled(Arc<Cause>),
}

/// The leaf states.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "at", content = "with", rename_all = "snake_case")]
pub enum State {
    /// The host classifies it (C02).
    Preparing,
    /// Someone must approve it (C04).
    Authorizing(Arc<Plan>),
    /// It waits for a slot and for its accesses (B04).
    Queued(Arc<Plan>),
    /// It runs, and the turn waits for it.
    Attached(Run),
    /// It was told to stop; a real outcome still counts (X03).
    Cancelling {
        /// What runs.
        run: Run,
        /// Why it must stop.
        stop: Stop,
    },
    /// The host rewrites its result (C11).
    Finalizing {
        /// What it would be answered with.
        settlement: Settlement,
        /// Whether it may have had an effect.
        ran: bool,
        /// Set while a grace runs: who stopped it.
        stopped: Option<Arc<Cause>>,
    },
    /// Detached, at work.
    Working(Run),
    /// Detached, told to stop.
    Stopping {
        /// What runs.
        run: Run,
        /// Why it must stop.
        stop: Stop,
    },
    /// Detached, over; the host rewrites what will be told.
    Ending {
        /// What would be told.
        settlement: Settlement,
        /// Whether a grace runs.
        stopped: bool,
    },
    /// Answered by the engine, and still at work for all we know.
    Deaf,
    /// Answered and ended.
    Settled,
}

/// Superstates borrow from the active leaf.
pub enum Parent<'s> {
    /// Not answered yet.
    Open,
    /// Nothing ran: preparing, authorizing, queued.
    Unstarted,
    /// An execution exists and the turn waits for it.
    Running(&'s mut Run),
    /// Answered, not ended.
    Lingering,
    /// In the background.
    Detached,
}

impl Path for State {
    fn path(&self) -> &'static [&'static str] {
        match self {
            Self::Preparing => &["Open", "Unstarted", "Preparing"],
            Self::Authorizing(_) => &["Open", "Unstarted", "Authorizing"],
            Self::Queued(_) => &["Open", "Unstarted", "Queued"],
            Self::Attached(_) => &["Open", "Running", "Attached"],
            Self::Cancelling { .. } => &["Open", "Running", "Cancelling"],
            Self::Finalizing { .. } => &["Open", "Finalizing"],
            Self::Working(_) => &["Lingering", "Detached", "Working"],
            Self::Stopping { .. } => &["Lingering", "Detached", "Stopping"],
            Self::Ending { .. } => &["Lingering", "Detached", "Ending"],
            Self::Deaf => &["Lingering", "Deaf"],
            Self::Settled => &["Settled"],
        }
    }
}

impl State {
    /// Whether it is in the background and its end is still to be told.
    pub fn is_detached(&self) -> bool {
        matches!(self, Self::Working(_) | Self::Stopping { .. } | Self::Ending { .. })
    }

    /// How long the turn may wait for it before it ends, in milliseconds; 0 = not at all (C15).
    pub fn wait_ms(&self, now: u64) -> u64 {
        match self {
            Self::Working(run) => run.wait_ms(now),
            _ => 0,
        }
    }

    /// Whether the end of its turn cancels it (C15).
    pub fn ends_with_turn(&self) -> bool {
        matches!(self, Self::Working(run) if run.plan.at_turn_end == AtTurnEnd::Cancel)
    }

    /// Whether `cancel_call` has something to stop.
    pub fn is_cancellable(&self) -> bool {
        match self {
            Self::Preparing | Self::Authorizing(_) | Self::Queued(_) | Self::Attached(_) => true,
            Self::Working(_) | Self::Ending { .. } => true,
            Self::Cancelling { .. } | Self::Finalizing { .. } | Self::Stopping { .. } => false,
            Self::Deaf | Self::Settled => false,
        }
    }
}

impl Call {
    /// What runs, and what is approved: the final arguments (C03).
    pub fn final_args(&self, plan: &Plan) -> Text {
        plan.args.clone().unwrap_or_else(|| self.args.clone())
    }
}

impl Run {
    pub(crate) fn of(plan: &Arc<Plan>) -> Self {
        Self { plan: plan.clone(), ..Self::default() }
    }

    /// Keeps output up to the limit; the rest is dropped (V15). With a finalizer the host keeps it (C11).
    pub(crate) fn keep(&mut self, parts: &Content, ctx: &Ctx<'_>) {
        if ctx.finalize {
            return;
        }
        self.cut |= !keep_output(&mut self.output, &mut self.chars, parts, ctx.output_chars);
    }

    /// How long its turn waits for it from now on, in milliseconds (C15).
    fn wait_ms(&self, now: u64) -> u64 {
        let AtTurnEnd::Wait { ms } = self.plan.at_turn_end else { return 0 };
        let over = self.awaited.map_or(0, |since| now.saturating_sub(since));
        ms.saturating_sub(over)
    }

    /// What a stopped execution is answered with: its outcome and the output it had by then (X10).
    pub(crate) fn stopped(self, stop: &Stop) -> Settlement {
        let (output, truncated) = (self.output, self.cut);
        let result = (!output.is_empty())
            .then(|| Arc::new(ToolResult { is_error: true, output, truncated, ..ToolResult::default() }));
        Settlement { result, ..stop.settlement() }
    }
}

impl Stop {
    pub(crate) fn settlement(&self) -> Settlement {
        match self {
            Self::TimedOut => Settlement::bare(Outcome::TimedOut { may_have_run: true }),
            Self::Cancelled(cause) => Settlement {
                outcome: Outcome::Cancelled { may_have_run: true },
                result: None,
                cause: Some(cause.clone()),
            },
        }
    }

    pub(crate) fn cause(&self) -> Option<Arc<Cause>> {
        match self {
            Self::TimedOut => None,
            Self::Cancelled(cause) => Some(cause.clone()),
        }
    }
}

/// Never started because of an abort.
pub(crate) fn aborted(cause: Option<&Arc<Cause>>) -> Settlement {
    Settlement { cause: cause.cloned(), ..Settlement::bare(Outcome::skipped(SkipCode::Abort)) }
}

/// The result was not finalized and may not be told (C11). What never ran has no output to withhold: its outcome
/// stays. That a failure is fatal is no output: siblings know it already (C09).
pub(crate) fn withheld(settlement: &Settlement, ran: bool) -> Settlement {
    let outcome = if ran { Outcome::error(ErrorCode::Withheld) } else { settlement.outcome.clone() };
    let fatal = || Arc::new(ToolResult { is_error: true, fatal: true, ..ToolResult::default() });
    Settlement { outcome, result: settlement.is_fatal().then(fatal), cause: settlement.cause.clone() }
}
