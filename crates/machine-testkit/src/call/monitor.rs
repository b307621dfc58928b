//! The safety monitor of a call: it sees every event that the machine took and every signal that came of it.
use std::collections::BTreeSet;

use machine_core::ask::{AtTurnEnd, Executed, Question, Subject};
use machine_core::digest::Digest;
use machine_core::event::Event as Report;
use machine_core::ids::CallId;
use machine_core::machine::Machine;
use machine_core::outcome::{Outcome, Settlement, SkipCode};
use machine_tool::{Call, Event, Signal, State};

use super::due::Due;
use super::words::{ACK, ARGS, FINAL, PIECE, PROGRESS_CHARS, says};
use crate::explore::{Checked, broken};
use crate::outstanding::Outstanding;

/// What was seen of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Monitor {
    pub due: Due,
    finalize: bool,
    /// Signals and reports that come once.
    once: BTreeSet<&'static str>,
    answered: bool,
    ended: bool,
}

impl Monitor {
    pub fn new(finalize: bool, outcome: Option<Outcome>) -> Self {
        Self { finalize, due: Due { outcome, ..Due::default() }, ..Self::default() }
    }

    pub fn is_answered(&self) -> bool {
        self.answered
    }

    /// An event that the machine ignored.
    pub fn ignored(&self, event: &Event) -> Checked {
        let (due, open) = (&self.due, !self.ended);
        let waits = due.is_unstarted() || due.is_running();
        match event {
            Event::Abort(_) if !self.answered && due.cause.is_none() => {
                broken("X03", "an abort is not heard")
            }
            Event::Cancel(_) if open && (waits || due.detached) && !due.is_stopped() => {
                broken("C13", "a cancel is not heard")
            }
            Event::Output(_) | Event::Progress(_) if open && due.is_running() => {
                broken("C07", "what a running call says is not heard")
            }
            Event::Hurry if open && due.is_in_grace() && !self.once.contains("Deaf") => {
                broken("X04", "a second stop is not heard")
            }
            Event::Fault if open => broken("A22", "a fault is not heard"),
            Event::Crash { .. } if open => broken("J05", "a crash is not heard"),
            Event::Skip(_) if due.is_unstarted() => broken("B04", "a skip is not heard"),
            _ => Ok(()),
        }
    }

    /// An event that the machine took, and what came of it.
    pub fn taken(&mut self, event: &Event, signals: &[Signal], asks: &Outstanding) -> Checked {
        let before = self.due.clone();
        if self.ended {
            return broken("E07", "an event is taken after the end");
        }
        self.due.note(event);
        for (at, signal) in signals.iter().enumerate() {
            self.signal(event, &signals[..at], signal, asks)?;
        }
        self.told(event, signals)?;
        self.prompt(&before, event)
    }

    /// What must be told before anything follows from it.
    fn told(&self, event: &Event, signals: &[Signal]) -> Checked {
        let first = match signals.first() {
            Some(Signal::Report(report)) => Some(report),
            _ => None,
        };
        match (event, first) {
            (Event::HookFailed(_), Some(Report::HookFailed { .. })) => Ok(()),
            (Event::HookFailed(_), _) => broken("H02", "a failed hook is not told first"),
            (Event::Approved { approval, .. }, Some(Report::ApprovalAnswered { approval: told, .. }))
                if told == approval =>
            {
                Ok(())
            }
            (Event::Approved { .. }, _) => broken("C04", "an answered approval is not told first"),
            (Event::Progress(_), Some(Report::Progress { .. })) if signals.len() == 1 => Ok(()),
            (Event::Progress(_), _) => broken("C07", "progress is taken and not shown"),
            _ => Ok(()),
        }
    }

    /// What must happen in the same step.
    fn prompt(&self, before: &Due, event: &Event) -> Checked {
        let stopped = matches!(event, Event::Abort(_) | Event::Crash { .. }) && before.is_unstarted();
        let hurried = matches!(event, Event::Hurry | Event::GraceOver) && before.is_stopped();
        let waits = matches!(event, Event::Crash { .. }) && self.due.outcome.is_none();
        let over = matches!(event, Event::Fault | Event::Crash { .. }) && !waits;
        match () {
            () if stopped && !waits && !self.answered => {
                broken("X03", "stopped unstarted, and not answered at once")
            }
            () if hurried && !self.answered => broken("X04", "out of grace, and not answered at once"),
            () if hurried && self.due.detached && !self.once.contains("BackgroundEnded") => {
                broken("X04", "out of grace, and its end is not told at once")
            }
            () if over && !self.ended => {
                broken("J05", "the process or the engine is gone, and the call is not over")
            }
            () if self.due.fatal && !self.once.contains("Fatal") => {
                broken("C09", "a fatal failure is not told at once")
            }
            () => Ok(()),
        }
    }

    fn signal(&mut self, event: &Event, before: &[Signal], signal: &Signal, asks: &Outstanding) -> Checked {
        if self.ended {
            return Err(format!("E07: {signal:?} after the end"));
        }
        match signal {
            Signal::Ask(question) => self.asked(event, before, question),
            Signal::Withdraw(..) | Signal::Report(Report::Progress { .. }) => self.progress(signal),
            Signal::Planned(_) => {
                self.once("C02", "Planned")?;
                let bars = self.due.plan.as_ref().is_some_and(|plan| plan.stop_batch);
                if bars == self.once.contains("MayStopBatch") {
                    Ok(())
                } else {
                    broken("T17", "who may stop the batch")
                }
            }
            Signal::MayStopBatch => self.once("T17", "MayStopBatch"),
            Signal::NeverRuns => match self.due.executed {
                true => broken("B04", "it ran, and is said never to run"),
                false => self.once("B04", "NeverRuns"),
            },
            Signal::Enqueue => {
                let granted = self.due.granted || !self.due.plan.as_ref().is_some_and(|plan| plan.approval);
                if !granted || !self.due.is_unstarted() || !self.once.contains("Planned") {
                    return broken("C04", "it wants to start, and may not");
                }
                self.once("C06", "Enqueue")
            }
            Signal::Answered { settlement, background } => self.answered(event, settlement, *background),
            Signal::Fatal => {
                self.once.insert("Fatal");
                Ok(())
            }
            Signal::Detached { keep_access, told } => {
                let keeps = self.due.plan.as_ref().is_some_and(|plan| plan.keep_access);
                if *keep_access != keeps || says(told, ACK) != 1 {
                    return broken("B07", "what a detached call keeps, and was told");
                }
                self.once("C08", "Detached")
            }
            Signal::Deaf { told } => {
                if !self.due.is_stopped() || !matches!(event, Event::GraceOver | Event::Hurry) {
                    return broken("B07", "deaf, and its grace goes on");
                }
                self.output(event, told)?;
                self.once("B07", "Deaf")
            }
            Signal::BackgroundEnded(settlement) => {
                if !self.due.detached || !self.answered || self.due.faulted {
                    return broken("A20", "the end of a call that is not in the background");
                }
                self.ends(event, settlement)?;
                self.once("A20", "BackgroundEnded")
            }
            Signal::Late(_) if *event == Event::Executed(Executed::Nothing) => {
                broken("X06", "it obeyed late, and that is told as a result")
            }
            Signal::Late(settlement) => {
                if !self.once.contains("Deaf") {
                    return broken("X06", "late, and the engine did not answer itself");
                }
                if self.finalize && settlement.result.as_ref().is_some_and(|result| !result.output.is_empty())
                {
                    return broken("C11", "late output that was not finalized");
                }
                self.once("X06", "Late")
            }
            Signal::Ended => self.end(asks),
            Signal::Report(Report::CallStarted { args, .. }) => {
                if &**args != ARGS {
                    return broken("C03", "it starts with other arguments");
                }
                self.once("C06", "CallStarted")
            }
            Signal::Report(Report::ApprovalAsked { args, .. }) if &**args != ARGS => {
                broken("C03", "other arguments are to be approved")
            }
            Signal::Report(Report::ApprovalAsked { .. }) => self.once("C04", "ApprovalAsked"),
            Signal::Report(Report::ApprovalAnswered { .. }) => self.once("C04", "ApprovalAnswered"),
            Signal::Report(Report::HookFailed { .. }) if matches!(event, Event::HookFailed(_)) => Ok(()),
            Signal::Report(report) => Err(format!("E06: a call reports {report:?}")),
        }
    }

    fn progress(&self, signal: &Signal) -> Checked {
        match signal {
            Signal::Report(Report::Progress { text, .. }) if text.chars().count() > PROGRESS_CHARS => {
                broken("C07", "a progress text is longer than it may be")
            }
            Signal::Report(Report::Progress { .. }) if self.answered && !self.due.detached => {
                broken("C07", "progress after the answer")
            }
            _ => Ok(()),
        }
    }

    fn asked(&mut self, event: &Event, before: &[Signal], question: &Question) -> Checked {
        let told = |like: fn(&Report) -> bool| {
            before.iter().any(|signal| matches!(signal, Signal::Report(report) if like(report)))
        };
        match question {
            Question::Prepare { .. } => self.once("C02", "Prepare"),
            Question::Approve { tool, args, digest, .. } => {
                let right = *digest == Digest::of(&(tool, args)) && &**args == ARGS;
                if !right || !told(|report| matches!(report, Report::ApprovalAsked { .. })) {
                    return broken("C04", "what is approved is not what was told");
                }
                self.once("C04", "Approve")
            }
            Question::Execute { args, .. } => {
                if *event != Event::Start || !self.once.contains("Enqueue") || self.due.outcome.is_some() {
                    return broken("C06", "it runs, and may not");
                }
                if !told(|report| matches!(report, Report::CallStarted { .. })) {
                    return broken("C06", "it runs before it is told to have started");
                }
                if &**args != ARGS || self.due.is_stopped() {
                    return broken("C03", "it runs with other arguments, or after a stop");
                }
                self.once("P8", "Execute")
            }
            Question::Finalize { outcome, result, .. } => {
                if !self.finalize || self.due.outcome.as_ref() != Some(outcome) {
                    return Err(format!("C11: {outcome:?} is finalized, not {:?}", self.due.outcome));
                }
                let brings = result.as_ref().is_some_and(|result| !result.output.is_empty());
                if self.due.executed && brings {
                    return broken("C11", "output of an execution is in the question");
                }
                self.once("C11", "Finalize")
            }
            Question::Timer { .. } => Ok(()),
            other => Err(format!("C01: a call asks {}", other.kind())),
        }
    }

    fn answered(&mut self, event: &Event, settlement: &Settlement, background: bool) -> Checked {
        if std::mem::replace(&mut self.answered, true) {
            return broken("V13", "answered twice");
        }
        if !background {
            return self.ends(event, settlement);
        }
        let waits = self.due.plan.as_ref().is_some_and(|plan| plan.at_turn_end != AtTurnEnd::GoOn);
        let noted = settlement.result.as_ref().is_some_and(|result| result.note.is_some());
        match () {
            () if !matches!(event, Event::Detached(_))
                || settlement.outcome != Outcome::Ok
                || says(settlement, ACK) != 1 =>
            {
                broken("C08", "the answer of a detached call is not its acknowledgement")
            }
            () if waits != noted => broken("C15", "what the end of the turn means is not told"),
            () => Ok(()),
        }
    }

    /// A settlement that tells how the work ended.
    fn ends(&self, event: &Event, settlement: &Settlement) -> Checked {
        let Settlement { outcome, result, cause } = settlement;
        let due = &self.due;
        if due.outcome.as_ref() != Some(outcome) {
            return Err(format!("V12: it is told to be {outcome:?}, and is {:?}", due.outcome));
        }
        let by_abort =
            matches!(outcome, Outcome::NotStarted { code: SkipCode::Abort } | Outcome::Cancelled { .. });
        // What never ran, and was not finalized in its grace, was stopped by whoever gave the grace.
        let graced = !due.executed && matches!(event, Event::GraceOver | Event::Hurry);
        let stopped_by = if graced { &due.last_cause } else { &due.cause };
        if by_abort && !due.faulted && cause != stopped_by {
            return Err(format!("X01: its cause is {cause:?}, and is {stopped_by:?}"));
        }
        if self.once.contains("Finalize") && matches!(event, Event::Finalized(_)) {
            let stops = result.as_ref().is_some_and(|result| result.stop_turn.is_some());
            if due.stops_turn && outcome.is_ok() && !stops {
                return broken("C11", "the finalizer took a stop back");
            }
        }
        if settlement.is_fatal() && !due.detached && !due.fatal {
            return broken("C09", "a failure is fatal by nobody's word");
        }
        self.output(event, settlement)
    }

    /// With a finalizer, only its own words are told (C11, C12). Without one, a stopped call keeps what it said (X10).
    fn output(&self, event: &Event, settlement: &Settlement) -> Checked {
        let all = settlement.result.as_ref().map_or(0, |result| result.output.len());
        let finalized = if matches!(event, Event::Finalized(_)) { says(settlement, FINAL) } else { 0 };
        match () {
            () if self.finalize && all != finalized => broken("C11", "output that was not finalized is told"),
            () if self.finalize && matches!(event, Event::Finalized(_)) && finalized == 0 => {
                broken("C11", "the finalized result is not told")
            }
            () if !self.finalize && self.due.by_stop && says(settlement, PIECE) != self.due.pieces => {
                broken("X10", "a stopped call does not keep its output")
            }
            () => Ok(()),
        }
    }

    fn end(&mut self, asks: &Outstanding) -> Checked {
        self.ended = true;
        let told = self.once.contains("BackgroundEnded") || self.due.faulted;
        match () {
            () if !self.answered => broken("V13", "ended, and never answered"),
            () if self.due.detached && !told => broken("A20", "the end of a background call is not told"),
            () => match asks.subjects().find(|subject| !matches!(subject, Subject::Execute(_))) {
                Some(left) => Err(format!("E07: {left:?} is left open")),
                None => Ok(()),
            },
        }
    }

    fn once(&mut self, rule: &str, what: &'static str) -> Checked {
        if self.once.insert(what) { Ok(()) } else { Err(format!("{rule}: {what} twice")) }
    }

    /// What holds between any two events.
    pub fn holds(&self, machine: &Machine<Call>, asks: &Outstanding, timeout: bool) -> Checked {
        let id: CallId = machine.data().id;
        let execute = Subject::Execute(id);
        let runs = asks.about(&execute).is_some() && !asks.is_withdrawn(&execute);
        let armed = |timer| asks.about(&Subject::Timer(timer)).is_some();
        let stopped = self.due.is_stopped() && !self.once.contains("Deaf") && !self.ended;
        use machine_core::ask::Timer::{CallTimeout, Grace};
        match () {
            () if self.ended != (*machine.state() == State::Settled) => {
                broken("C01", "settled is answered and ended")
            }
            () if stopped && runs => broken("X03", "a stopped execution is not told to stop"),
            () if armed(CallTimeout(id)) != (timeout && runs) => broken("C10", "the timer of its time"),
            () if armed(Grace(id)) && !stopped => broken("X03", "a grace runs, and nothing is being stopped"),
            () => Ok(()),
        }
    }
}
