//! How a step begins, receives its response and ends: what the rows do.
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem::take;

use machine_core::Text;
use machine_core::ask::{Cause, HookError, Proceed, Question, Timer};
use machine_core::canary::Canary;
use machine_core::config::Salvage;
use machine_core::drain::Pending;
use machine_core::event::{AttemptEnd, EndReason, Event as Report, Sealed, TurnEnd};
use machine_core::ids::CallId;
use machine_core::message::{Part, Said};
use machine_core::response::{Failure, Finished, ModelError, ModelEvent};
use machine_core::usage::Usage;
use statig::Outcome::{self, Handled, Super, Transition};

use crate::after_step::{Next, resets_budget};
use crate::attempt::{Added, Attempt};
use crate::event::{Ctx, Signal};
use crate::judge::Verdict;
use crate::state::{Head, State, Then, Tries, Turn};

impl Turn {
    /// The next step: through the gate, if there is one.
    pub(crate) fn begin_step(&mut self, ctx: &mut Ctx<'_>) -> Outcome<State> {
        self.step += 1;
        self.tries = Tries::default();
        self.waited = false;
        self.head = Head::of(&ctx.config.request);
        if let Some(with) = &self.for_turn {
            self.head.overlay(with);
        }
        if ctx.config.ask.gate {
            return Transition(State::Gating);
        }
        self.open_step(ctx)
    }

    /// The gate lets it begin (T02).
    pub(crate) fn proceed(&mut self, ctx: &mut Ctx<'_>, with: &Proceed) -> Outcome<State> {
        self.head.overlay(with);
        let messages = saying(&with.messages);
        if !messages.is_empty() {
            ctx.send(Signal::Gate(messages));
        }
        self.open_step(ctx)
    }

    fn open_step(&mut self, ctx: &mut Ctx<'_>) -> Outcome<State> {
        self.head.relax(self.called, self.closing);
        self.step_open = true;
        ctx.report(Report::StepStarted { step: self.step_id() });
        self.tries.serial = 1;
        Transition(State::Requesting(Attempt::new(ctx.now)))
    }

    /// One model event. One that fits nothing changes nothing.
    pub(crate) fn receive(
        &mut self,
        ctx: &mut Ctx<'_>,
        attempt: &mut Attempt,
        event: &ModelEvent,
        first: bool,
    ) -> Outcome<State> {
        match attempt.add(event, &ctx.config.turn, ctx.now) {
            Added::Stray => return Super,
            Added::TooLarge => {
                let error =
                    ModelError::new(Failure::TooLarge, "the response is larger than `turn.response_bytes`");
                return self.failed(ctx, take(attempt), &Arc::new(error));
            }
            Added::Yes => ctx.report(Report::Delta { attempt: self.attempt_id(), delta: event.clone() }),
        }
        if first { Transition(State::Receiving(take(attempt))) } else { Handled }
    }

    /// The response is complete. Usage is booked before any call runs (U01).
    pub(crate) fn finished(
        &mut self,
        ctx: &mut Ctx<'_>,
        mut attempt: Attempt,
        end: &Finished,
    ) -> Outcome<State> {
        let Finished { finish, raw, usage, first_token_ms } = end.clone();
        attempt.usage = usage.or(attempt.usage);
        let verdict = self.judge(&attempt, finish, &ctx.config.turn);
        if verdict == Verdict::Empty {
            return self.empty(ctx, attempt);
        }
        self.book(ctx, &attempt, AttemptEnd::Finished { finish, raw, first_token_ms }, attempt.usage);
        self.responses += 1;
        match verdict {
            Verdict::Empty => unreachable!("T11: an empty response is a failed attempt"),
            Verdict::End(reason) => self.discard(ctx).end(ctx, reason),
            Verdict::Commit { skip, then } => {
                let calls = attempt.has_calls();
                self.called |= calls;
                ctx.send(Signal::Respond(attempt.assemble(skip, &ctx.config.turn)));
                if calls { Transition(State::Running(then)) } else { self.step_done(ctx, then, None) }
            }
        }
    }

    /// No model event for too long is a failure; else the timer is set for the rest (M13).
    pub(crate) fn idle(&mut self, ctx: &mut Ctx<'_>, attempt: &mut Attempt) -> Outcome<State> {
        let limit = ctx.config.turn.stream_idle_ms;
        let quiet = ctx.now.saturating_sub(attempt.heard);
        if quiet < limit {
            self.arm_idle(ctx, limit - quiet);
            return Handled;
        }
        let error = ModelError::new(Failure::Timeout, "no model event for `turn.stream_idle_ms`");
        self.failed(ctx, take(attempt), &Arc::new(error))
    }

    pub(crate) fn arm_idle(&self, ctx: &mut Ctx<'_>, ms: u64) {
        if ctx.config.turn.stream_idle_ms > 0 {
            let timer = Timer::StreamIdle(self.attempt_id());
            ctx.send(Signal::Ask(Question::Timer { timer, ms }));
        }
    }

    /// The step is over; what waits decides what comes next.
    pub(crate) fn step_done(
        &mut self,
        ctx: &mut Ctx<'_>,
        then: Then,
        stopped_by: Option<(CallId, Text)>,
    ) -> Outcome<State> {
        self.close_step(ctx, None);
        Transition(State::Draining { then, stopped_by, consulted: false })
    }

    /// Carries out what was decided after a step.
    pub(crate) fn go_on(
        &mut self,
        ctx: &mut Ctx<'_>,
        then: &Then,
        stopped_by: Option<&(CallId, Text)>,
        consulted: bool,
        pending: Pending,
    ) -> Outcome<State> {
        match self.after_step(then, stopped_by, consulted, pending, ctx.config) {
            Next::End(reason) => self.end(ctx, reason),
            Next::Wait(ms) => Transition(State::Waiting { ms }),
            Next::Consult => Transition(State::Stopping),
            Next::Close => {
                self.closing = true;
                ctx.send(Signal::Drain);
                self.begin_step(ctx)
            }
            Next::Step => {
                if resets_budget(&ctx.config.turn, pending) {
                    self.budget_from = self.responses;
                }
                if pending.steered || pending.outside {
                    self.continued = 0;
                }
                ctx.send(Signal::Drain);
                self.begin_step(ctx)
            }
        }
    }

    /// The stop hook wants to go on: its messages wait for the next step, unless it was overruled (T16).
    pub(crate) fn continued(&mut self, ctx: &mut Ctx<'_>, messages: &[Said]) -> Outcome<State> {
        let messages = saying(messages);
        if messages.is_empty() {
            let why = "the stop hook continues without a message";
            let error = HookError::new(machine_core::ask::HookFailure::Failed, why);
            return self.hook_failed(ctx, "Stop", &error).look_again();
        }
        if self.continued >= ctx.config.turn.stop_hook {
            ctx.report(Report::HookOverruled { turn: self.id });
            return self.look_again();
        }
        self.continued += 1;
        ctx.send(Signal::Continue(messages));
        self.look_again()
    }

    /// Looks again at what waits, after a wait for background calls.
    pub(crate) fn stirred(&mut self) -> Outcome<State> {
        Transition(State::Draining { then: Then::Final, stopped_by: None, consulted: false })
    }

    /// The time is up: they go on in the background (C15).
    pub(crate) fn wait_over(&mut self) -> Outcome<State> {
        self.waited = true;
        self.stirred()
    }

    /// What waits is looked at again after the stop hook, in the same `handle` (T15).
    pub(crate) fn look_again(&mut self) -> Outcome<State> {
        Transition(State::Draining { then: Then::Final, stopped_by: None, consulted: true })
    }

    /// An attempt ended: its cost is known or counted as unknown (U02).
    pub(crate) fn book(
        &mut self,
        ctx: &mut Ctx<'_>,
        attempt: &Attempt,
        end: AttemptEnd,
        usage: Option<Usage>,
    ) {
        self.usage.book(usage);
        let request_id = attempt.request_id.clone();
        ctx.report(Report::AttemptEnded { attempt: self.attempt_id(), end, usage, request_id });
    }

    /// The request is given up; leaving the state takes it back.
    pub(crate) fn cancel(&mut self, ctx: &mut Ctx<'_>, attempt: &Attempt) -> &mut Self {
        self.book(ctx, attempt, AttemptEnd::Cancelled, attempt.usage);
        self
    }

    /// Visible text so far stays, unless it shall not; everything else goes (M11).
    pub(crate) fn salvage(&mut self, ctx: &mut Ctx<'_>, attempt: Attempt) -> &mut Self {
        let keep = ctx.config.turn.salvage == Salvage::Keep;
        match keep.then(|| attempt.salvage()).flatten() {
            Some(content) => ctx.send(Signal::Salvage(content)),
            None => return self.discard(ctx),
        }
        self
    }

    /// What the attempt streamed is void (M02).
    pub(crate) fn discard(&mut self, ctx: &mut Ctx<'_>) -> &mut Self {
        ctx.report(Report::AttemptDiscarded { attempt: self.attempt_id() });
        self
    }

    pub(crate) fn hook_failed(
        &mut self,
        ctx: &mut Ctx<'_>,
        question: &'static str,
        error: &Arc<HookError>,
    ) -> &mut Self {
        ctx.report(Report::HookFailed { question: question.into(), error: error.clone() });
        self
    }

    pub(crate) fn aborted(&mut self, ctx: &mut Ctx<'_>, cause: &Arc<Cause>) -> Outcome<State> {
        self.end(ctx, EndReason::Aborted(cause.clone()))
    }

    /// The one way out: the open step is sealed, a user's abort leaves its marker, the end is told (T06, T18, X07).
    pub(crate) fn end(&mut self, ctx: &mut Ctx<'_>, reason: EndReason) -> Outcome<State> {
        let (sealed, marker) = match &reason {
            EndReason::Aborted(cause) => (Some(Sealed::Aborted), cause.is_by_user()),
            EndReason::Failed(_) => (Some(Sealed::Failed), false),
            EndReason::Interrupted => (Some(Sealed::Interrupted), false),
            _ => (None, false),
        };
        if !(sealed == Some(Sealed::Failed) && Canary::FailedStepStaysOpen.is_planted()) {
            self.close_step(ctx, sealed);
        }
        if marker {
            ctx.send(Signal::Marker);
        }
        let Self { id: turn, responses: steps, usage, truncated, .. } = *self;
        Transition(State::Ended(TurnEnd { turn, reason, steps, usage, truncated, returned: Vec::new() }))
    }

    fn close_step(&mut self, ctx: &mut Ctx<'_>, sealed: Option<Sealed>) {
        if self.step_open {
            self.step_open = false;
            ctx.report(Report::StepEnded { step: self.step_id(), sealed });
        }
    }
}

/// Messages that say something; a blank one is none.
fn saying(messages: &[Said]) -> Vec<Said> {
    messages.iter().filter(|said| said.content.iter().any(Part::is_visible)).cloned().collect()
}
