//! The safety monitor of a turn: it sees every event that the machine took and every signal that came of it.
use std::sync::Arc;

use machine_core::Text;
use machine_core::ask::{Cause, Gated, Question, Recovery, StopVerdict, Timer};
use machine_core::config::{AtStepLimit, Config};
use machine_core::drain::Pending;
use machine_core::event::{AttemptEnd, Event as Report, Sealed};
use machine_core::ids::{CallId, StepId};
use machine_core::response::{Failure, Finish};
use machine_core::usage::UsageSum;
use machine_turn::{Event, Signal};

use super::step::Tried;
use crate::explore::{Checked, broken};

mod follows;
mod holds;

/// What was seen of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Monitor {
    /// The last step that was asked for or begun.
    last: u32,
    gate: Gate,
    open: Option<StepId>,
    sealed: Option<Sealed>,
    tried: Tried,
    sum: UsageSum,
    responses: u32,
    budget_from: u32,
    truncated: bool,
    finish: Option<Finish>,
    /// Continuations of the stop hook since the last input from outside.
    continued: u32,
    /// Whether calls of the last response are open, or were.
    batch: bool,
    called: bool,
    stopped_by: Option<(CallId, Text)>,
    fatal: bool,
    repeated: bool,
    consulted: bool,
    waited: bool,
    /// Who or what ended it.
    over: Option<Over>,
    marked: bool,
    ended: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Gate {
    #[default]
    Unasked,
    Asked,
    Passed,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Over {
    Aborted(Arc<Cause>),
    Interrupted,
    Faulted,
}

impl Monitor {
    /// Whether calls are open.
    pub fn has_batch(&self) -> bool {
        self.batch
    }

    /// Whether the turn was aborted.
    pub fn is_aborted(&self) -> bool {
        matches!(self.over, Some(Over::Aborted(_)))
    }

    /// An event that the machine ignored.
    pub fn ignored(&self, event: &Event) -> Checked {
        match event {
            _ if self.ended => Ok(()),
            Event::Abort(_) => broken("X02", "an abort is not heard"),
            Event::Fault(_) => broken("A22", "a fault is not heard"),
            Event::Crash { .. } if self.over.is_none() => broken("J05", "a crash is not heard"),
            Event::Hurry if self.batch && self.is_aborted() => broken("X04", "a second stop is not heard"),
            Event::FatalCall(_) if self.batch && self.over.is_none() => {
                broken("C09", "a fatal call is not heard")
            }
            _ => Ok(()),
        }
    }

    /// An event that the machine took, and what came of it.
    pub fn taken(&mut self, event: &Event, signals: &[Signal], config: &Config) -> Checked {
        if self.ended {
            return broken("T20", "an event is taken after the end");
        }
        self.note(event)?;
        for (at, signal) in signals.iter().enumerate() {
            self.signal(event, &signals[..at], signal, config)?;
        }
        self.prompt(event, signals, config)
    }

    fn note(&mut self, event: &Event) -> Checked {
        match event {
            Event::Gated(Gated::Proceed(_)) => self.gate = Gate::Passed,
            Event::Finished(end) => {
                self.truncated |= end.finish == Finish::MaxTokens;
                self.finish = Some(end.finish);
            }
            Event::Recovered(Recovery::Retry(_)) => self.tried.recoveries += 1,
            Event::BatchDone { stopped_by } => {
                if !std::mem::take(&mut self.batch) {
                    return broken("B09", "a batch is over that never began");
                }
                self.stopped_by = stopped_by.clone();
            }
            Event::Repeated => self.repeated = true,
            Event::FatalCall(_) => self.fatal = true,
            Event::WaitOver => self.waited = true,
            Event::Stopped(_) => self.consulted = true,
            Event::HookFailed(_) if self.open.is_none() && self.last > 0 => self.consulted = true,
            Event::Stirred => self.consulted = false,
            Event::Abort(cause) if self.over.is_none() => self.over = Some(Over::Aborted(cause.clone())),
            Event::Crash { waiting: false } if self.over.is_none() => self.over = Some(Over::Interrupted),
            // A call that waits for an approval outlives the process, and its turn with it.
            Event::Crash { waiting: true } if self.over.is_none() && !self.batch => {
                self.over = Some(Over::Interrupted)
            }
            Event::Fault(_) => self.over = Some(Over::Faulted),
            _ => {}
        }
        Ok(())
    }

    fn signal(&mut self, event: &Event, before: &[Signal], signal: &Signal, config: &Config) -> Checked {
        if self.ended {
            return Err(format!("T18: {signal:?} after the end"));
        }
        if self.over.is_some() && goes_on(signal) {
            return Err(format!("P4: {signal:?} after {:?}", self.over));
        }
        match signal {
            Signal::Ask(question) => self.asked(before, question, config),
            Signal::Withdraw(_) => Ok(()),
            Signal::Request(attempt) => {
                let in_step = self.open == Some(attempt.step()) && !self.batch;
                if !in_step {
                    broken("T05", "an attempt outside its step")
                } else {
                    self.tried.request(*attempt, config)
                }
            }
            Signal::Gate(messages) => {
                let passed = self.gate == Gate::Passed && self.open.is_none() && !messages.is_empty();
                if passed { Ok(()) } else { broken("T14", "the gate's messages are out of place") }
            }
            Signal::Respond(response) => {
                let calls = self.tried.respond(response)?;
                (self.batch, self.called) = (calls > 0, calls > 0);
                (self.stopped_by, self.fatal, self.repeated) = (None, false, false);
                (self.consulted, self.waited) = (false, false);
                Ok(())
            }
            Signal::Salvage(content) => {
                if !self.is_aborted() {
                    return broken("M11", "salvaged without an abort");
                }
                self.tried.salvage(content)
            }
            Signal::Marker => {
                let by_user = matches!(&self.over, Some(Over::Aborted(cause)) if cause.is_by_user());
                if by_user && !std::mem::replace(&mut self.marked, true) {
                    Ok(())
                } else {
                    broken("X07", "a marker out of place")
                }
            }
            Signal::Look => {
                if self.batch || self.open.is_some() {
                    broken("B09", "it looks before the step is over")
                } else {
                    Ok(())
                }
            }
            Signal::Drain => self.drains(event),
            Signal::Wait { ms } => match event {
                Event::Pending(Pending { wait_ms, .. }) if wait_ms == ms && *ms > 0 => Ok(()),
                _ => broken("C15", "it waits for nothing"),
            },
            Signal::Continue(messages) => {
                self.continued += 1;
                let asked = matches!(event, Event::Stopped(StopVerdict::Continue(_))) && !messages.is_empty();
                let allowed = self.continued <= config.turn.stop_hook;
                if asked && allowed { Ok(()) } else { broken("T16", "it continues, and may not") }
            }
            Signal::AbortCalls(cause) => match &self.over {
                Some(Over::Aborted(first)) if first == cause && self.batch => Ok(()),
                _ => broken("X03", "calls are stopped out of place"),
            },
            Signal::HurryCalls => {
                let due = *event == Event::Hurry && self.batch && self.is_aborted();
                if due { Ok(()) } else { broken("X04", "calls are hurried out of place") }
            }
            Signal::Ended(end) => self.end(event, end),
            Signal::Report(report) => self.report(event, report, config),
        }
    }

    fn asked(&mut self, before: &[Signal], question: &Question, config: &Config) -> Checked {
        match question {
            Question::Gate { step } => {
                if step.step != self.last + 1 || self.open.is_some() || !config.ask.gate {
                    return broken("T02", "a gate that is not the next step's, or was asked before");
                }
                self.last = step.step;
                self.gate = Gate::Asked;
                Ok(())
            }
            Question::Recover { attempt, error, .. } => {
                let may = config.ask.recover && self.tried.recoveries < config.turn.recoveries;
                if may && self.tried.has_failed(*attempt, error.kind) {
                    Ok(())
                } else {
                    broken("M08", "a recovery out of place")
                }
            }
            Question::Stop { .. } if self.open.is_some() || self.batch || !config.ask.stop => {
                broken("T15", "the stop hook is asked out of place")
            }
            Question::Timer { timer: Timer::Backoff(step), ms } => {
                let told = before.iter().any(|signal| {
                    matches!(signal, Signal::Report(Report::Retrying { delay_ms, .. }) if delay_ms == ms)
                });
                if told && self.open == Some(*step) {
                    Ok(())
                } else {
                    broken("M07", "a wait that is not told")
                }
            }
            Question::Timer { timer: Timer::StreamIdle(attempt), .. }
                if self.tried.current() != Some(*attempt) =>
            {
                broken("M13", "another attempt's silence is watched")
            }
            Question::Stop { .. } | Question::Timer { timer: Timer::StreamIdle(_), .. } => Ok(()),
            other => Err(format!("T01: a turn asks {}", other.kind())),
        }
    }

    fn drains(&mut self, event: &Event) -> Checked {
        let Event::Pending(pending) = event else { return broken("T14", "a drain out of place") };
        if pending.paused {
            return broken("A12", "a drain after a pause");
        }
        if pending.steered {
            self.budget_from = self.responses;
        }
        if pending.steered || pending.outside {
            self.continued = 0;
        }
        Ok(())
    }

    fn report(&mut self, event: &Event, report: &Report, config: &Config) -> Checked {
        match report {
            Report::StepStarted { step } => self.step_started(*step, config),
            Report::StepEnded { step, sealed } => {
                self.sealed = *sealed;
                let right = self.open.take() == Some(*step) && !self.batch;
                if right {
                    Ok(())
                } else {
                    broken("T06", "a step ends that is not open, or before its batch")
                }
            }
            Report::AttemptEnded { attempt, end, usage, .. } => {
                if *usage != self.tried.cost(event) {
                    return Err(format!(
                        "U02: {attempt} costs {usage:?}, and was said to cost {:?}",
                        self.tried.cost(event)
                    ));
                }
                self.sum.book(*usage);
                self.responses += u32::from(matches!(end, AttemptEnd::Finished { .. }));
                if matches!(end, AttemptEnd::Cancelled) && self.over.is_none() {
                    return broken("X08", "an attempt is cancelled by nobody");
                }
                self.tried.end(*attempt, end)
            }
            Report::AttemptDiscarded { attempt } => self.tried.discard(*attempt),
            Report::Retrying { failed, next, max, delay_ms, error } => {
                let right = self.tried.has_failed(*failed, error.kind) && next <= max;
                let waits = error
                    .retry_after_ms
                    .is_none_or(|ms| ms == *delay_ms && ms <= config.retry.retry_after_cap_ms);
                if right && waits { Ok(()) } else { broken("M06", "a wait that is not due, or not so long") }
            }
            Report::Remedied { usage, .. } => match event {
                Event::Recovered(Recovery::Retry(remedy)) if remedy.usage == *usage => {
                    if usage.is_some() {
                        self.sum.book(*usage);
                    }
                    Ok(())
                }
                _ => broken("M08", "a remedy out of place"),
            },
            Report::Delta { attempt, delta } => match event {
                Event::Model(piece) if piece == delta => self.tried.stream(*attempt, delta),
                _ => broken("E05", "a delta that the model did not send"),
            },
            Report::HookFailed { .. } => match event {
                Event::HookFailed(_) | Event::Stopped(StopVerdict::Continue(_)) => Ok(()),
                _ => broken("H02", "a hook failed that did not"),
            },
            Report::HookOverruled { .. } if self.continued >= config.turn.stop_hook => Ok(()),
            Report::HookOverruled { .. } => broken("T16", "the stop hook is overruled too early"),
            other => Err(format!("E06: a turn reports {other:?}")),
        }
    }

    fn step_started(&mut self, step: StepId, config: &Config) -> Checked {
        let (due, passed) = match config.ask.gate {
            true => (self.last, self.gate == Gate::Passed),
            false => (self.last + 1, true),
        };
        if step.step != due || !passed || self.open.is_some() {
            return broken("T05", "a step begins out of order, or before its gate");
        }
        let closing = u32::from(config.turn.at_step_limit == AtStepLimit::ClosingStep);
        let limit = config.turn.max_steps.map(|max| max.saturating_add(closing));
        if limit.is_some_and(|limit| self.responses - self.budget_from >= limit) {
            return broken("T12", "a step beyond the limit");
        }
        self.last = step.step;
        self.gate = Gate::Unasked;
        self.open = Some(step);
        self.tried = Tried::default();
        Ok(())
    }
}

fn discards(signals: &[Signal]) -> bool {
    signals.iter().any(|signal| matches!(signal, Signal::Report(Report::AttemptDiscarded { .. })))
}

/// Whether a signal makes a turn go on.
fn goes_on(signal: &Signal) -> bool {
    match signal {
        Signal::Ask(_) | Signal::Request(_) | Signal::Gate(_) | Signal::Respond(_) | Signal::Look => true,
        Signal::Drain | Signal::Wait { .. } | Signal::Continue(_) => true,
        Signal::Report(report) => matches!(report, Report::StepStarted { .. } | Report::Retrying { .. }),
        Signal::Withdraw(_) | Signal::Salvage(_) | Signal::Marker | Signal::AbortCalls(_) => false,
        Signal::HurryCalls | Signal::Ended(_) => false,
    }
}

/// Whether a failure may be repeated as it is (M04, M09).
pub(super) fn is_repeatable(kind: Failure) -> bool {
    kind.is_retryable() || kind == Failure::Empty
}
