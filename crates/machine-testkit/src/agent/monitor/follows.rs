//! What must follow from an event: in the same step, and from the ends and stops of things.
use machine_agent::state::Back;
use machine_agent::{Event, Signal, State};
use machine_core::config::{AfterAbort, AfterFailure};
use machine_core::event::{DroppedBecause, EndReason, Event as Report, HeldBecause, Receipt};
use machine_core::ids::InputId;
use machine_core::input::Lane;

use super::{Monitor, Taken};
use crate::explore::{Checked, broken};

impl Monitor {
    /// What must come with an event.
    pub(super) fn prompt(&self, step: &Taken<'_>) -> Checked {
        let accepted = |id: &InputId| match step.receipt(id, |receipt| *receipt == Receipt::Accepted) {
            true => Ok(()),
            false => broken("E08", "an input is taken and not accepted"),
        };
        if step.screens() && !self.is_due(step) {
            return broken("A03", "something starts, and nothing wakes");
        }
        if step.screens() && self.inputs.queue.is_empty() && self.inputs.admitted_wakes() {
            return broken("A11", "a turn waits for a verdict on what would not open it");
        }
        match step.event {
            Event::Submit(submit) => accepted(&submit.id)?,
            Event::Notify(note) | Event::Inject(note) => accepted(&note.id)?,
            Event::Remind(reminder) => accepted(&reminder.key)?,
            _ => {}
        }
        let releases = match step.event {
            Event::Submit(submit) => submit.wake,
            Event::Notify(_) | Event::Resume { .. } => true,
            _ => false,
        };
        let joined = matches!(step.event, Event::Submit(submit) if submit.lane == Lane::NextStep);
        let joins =
            joined || matches!(step.event, Event::Steer(_) | Event::Screened(..) | Event::Replace(..));
        let after = step.after.state();
        match () {
            () if releases && self.held => broken("A14", "what is held is not released"),
            () if joins
                && step.was(|state| matches!(state, State::Active(_)))
                && self.inputs.has_joined()
                && !step.signals.contains(&Signal::CutCalls) =>
            {
                broken("C14", "a prompt joined, and nothing is cut")
            }
            () if *step.event == Event::Drain && self.inputs.is_left_over() => {
                broken("A02", "a drain leaves something behind")
            }
            () if step.resumes().is_some()
                && self.inputs.pending().any(|id| self.inputs.get(id).is_some_and(|i| !i.is_reminder()))
                && !matches!(after, State::Active(_) | State::Screening(_)) =>
            {
                broken("A12", "resumed, and what waits does not start")
            }
            () if step.resumes() == Some(true) && !step.starts() => {
                broken("A12", "resumed, and what is unanswered does not go on")
            }
            () if step.leaves_screening() => {
                broken("A11", "what would open a turn waits for its verdict, and the agent does not")
            }
            () => Ok(()),
        }
    }

    /// What the ends and stops of things must lead to.
    pub(super) fn answers(&mut self, step: &Taken<'_>) -> Checked {
        let state = step.before.state();
        match step.event {
            Event::Abort(cause) => match state {
                State::Active(_) if !step.signals.contains(&Signal::AbortTurn(cause.clone())) => {
                    broken("X01", "the turn is not stopped")
                }
                State::Active(_)
                    if step.config.inbox.after_abort == AfterAbort::GiveBack
                        && self.inputs.pending().next().is_some() =>
                {
                    broken("A15", "what waits is not given back")
                }
                State::Aborting(_) | State::Closing(Some(_))
                    if !step.signals.contains(&Signal::HurryTurn) =>
                {
                    broken("X04", "the turn is not hurried")
                }
                State::Closing(_) if !step.signals.contains(&Signal::HurryLingering) => {
                    broken("X04", "background calls are not hurried")
                }
                State::Screening(id)
                    if !step.receipt(id, |receipt| {
                        matches!(receipt, Receipt::Dropped(DroppedBecause::Aborted))
                    }) =>
                {
                    broken("A13", "the prompt that is screened is not dropped")
                }
                State::Maintaining(_) if self.editing => broken("A13", "maintenance is not stopped"),
                _ => Ok(()),
            },
            Event::Close if matches!(state, State::Faulted { .. } | State::Closing(_) | State::Closed) => {
                Ok(())
            }
            Event::Close => match () {
                () if !step.has(|signal| matches!(signal, Signal::CancelLingering(_))) => {
                    broken("A19", "background calls are not cancelled")
                }
                () if self.turn.is_some() && !step.has(|signal| matches!(signal, Signal::AbortTurn(_))) => {
                    broken("A19", "the turn is not stopped")
                }
                () => Ok(()),
            },
            Event::Fault { .. } if *state == State::Closed => Ok(()),
            Event::Fault { .. } if !matches!(state, State::Faulted { .. }) => {
                match step.has(|signal| matches!(signal, Signal::FaultWork(_))) {
                    true => Ok(()),
                    false => broken("A22", "work goes on after a fault"),
                }
            }
            Event::Fault { check: false, .. }
                if !matches!(step.after.state(), State::Faulted { check: false, .. }) =>
            {
                broken("J10", "a journal that cannot be written is not the graver fault")
            }
            Event::Resume { unanswered }
                if matches!(state, State::Maintaining(Back::Idle | Back::Held(_)))
                    && *step.after.state() != State::Maintaining(Back::Resume(*unanswered)) =>
            {
                broken("A12", "`resume` is not remembered during maintenance")
            }
            Event::TurnEnded(end) if state.active().is_some() => self.turn_over(step, &end.reason),
            Event::Crash { alive: false } if self.turn.is_none() && !self.held && !self.faulted => {
                broken("J05", "reopened, and what waits is not held")
            }
            Event::Maintain if !self.editing => broken("A17", "maintenance does not begin"),
            _ => Ok(()),
        }
    }

    /// What waits after a turn (A14, A15).
    fn turn_over(&mut self, step: &Taken<'_>, reason: &EndReason) -> Checked {
        let inbox = &step.config.inbox;
        let shut = self.closing || self.faulted;
        let due = match reason {
            _ if std::mem::take(&mut self.reopened) => Some(HeldBecause::Reopened),
            EndReason::Failed(_) if inbox.after_failure == AfterFailure::Hold => Some(HeldBecause::Failed),
            EndReason::Aborted(_) if inbox.after_abort == AfterAbort::Hold => Some(HeldBecause::Aborted),
            _ => None,
        };
        let due = due.filter(|_| !shut);
        let told = step.signals.iter().find_map(|signal| match signal {
            Signal::Report(Report::Held { why }) => Some(*why),
            _ => None,
        });
        match () {
            () if told != due => Err(format!("A14: held because of {told:?}, and it is {due:?}")),
            () if !self.inputs.all_told() && !step.has(|signal| matches!(signal, Signal::StartTurn(_))) => {
                broken("E08", "a prompt is not told the end of its turn")
            }
            () if told.is_some()
                && self
                    .inputs
                    .pending()
                    .any(|id| !step.receipt(id, |receipt| matches!(receipt, Receipt::Held(_)))) =>
            {
                broken("E08", "what is held is not told")
            }
            () => Ok(()),
        }
    }
}
