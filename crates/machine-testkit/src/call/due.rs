//! What a call is to be answered with, by the contracts: worked out beside the machine, from the events that it took.
use std::sync::Arc;

use machine_core::ask::{Approval, By, Cause, Executed, Plan, Prepared};
use machine_core::outcome::{ErrorCode, Outcome, SkipCode};
use machine_tool::Event;

/// A call's life as the contracts tell it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Due {
    /// How it will run.
    pub plan: Option<Arc<Plan>>,
    /// Whether its approval was granted.
    pub granted: bool,
    /// Whether its execution was asked.
    pub executed: bool,
    /// Whether it works in the background.
    pub detached: bool,
    /// Whether a prompt joined its turn.
    pub joined: bool,
    /// Whether its time was up.
    pub timed_out: bool,
    /// Who stopped it first.
    pub cause: Option<Arc<Cause>>,
    /// Who stopped it last.
    pub last_cause: Option<Arc<Cause>>,
    /// Whether its turn was aborted.
    pub aborted: bool,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// Whether that is what came of a stop.
    pub by_stop: bool,
    /// Pieces of output that came on the way.
    pub pieces: usize,
    /// Whether its result ends the turn, by the tool's own word.
    pub stops_turn: bool,
    /// Whether its failure is fatal, by the tool's own word.
    pub fatal: bool,
    /// Whether the engine is faulted.
    pub faulted: bool,
}

impl Due {
    /// Whether it has not run and is not refused.
    pub fn is_unstarted(&self) -> bool {
        !self.executed && self.outcome.is_none()
    }

    /// Whether its work goes on.
    pub fn is_running(&self) -> bool {
        self.executed && self.outcome.is_none()
    }

    /// Whether it was told to stop.
    pub fn is_stopped(&self) -> bool {
        self.cause.is_some() || self.timed_out
    }

    /// Whether a second stop is for it: its turn was aborted, or it is cancelled in the background.
    pub fn is_in_grace(&self) -> bool {
        self.aborted || (self.detached && self.cause.is_some())
    }

    /// What became of it, with an event that was taken.
    pub fn note(&mut self, event: &Event) {
        match event {
            Event::Prepared(Prepared::Ready(plan)) if plan.cut_by_steer && self.joined => {
                self.skip(SkipCode::Steer)
            }
            Event::Prepared(Prepared::Ready(plan)) => self.plan = Some(plan.clone()),
            Event::Prepared(refusal) => self.outcome = refused(refusal),
            Event::Approved { approval: Approval::Granted, .. } => self.granted = true,
            Event::Approved { approval: Approval::Denied(reason), .. } => {
                self.outcome = Some(Outcome::Denied { reason: reason.clone() })
            }
            Event::Approved { approval: Approval::Expired, .. } => self.skip(SkipCode::ApprovalExpired),
            Event::Start => self.executed = true,
            Event::Skip(code) => self.skip(*code),
            Event::Executed(end) => self.ended(end),
            Event::Lost if self.is_stopped() && !self.detached => self.stopped(),
            Event::Lost => self.outcome = self.outcome.take().or(Some(Outcome::Unknown)),
            Event::Output(_) => self.pieces += 1,
            Event::Detached(_) => self.detached = true,
            Event::HookFailed(_) if self.is_unstarted() => self.fail(ErrorCode::HookFailed),
            Event::HookFailed(_) if self.executed => self.withheld(),
            Event::TimeUp => self.timed_out = true,
            Event::GraceOver | Event::Hurry => self.out_of_grace(),
            Event::Cancel(cause) => self.cancelled(cause, Outcome::Cancelled { may_have_run: false }),
            Event::Abort(cause) => {
                self.aborted = true;
                self.cancelled(cause, Outcome::skipped(SkipCode::Abort));
            }
            Event::Steered => self.cancelled(&Cause::by(By::Steer), Outcome::skipped(SkipCode::Steer)),
            Event::Crash { left } => self.crashed(*left),
            Event::Fault => self.fault(),
            Event::Progress(_) | Event::Finalized(_) | Event::Awaited { .. } | Event::HookFailed(_) => {}
        }
    }

    fn skip(&mut self, code: SkipCode) {
        self.outcome = Some(Outcome::skipped(code));
    }

    fn fail(&mut self, code: ErrorCode) {
        self.outcome = Some(Outcome::error(code));
    }

    /// What ran says no more than that (C11).
    fn withheld(&mut self) {
        self.fail(ErrorCode::Withheld);
        self.by_stop = false;
    }

    /// The first outcome counts. An error that comes back after a stop says nothing about it (X08).
    fn ended(&mut self, end: &Executed) {
        if self.outcome.is_some() {
            return; // late
        }
        if let Executed::Done(result) = end {
            self.stops_turn = result.stop_turn.is_some() && !result.is_error;
            self.fatal = result.fatal && !self.is_stopped() && !self.detached;
        }
        match end {
            Executed::Done(result) if !result.is_error => self.outcome = Some(Outcome::Ok),
            _ if self.is_stopped() => self.stopped(),
            Executed::Done(_) => self.fail(ErrorCode::Failed),
            Executed::Panicked(_) => self.fail(ErrorCode::Panicked),
            Executed::Malformed(_) => self.fail(ErrorCode::MalformedResult),
            Executed::Nothing => self.fail(ErrorCode::NoResult),
        }
    }

    /// An abort wins over a time that was up before (C10).
    fn stopped(&mut self) {
        self.by_stop = true;
        self.outcome = Some(match self.cause {
            Some(_) => Outcome::Cancelled { may_have_run: true },
            None => Outcome::TimedOut { may_have_run: true },
        });
    }

    fn out_of_grace(&mut self) {
        match self.outcome {
            None => self.stopped(),
            Some(_) if self.detached => self.withheld(),
            Some(_) => self.outcome = Some(Outcome::Cancelled { may_have_run: self.executed }),
        }
    }

    fn cancelled(&mut self, cause: &Arc<Cause>, unstarted: Outcome) {
        let unstarted = self.is_unstarted().then_some(unstarted);
        if self.timed_out && self.cause.is_none() && matches!(self.outcome, Some(Outcome::TimedOut { .. })) {
            self.outcome = Some(Outcome::Cancelled { may_have_run: true });
        }
        self.outcome = self.outcome.take().or(unstarted);
        self.cause.get_or_insert_with(|| cause.clone());
        self.last_cause = Some(cause.clone());
    }

    fn crashed(&mut self, left: bool) {
        let waits = self.plan.as_ref().is_some_and(|plan| plan.approval) && !self.granted;
        match () {
            () if self.is_unstarted() && waits && !left => {}
            () if self.detached => self.outcome = Some(Outcome::Unknown),
            () if self.outcome.is_some() && self.executed => self.withheld(),
            () if self.outcome.is_some() => {}
            () => {
                self.executed = left;
                self.outcome = Some(if left { Outcome::Unknown } else { Outcome::skipped(SkipCode::Crash) });
            }
        }
    }

    fn fault(&mut self) {
        self.faulted = true;
        match self.outcome {
            None if self.executed => self.outcome = Some(Outcome::Cancelled { may_have_run: true }),
            None => self.skip(SkipCode::Abort),
            Some(_) if self.executed => self.withheld(),
            Some(_) => {}
        }
    }
}

fn refused(refusal: &Prepared) -> Option<Outcome> {
    Some(match refusal {
        Prepared::Ready(_) => return None,
        Prepared::UnknownTool(_) => Outcome::error(ErrorCode::UnknownTool),
        Prepared::InvalidArguments(_) => Outcome::error(ErrorCode::InvalidArguments),
        Prepared::Denied(reason) => Outcome::Denied { reason: reason.clone() },
        Prepared::Skipped(_) => Outcome::skipped(SkipCode::Hook),
        Prepared::Answered(result) => result.outcome(),
    })
}
