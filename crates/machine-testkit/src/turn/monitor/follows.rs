//! What must follow from an event in the same step, and how a turn ends.

use machine_core::ask::Question;
use machine_core::config::{Config, Salvage};
use machine_core::drain::Pending;
use machine_core::event::{EndReason, Event as Report, Sealed, TurnEnd, TurnError};
use machine_core::response::Finish;
use machine_turn::{Event, Signal};

use super::super::step::Fate;

use super::{Monitor, Over, discards};
use crate::explore::{Checked, broken};

impl Monitor {
    /// What must happen in the same step.
    pub(super) fn prompt(&self, event: &Event, signals: &[Signal], config: &Config) -> Checked {
        let ends = |like: fn(&EndReason) -> bool| {
            signals.iter().any(|signal| matches!(signal, Signal::Ended(end) if like(&end.reason)))
        };
        match event {
            Event::Abort(_) | Event::Fault(_) | Event::Crash { .. }
                if self.over.is_some() && !self.batch && !self.ended =>
            {
                broken("X02", "it is stopped, and does not end at once")
            }
            Event::Abort(_)
                if self.tried.has_text() && config.turn.salvage == Salvage::Keep && discards(signals) =>
            {
                broken("M11", "visible text is not salvaged")
            }
            Event::Abort(_) if self.batch && self.is_aborted() => {
                let first =
                    matches!(event, Event::Abort(cause) if self.over == Some(Over::Aborted(cause.clone())));
                let told = signals.iter().any(|signal| matches!(signal, Signal::AbortCalls(_)));
                if told || !first { Ok(()) } else { broken("X03", "the batch is not stopped") }
            }
            Event::Hurry if !signals.contains(&Signal::HurryCalls) => {
                broken("X04", "the batch is not hurried")
            }
            Event::BatchDone { .. } if self.over.is_some() && !self.ended => {
                broken("X03", "the batch is over, and the stopped turn is not")
            }
            Event::BatchDone { .. } if self.fatal && !self.ended => {
                broken("C09", "a fatal call, and the turn goes on")
            }
            Event::Model(piece)
                if !signals.iter().any(
                    |signal| matches!(signal, Signal::Report(Report::Delta { delta, .. }) if delta == piece),
                ) =>
            {
                // Unless the response was too large, which is its end.
                if self.tried.fate() == Fate::Streaming {
                    broken("E05", "a piece is not told")
                } else {
                    Ok(())
                }
            }
            Event::HookFailed(_)
                if !signals
                    .iter()
                    .any(|signal| matches!(signal, Signal::Report(Report::HookFailed { .. }))) =>
            {
                broken("H02", "a failed hook is not told")
            }
            Event::Pending(pending) => self.after_step(*pending, signals, config, ends(|_| true)),
            _ => Ok(()),
        }
    }

    /// What comes after a step (T13): where nothing but what waits decides.
    fn after_step(&self, pending: Pending, signals: &[Signal], config: &Config, ends: bool) -> Checked {
        let plain =
            matches!(self.finish, Some(Finish::EndTurn | Finish::ToolUse)) && !self.repeated && !self.fatal;
        if !plain || config.turn.max_steps.is_some() || config.turn.max_tokens.is_some() {
            return Ok(());
        }
        let asks = |like: fn(&Question) -> bool| {
            signals.iter().any(|signal| matches!(signal, Signal::Ask(question) if like(question)))
        };
        let goes_on = signals.contains(&Signal::Drain);
        let waits = signals.iter().any(|signal| matches!(signal, Signal::Wait { .. }));
        let consults = asks(|question| matches!(question, Question::Stop { .. }));
        let Pending { paused, steered, outside, inside, wait_ms } = pending;
        let (right, rule) = match () {
            () if paused => (ends, "A12: it is paused"),
            () if steered => (goes_on, "T13: a prompt joined it"),
            () if self.stopped_by.is_some() => (ends, "T17: a result stopped it"),
            () if self.called => (goes_on, "T07: the model waits for results"),
            () if outside || inside => (goes_on, "T15: something waits for it"),
            () if wait_ms > 0 && !self.consulted && !self.waited => {
                (waits, "C15: it waits for background calls")
            }
            () if config.ask.stop && !self.consulted => (consults, "T15: the stop hook is asked"),
            () => (ends, "T15: nothing is left to do"),
        };
        if right { Ok(()) } else { Err(format!("{rule}, and that is not what comes")) }
    }

    pub(super) fn end(&mut self, event: &Event, end: &TurnEnd) -> Checked {
        self.ended = true;
        let TurnEnd { reason, steps, usage, truncated, .. } = end;
        let right = match (&self.over, reason) {
            (Some(Over::Aborted(by)), EndReason::Aborted(cause)) => by == cause,
            (Some(Over::Interrupted), EndReason::Interrupted) => true,
            (Some(Over::Faulted), EndReason::Failed(error)) => matches!(**error, TurnError::Faulted(_)),
            (Some(_), _) | (None, EndReason::Aborted(_) | EndReason::Interrupted) => false,
            (None, EndReason::Failed(error)) if self.fatal => matches!(**error, TurnError::FatalCall { .. }),
            (None, EndReason::Failed(error)) => {
                !matches!(**error, TurnError::Faulted(_) | TurnError::FatalCall { .. })
            }
            (None, _) if self.fatal => false,
            (None, reason) => self.repeated == (*reason == EndReason::RepeatLimit),
        };
        let by_user = matches!(reason, EndReason::Aborted(cause) if cause.is_by_user());
        let sealed = match reason {
            EndReason::Aborted(_) => Some(Sealed::Aborted),
            EndReason::Failed(_) => Some(Sealed::Failed),
            EndReason::Interrupted => Some(Sealed::Interrupted),
            _ => None,
        };
        match () {
            () if !right => Err(format!("X08: it ends {reason:?}, and was {:?}, {:?}", self.over, event)),
            () if *usage != self.sum => {
                Err(format!("P13: the turn's usage is {usage:?}, its attempts' {:?}", self.sum))
            }
            () if *steps != self.responses => broken("T18", "its responses are counted wrongly"),
            () if *truncated != self.truncated => broken("T10", "whether a response was cut"),
            () if self.truncated && matches!(reason, EndReason::Completed { .. }) => {
                broken("T10", "completed, though cut")
            }
            () if self.open.is_some() || self.batch => {
                broken("T06", "it ends inside a step, or before its batch")
            }
            () if self.sealed.is_some() && self.sealed != sealed => {
                broken("T06", "a step is sealed for another reason")
            }
            () if by_user != self.marked => broken("X07", "a marker is missing, or too many"),
            () if !self.tried.is_settled() => broken("M02", "the fate of the last attempt is not told"),
            () => Ok(()),
        }
    }
}
