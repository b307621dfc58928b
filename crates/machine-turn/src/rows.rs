//! One row per transition. The chart and the state × event table made from it are in `docs/charts/turn.*`.
use alloc::sync::Arc;
use core::mem::take;

use machine_core::Text;
use machine_core::ask::{Gated, Question, StopVerdict, Subject, Timer};
use machine_core::canary::Canary;
use machine_core::event::{EndReason, TurnError};
use machine_core::machine::Machine;
use statig::Outcome::{self, Handled, Super, Transition};
use statig::blocking as sm;

use crate::event::{Ctx, Event, Signal};
use crate::state::{Parent, State, Then, Turn};

impl sm::IntoStateMachine for Turn {
    type Event<'e> = Event;
    type Context<'c> = Ctx<'c>;
    type State = State;
    type Superstate<'s> = Parent<'s>;

    fn initial() -> State {
        State::Gating
    }
}

/// Begins a turn: its first step, or its end if it may not take any (T12).
pub fn start(mut turn: Turn, ctx: &mut Ctx<'_>) -> Machine<Turn> {
    let first = match ctx.config.turn.max_steps {
        Some(0) => turn.end(ctx, EndReason::StepLimit),
        _ => turn.begin_step(ctx),
    };
    match first {
        Transition(state) => Machine::start(turn, state, ctx),
        Handled | Super => unreachable!("T01: a turn begins in a state"),
    }
}

impl sm::State<Turn> for State {
    #[rustfmt::skip] // one row per transition
    fn call_handler(&mut self, turn: &mut Turn, event: &Event, ctx: &mut Ctx<'_>) -> Outcome<State> {
        match (self, event) {
            (State::Gating, Event::Gated(Gated::Proceed(with))) => turn.proceed(ctx, with),
            (State::Gating, Event::Gated(Gated::Block(why))) => turn.end(ctx, EndReason::Blocked(why.clone())),
            (State::Gating, Event::HookFailed(error)) => turn.hook_failed(ctx, "Gate", error).end(ctx, EndReason::Failed(Arc::new(TurnError::Gate(error.clone())))),
            (State::Gating, Event::Abort(cause)) => turn.aborted(ctx, cause),
            (State::Gating, Event::Crash { .. }) => turn.end(ctx, EndReason::Interrupted),

            (State::Requesting(attempt), Event::Model(event)) => turn.receive(ctx, attempt, event, true),
            (State::Receiving(attempt), Event::Model(event)) => turn.receive(ctx, attempt, event, false),

            (State::Recovering { attempt, error }, Event::Recovered(answer)) => turn.recovered(ctx, take(attempt), &error.clone(), answer),
            (State::Recovering { attempt, error }, Event::HookFailed(why)) => turn.hook_failed(ctx, "Recover", why).retry_or_fail(ctx, take(attempt), &error.clone()),
            (State::Backoff(_), Event::Abort(_)) if Canary::AbortWaitsForBackoff.is_planted() => Handled,
            (State::Recovering { attempt, .. } | State::Backoff(attempt), Event::Abort(cause)) => turn.salvage(ctx, take(attempt)).aborted(ctx, cause),
            (State::Recovering { .. } | State::Backoff(_), Event::Crash { .. }) => turn.discard(ctx).end(ctx, EndReason::Interrupted),
            (State::Recovering { .. } | State::Backoff(_), Event::Fault(why)) => turn.discard(ctx).end(ctx, faulted(why)),

            (State::Backoff(_), Event::BackoffOver) => turn.request_again(ctx),

            // The batch is answered first; whatever waits, the turn fails then (C09).
            (State::Running(then), Event::FatalCall(error)) => { *then = Then::End(EndReason::Failed(error.clone())); Handled }
            (State::Running(Then::End(reason @ EndReason::Failed(_))), Event::BatchDone { .. }) => turn.end(ctx, reason.clone()),
            (State::Running(then), Event::BatchDone { stopped_by }) => turn.step_done(ctx, then.clone(), stopped_by.clone()),
            (State::Running(then @ (Then::GoOn | Then::Final)), Event::Repeated) => { *then = Then::End(EndReason::RepeatLimit); Handled }
            (State::Running(_), Event::Abort(cause)) => { ctx.send(Signal::AbortCalls(cause.clone())); Transition(State::Aborting(EndReason::Aborted(cause.clone()))) }
            (State::Running(_), Event::Crash { waiting: true }) => Handled,
            (State::Running(_), Event::Crash { waiting: false }) => Transition(State::Aborting(EndReason::Interrupted)),
            (State::Running(_), Event::Fault(why)) => Transition(State::Aborting(faulted(why))),

            (State::Aborting(reason), Event::BatchDone { .. }) => turn.end(ctx, reason.clone()),
            (State::Aborting(EndReason::Aborted(_)), Event::Hurry) => { ctx.send(Signal::HurryCalls); Handled }
            (State::Aborting(EndReason::Aborted(_)), Event::Crash { .. }) => Handled,
            (State::Aborting(_), Event::Fault(why)) => Transition(State::Aborting(faulted(why))),

            (State::Draining { then, stopped_by, consulted }, Event::Pending(pending)) => turn.go_on(ctx, then, stopped_by.as_ref(), *consulted, *pending),

            (State::Waiting { .. }, Event::Stirred) => turn.stirred(),
            (State::Waiting { .. }, Event::WaitOver) => turn.wait_over(),
            (State::Waiting { .. }, Event::Abort(cause)) => turn.aborted(ctx, cause),
            (State::Waiting { .. }, Event::Crash { .. }) => turn.end(ctx, EndReason::Interrupted),

            (State::Stopping, Event::Stopped(StopVerdict::End)) => turn.look_again(),
            (State::Stopping, Event::Stopped(StopVerdict::Continue(messages))) => turn.continued(ctx, messages),
            (State::Stopping, Event::HookFailed(error)) => turn.hook_failed(ctx, "Stop", error).look_again(),
            (State::Stopping, Event::Abort(cause)) => turn.aborted(ctx, cause),
            (State::Stopping, Event::Crash { .. }) => turn.end(ctx, EndReason::Interrupted),

            (State::Ended(_), event) => ignored(event),
            _ => Super,
        }
    }

    fn call_entry_action(&mut self, turn: &mut Turn, ctx: &mut Ctx<'_>) {
        match self {
            State::Gating => ctx.send(Signal::Ask(Question::Gate { step: turn.step_id() })),
            State::Requesting(_) => {
                let attempt = turn.attempt_id();
                ctx.send(Signal::Request(attempt));
                turn.arm_idle(ctx, ctx.config.turn.stream_idle_ms);
            }
            State::Recovering { error, .. } => {
                let (attempt, error, tried) =
                    (turn.attempt_id(), error.clone(), turn.tries.strategies.clone().into());
                ctx.send(Signal::Ask(Question::Recover { attempt, error, tried }));
            }
            State::Draining { .. } => ctx.send(Signal::Look),
            State::Waiting { ms } => ctx.send(Signal::Wait { ms: *ms }),
            State::Stopping => {
                ctx.send(Signal::Ask(Question::Stop { turn: turn.id, continued: turn.continued }))
            }
            // Told when every state that waited has been left.
            State::Ended(end) => ctx.send(Signal::Ended(end.clone())),
            State::Receiving(_) | State::Backoff(_) | State::Running(_) | State::Aborting(_) => {}
        }
    }

    /// Whoever leaves a state that waits takes its question back (X02); one that was answered is no longer open.
    fn call_exit_action(&mut self, turn: &mut Turn, ctx: &mut Ctx<'_>) {
        match self {
            State::Gating => ctx.send(Signal::Withdraw(Subject::Gate(turn.step_id()))),
            State::Recovering { .. } => ctx.send(Signal::Withdraw(Subject::Recover(turn.attempt_id()))),
            State::Backoff(_) => ctx.send(Signal::Withdraw(Subject::Timer(Timer::Backoff(turn.step_id())))),
            State::Waiting { .. } => ctx.send(Signal::Withdraw(Subject::Timer(Timer::TurnWait(turn.id)))),
            State::Stopping => ctx.send(Signal::Withdraw(Subject::Stop(turn.id))),
            State::Requesting(_) | State::Receiving(_) | State::Running(_) => {}
            State::Aborting(_) | State::Draining { .. } | State::Ended(_) => {}
        }
    }

    fn superstate(&mut self) -> Option<Parent<'_>> {
        match self {
            State::Requesting(attempt) | State::Receiving(attempt) => Some(Parent::Streaming(attempt)),
            State::Running(_) | State::Aborting(_) => Some(Parent::Acting),
            State::Gating | State::Recovering { .. } | State::Backoff(_) => Some(Parent::Active),
            State::Draining { .. } | State::Waiting { .. } | State::Stopping => Some(Parent::Active),
            State::Ended(_) => None,
        }
    }
}

impl sm::Superstate<Turn> for Parent<'_> {
    #[rustfmt::skip] // one row per transition
    fn call_handler(&mut self, turn: &mut Turn, event: &Event, ctx: &mut Ctx<'_>) -> Outcome<State> {
        match (self, event) {
            (Parent::Streaming(attempt), Event::Finished(end)) => turn.finished(ctx, take(attempt), end),
            (Parent::Streaming(attempt), Event::Failed(error)) => turn.failed(ctx, take(attempt), error),
            (Parent::Streaming(attempt), Event::IdleOver) => turn.idle(ctx, attempt),
            (Parent::Streaming(attempt), Event::Abort(cause)) => turn.cancel(ctx, attempt).salvage(ctx, take(attempt)).aborted(ctx, cause),
            (Parent::Streaming(attempt), Event::Crash { .. }) => turn.cancel(ctx, attempt).discard(ctx).end(ctx, EndReason::Interrupted),
            (Parent::Streaming(attempt), Event::Fault(why)) => turn.cancel(ctx, attempt).discard(ctx).end(ctx, faulted(why)),

            (Parent::Acting, Event::Abort(_)) => Handled, // the first one counts (X01)

            (Parent::Active, Event::Fault(why)) => turn.end(ctx, faulted(why)),
            (Parent::Active, event) => ignored(event),
            _ => Super,
        }
    }

    fn call_exit_action(&mut self, turn: &mut Turn, ctx: &mut Ctx<'_>) {
        if let Parent::Streaming(_) = self {
            let attempt = turn.attempt_id();
            ctx.send(Signal::Withdraw(Subject::Attempt(attempt)));
            ctx.send(Signal::Withdraw(Subject::Timer(Timer::StreamIdle(attempt))));
        }
    }

    fn superstate(&mut self) -> Option<Parent<'_>> {
        match self {
            Parent::Streaming(_) | Parent::Acting => Some(Parent::Active),
            Parent::Active => None,
        }
    }
}

/// The root level: every event, named, so that a new one does not compile until someone decided.
fn ignored(event: &Event) -> Outcome<State> {
    match event {
        Event::Gated(_) | Event::Model(_) | Event::Finished(_) | Event::Failed(_) | Event::IdleOver => Super,
        Event::Recovered(_) | Event::BackoffOver | Event::BatchDone { .. } | Event::Pending(_) => Super,
        Event::Repeated | Event::FatalCall(_) | Event::Stirred | Event::WaitOver => Super,
        Event::Stopped(_) | Event::HookFailed(_) | Event::Abort(_) | Event::Hurry => Super,
        Event::Crash { .. } | Event::Fault(_) => Super,
    }
}

fn faulted(why: &Text) -> EndReason {
    EndReason::Failed(Arc::new(TurnError::Faulted(why.clone())))
}
