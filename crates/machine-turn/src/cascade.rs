//! What a failed attempt leads to: a recovery, a retry, or the end (M03).
use alloc::sync::Arc;

use machine_core::ask::{Proceed, Question, Recovery, Remedy, Timer};
use machine_core::canary::Canary;
use machine_core::event::{AttemptEnd, EndReason, Event as Report, TurnError};
use machine_core::response::{Failure, ModelError};
use statig::Outcome::{self, Transition};

use crate::attempt::Attempt;
use crate::backoff;
use crate::event::{Ctx, Signal};
use crate::state::{State, Turn};

impl Turn {
    /// The attempt failed: it is booked, and the host is asked first.
    pub(crate) fn failed(
        &mut self,
        ctx: &mut Ctx<'_>,
        mut attempt: Attempt,
        error: &Arc<ModelError>,
    ) -> Outcome<State> {
        attempt.request_id = attempt.request_id.or_else(|| error.request_id.clone());
        self.book(ctx, &attempt, AttemptEnd::Failed(error.clone()), error.usage.or(attempt.usage));
        self.tries.failures += 1;
        if Canary::FailureCostsTwice.is_planted() {
            self.usage.book(error.usage.or(attempt.usage));
        }
        if ctx.config.ask.recover && self.tries.recoveries < ctx.config.turn.recoveries {
            return Transition(State::Recovering { attempt, error: error.clone() });
        }
        self.retry_or_fail(ctx, attempt, error)
    }

    /// An empty response: asked again, with its own count (T11).
    pub(crate) fn empty(&mut self, ctx: &mut Ctx<'_>, attempt: Attempt) -> Outcome<State> {
        let error = Arc::new(ModelError::new(Failure::Empty, "the response has neither text nor calls"));
        self.book(ctx, &attempt, AttemptEnd::Failed(error.clone()), attempt.usage);
        self.tries.empty += u32::from(!Canary::EmptyIsNotCounted.is_planted());
        if self.tries.empty > ctx.config.turn.empty {
            let tries = self.tries.empty;
            return self.fail(ctx, TurnError::EmptyResponse { tries });
        }
        let (count, limit) = (self.tries.empty, ctx.config.turn.empty);
        self.wait(
            ctx,
            attempt,
            &error,
            (count, limit),
            backoff::delay(&ctx.config.retry, count, self.attempt_id()),
        )
    }

    /// The host's answer (M08). A strategy that brings no progress is used once per step.
    pub(crate) fn recovered(
        &mut self,
        ctx: &mut Ctx<'_>,
        attempt: Attempt,
        error: &Arc<ModelError>,
        answer: &Recovery,
    ) -> Outcome<State> {
        match answer {
            Recovery::Decline => self.retry_or_fail(ctx, attempt, error),
            Recovery::End(own) => {
                let attempt = self.attempt_id();
                self.fail(ctx, TurnError::Model { error: own.clone(), attempt })
            }
            Recovery::Retry(remedy) => {
                if !self.accepts(ctx, remedy) {
                    return self.retry_or_fail(ctx, attempt, error);
                }
                // An overflow is never sent again as it is (M09): without progress or another request, what else?
                if error.kind == Failure::ContextOverflow && !remedy.progress && remedy.instead.is_none() {
                    self.tries.futile += 1;
                    let limits = &ctx.config.turn;
                    if self.tries.futile >= limits.compactions || self.tries.recoveries >= limits.recoveries {
                        return self.retry_or_fail(ctx, attempt, error);
                    }
                    return Transition(State::Recovering { attempt, error: error.clone() });
                }
                self.tries.failures = 0;
                self.request_again(ctx)
            }
        }
    }

    /// Books a remedy, and takes it over unless its strategy was used up in this step.
    fn accepts(&mut self, ctx: &mut Ctx<'_>, remedy: &Remedy) -> bool {
        let Remedy { strategy, progress, instead, for_turn, usage } = remedy;
        self.tries.recoveries += 1;
        let (attempt, usage) = (self.attempt_id(), *usage);
        ctx.report(Report::Remedied { attempt, strategy: strategy.clone(), usage });
        if usage.is_some() {
            self.usage.book(usage);
        }
        let spent = self.tries.spent.contains(strategy);
        if !self.tries.strategies.contains(strategy) {
            self.tries.strategies.push(strategy.clone());
        }
        if !progress && !spent {
            self.tries.spent.push(strategy.clone());
        }
        if spent && !progress {
            return false;
        }
        if let Some(instead) = instead {
            self.head.overlay(instead);
            self.head.relax(self.called, self.closing);
            if *for_turn {
                let before = self.for_turn.take().map(Arc::unwrap_or_clone).unwrap_or_default();
                self.for_turn = Some(Arc::new(merged(before, instead)));
            }
        }
        true
    }

    /// Without a recovery: again after a wait, or the end.
    pub(crate) fn retry_or_fail(
        &mut self,
        ctx: &mut Ctx<'_>,
        attempt: Attempt,
        error: &Arc<ModelError>,
    ) -> Outcome<State> {
        let (retry, failures) = (&ctx.config.retry, self.tries.failures);
        if error.kind == Failure::ContextOverflow {
            return self.fail(ctx, TurnError::ContextOverflow { error: error.clone() });
        }
        if !error.kind.is_retryable() || failures >= retry.attempts {
            let attempt = self.attempt_id();
            return self.fail(ctx, TurnError::Model { error: error.clone(), attempt });
        }
        let delay = match error.retry_after_ms {
            Some(asked) if asked > retry.retry_after_cap_ms => {
                return self
                    .fail(ctx, TurnError::RateLimited { retry_after_ms: asked, error: error.clone() });
            }
            Some(asked) => asked,
            None => backoff::delay(retry, failures, self.attempt_id()),
        };
        let count = (failures, retry.attempts - 1);
        self.wait(ctx, attempt, error, count, delay)
    }

    /// `Retrying` is reported before the wait (M07). `next` of at most `max` tries follows.
    fn wait(
        &mut self,
        ctx: &mut Ctx<'_>,
        attempt: Attempt,
        error: &Arc<ModelError>,
        (next, max): (u32, u32),
        delay_ms: u64,
    ) -> Outcome<State> {
        let failed = self.attempt_id();
        ctx.report(Report::Retrying { failed, next, max, delay_ms, error: error.clone() });
        let timer = Timer::Backoff(self.step_id());
        ctx.send(Signal::Ask(Question::Timer { timer, ms: delay_ms }));
        Transition(State::Backoff(attempt))
    }

    /// The next attempt of the same step; what the last one streamed is void (M02).
    pub(crate) fn request_again(&mut self, ctx: &mut Ctx<'_>) -> Outcome<State> {
        self.discard(ctx);
        self.tries.serial += 1;
        Transition(State::Requesting(Attempt::new(ctx.now)))
    }

    /// The step cannot be had; the failed attempt goes with it (M02).
    pub(crate) fn fail(&mut self, ctx: &mut Ctx<'_>, error: TurnError) -> Outcome<State> {
        self.discard(ctx);
        self.end(ctx, EndReason::Failed(Arc::new(error)))
    }
}

/// What a later remedy leaves out stays as an earlier one set it.
fn merged(before: Proceed, later: &Proceed) -> Proceed {
    let Proceed { tools, system, settings, messages: _ } = later.clone();
    Proceed {
        tools: tools.or(before.tools),
        system: system.or(before.system),
        settings: settings.or(before.settings),
        messages: before.messages,
    }
}
