//! One row per transition. The chart and the state × event table made from it are in `docs/charts/call.*`.
use alloc::string::String;
use alloc::sync::Arc;
use core::mem::take;

use machine_core::Text;
use machine_core::ask::{
    Approval, By, Cause, Executed, HookError, Plan, Prepared, Question, Subject, Timer, WithdrawnBecause,
};
use machine_core::canary::Canary;
use machine_core::digest::Digest;
use machine_core::event::Event as Report;
use machine_core::machine::Machine;
use machine_core::outcome::{Outcome as Status, Settlement, SkipCode, ToolResult};
use statig::Outcome::{self, Handled, Super, Transition};
use statig::blocking as sm;

use crate::event::{Ctx, Event, Signal};
use crate::settlements::{
    at_turn_end, cancelled, ended, finalized, hook_failed, refused, steered, stopped_with, unapproved,
};
use crate::state::{Call, Parent, Run, State, Stop, aborted, withheld};

impl sm::IntoStateMachine for Call {
    type Event<'e> = Event;
    type Context<'c> = Ctx<'c>;
    type State = State;
    type Superstate<'s> = Parent<'s>;

    fn initial() -> State {
        State::Preparing
    }
}

impl sm::State<Call> for State {
    #[rustfmt::skip] // one row per transition
    fn call_handler(&mut self, call: &mut Call, event: &Event, ctx: &mut Ctx<'_>) -> Outcome<State> {
        match (self, event) {
            // The prompt that joined the turn came first (C14).
            (State::Preparing, Event::Prepared(Prepared::Ready(plan))) if plan.cut_by_steer && ctx.steered => refuse(ctx, steered()),
            (State::Preparing, Event::Prepared(Prepared::Ready(plan))) if plan.approval => planned(ctx, plan, State::Authorizing(plan.clone())),
            (State::Preparing, Event::Prepared(Prepared::Ready(plan))) => planned(ctx, plan, State::Queued(plan.clone())),
            (State::Preparing, Event::Prepared(refusal)) => refuse(ctx, refused(refusal)),
            (State::Preparing, Event::HookFailed(error)) => refuse(reporting(ctx, "Prepare", error), hook_failed(error)),

            (State::Authorizing(plan), Event::Approved { approval: yes @ Approval::Granted, rule }) => { answered(ctx, call, yes, rule); Transition(State::Queued(plan.clone())) },
            (State::Authorizing(_), Event::Approved { approval: no, rule }) => refuse(answered(ctx, call, no, rule), unapproved(no)),
            (State::Authorizing(_), Event::HookFailed(error)) => refuse(reporting(ctx, "Approve", error), hook_failed(error)),
            // A question to a person outlives the process that asked it (J05).
            (State::Authorizing(_), Event::Crash { left: false }) => Handled,

            (State::Authorizing(_), Event::Abort(_)) if Canary::AbortSparesApprovals.is_planted() => Handled,
            (State::Authorizing(plan) | State::Queued(plan), Event::Steered) if plan.cut_by_steer => refuse(ctx, steered()),

            (State::Queued(plan), Event::Start) => { starting(ctx, call, plan); Transition(State::Attached(Run::of(plan))) },

            (State::Attached(_), Event::Executed(end)) => conclude(ctx, ended(end), true, None),
            (State::Attached(_), Event::Lost) => conclude(ctx, Settlement::bare(Status::Unknown), true, None),
            (State::Attached(run), Event::Detached(ack)) => background(ctx, take(run), ack),
            (State::Attached(run), Event::TimeUp) => Transition(State::Cancelling { run: take(run), stop: Stop::TimedOut }),
            (State::Attached(run), Event::Abort(cause) | Event::Cancel(cause)) => Transition(State::Cancelling { run: take(run), stop: Stop::Cancelled(cause.clone()) }),
            (State::Attached(run), Event::Steered) if run.plan.cut_by_steer => Transition(State::Cancelling { run: take(run), stop: Stop::Cancelled(Cause::by(By::Steer)) }),

            (State::Cancelling { stop, .. }, Event::Executed(Executed::Done(result))) if !result.is_error => conclude(ctx, Settlement::of(result), true, stop.cause()),
            (State::Cancelling { run, stop }, Event::Executed(end)) => conclude(ctx, stopped_with(take(run), stop, end), true, stop.cause()),
            (State::Cancelling { run, stop }, Event::Lost) => conclude(ctx, take(run).stopped(stop), true, stop.cause()),
            // An abort wins over a time that was up before; the grace that runs stays (C10).
            (State::Cancelling { stop, .. }, Event::Abort(cause)) => { stop.aborted(cause); Handled }
            (State::Cancelling { run, stop }, Event::GraceOver | Event::Hurry) => deaf(ctx, take(run), stop),

            (State::Finalizing { settlement, .. }, Event::Finalized(result)) => settle(ctx, finalized(settlement, result)),
            (State::Finalizing { settlement, ran, .. }, Event::HookFailed(error)) => settle(reporting(ctx, "Finalize", error), withheld(settlement, *ran)),
            (State::Finalizing { settlement, stopped: stopped @ None, .. }, Event::Abort(cause)) => { settlement.aborted(cause); *stopped = Some(cause.clone()); arm_grace(ctx, call); Handled }
            (State::Finalizing { stopped: Some(cause), ran, .. }, Event::GraceOver | Event::Hurry) => settle(ctx, cancelled(*ran, cause)),
            (State::Finalizing { settlement, ran, .. }, Event::Crash { .. } | Event::Fault) => settle(ctx, withheld(settlement, *ran)),

            (State::Working(run), Event::TimeUp) => Transition(State::Stopping { run: take(run), stop: Stop::TimedOut }),
            (State::Working(run), Event::Cancel(cause)) => Transition(State::Stopping { run: take(run), stop: Stop::Cancelled(cause.clone()) }),
            // The first time counts: a turn waits once for a call.
            (State::Working(Run { awaited: awaited @ None, .. }), Event::Awaited { now }) => { *awaited = Some(*now); Handled }
            (State::Working(_), Event::Executed(end)) => finish(ctx, ended(end), false),
            // Once it is over, nothing comes from an execution any more: not below `Ending` (C07, V13).
            (State::Working(run) | State::Stopping { run, .. }, Event::Output(parts)) => { run.keep(parts, ctx); Handled }
            (State::Working(_) | State::Stopping { .. }, Event::Progress(text)) => { progress(ctx, call, text); Handled }
            (State::Working(_) | State::Stopping { .. }, Event::Lost) => told(ctx, Settlement::bare(Status::Unknown)),

            (State::Stopping { stop, .. }, Event::Executed(Executed::Done(result))) if !result.is_error => finish(ctx, Settlement { cause: stop.cause(), ..Settlement::of(result) }, true),
            (State::Stopping { run, stop }, Event::Executed(end)) => finish(ctx, stopped_with(take(run), stop, end), true),
            (State::Stopping { run, stop }, Event::GraceOver | Event::Hurry) => killed(ctx, take(run), stop),

            (State::Ending { settlement, .. }, Event::Finalized(result)) => told(ctx, finalized(settlement, result)),
            (State::Ending { settlement, .. }, Event::HookFailed(error)) => told(reporting(ctx, "Finalize", error), withheld(settlement, true)),
            (State::Ending { stopped: stopped @ false, .. }, Event::Cancel(_)) => { *stopped = true; arm_grace(ctx, call); Handled }
            (State::Ending { settlement, stopped: true }, Event::GraceOver | Event::Hurry) => told(ctx, withheld(settlement, true)),

            (State::Deaf, Event::Executed(Executed::Nothing)) => Transition(State::Settled), // it obeyed, late
            (State::Deaf, Event::Executed(end)) => late(ctx, end),
            (State::Deaf, Event::Lost | Event::Crash { .. } | Event::Fault) => Transition(State::Settled),

            (State::Settled, event) => ignored(event),
            _ => Super,
        }
    }

    fn call_entry_action(&mut self, call: &mut Call, ctx: &mut Ctx<'_>) {
        let id = call.id;
        match self {
            State::Preparing => ctx.send(Signal::Ask(Question::Prepare {
                call: id,
                tool: call.tool.clone(),
                args: call.args.clone(),
            })),
            State::Authorizing(plan) => {
                let (tool, args) = (call.tool.clone(), call.final_args(plan));
                let digest = Digest::of(&(&tool, &args));
                ctx.send(Signal::Report(Report::ApprovalAsked {
                    call: id,
                    tool: tool.clone(),
                    args: args.clone(),
                    digest,
                }));
                ctx.send(Signal::Ask(Question::Approve { call: id, tool, args, digest }));
            }
            State::Queued(_) => ctx.send(Signal::Enqueue),
            State::Cancelling { stop, .. } | State::Stopping { stop, .. } => {
                let why = match stop {
                    Stop::TimedOut => WithdrawnBecause::TimedOut,
                    Stop::Cancelled(cause) => WithdrawnBecause::Cancelled(cause.clone()),
                };
                ctx.send(Signal::Withdraw(Subject::Execute(id), why));
                disarm(ctx, Timer::CallTimeout(id));
                arm_grace(ctx, call);
            }
            State::Finalizing { settlement, stopped, .. } => {
                withdraw_questions(ctx, call);
                disarm(ctx, Timer::CallTimeout(id));
                if stopped.is_none() {
                    disarm(ctx, Timer::Grace(id));
                }
                ask_finalize(ctx, call, settlement);
            }
            State::Ending { settlement, stopped } => {
                disarm(ctx, Timer::CallTimeout(id));
                if !*stopped {
                    disarm(ctx, Timer::Grace(id));
                }
                ask_finalize(ctx, call, settlement);
            }
            State::Deaf => disarm(ctx, Timer::Grace(id)),
            State::Settled => {
                withdraw_questions(ctx, call);
                ctx.send(Signal::Withdraw(Subject::Finalize(id), WithdrawnBecause::Obsolete));
                disarm(ctx, Timer::CallTimeout(id));
                disarm(ctx, Timer::Grace(id));
                ctx.send(Signal::Ended);
            }
            State::Attached(_) | State::Working(_) => {}
        }
    }

    fn superstate(&mut self) -> Option<Parent<'_>> {
        match self {
            State::Preparing | State::Authorizing(_) | State::Queued(_) => Some(Parent::Unstarted),
            State::Attached(run) | State::Cancelling { run, .. } => Some(Parent::Running(run)),
            State::Finalizing { .. } => Some(Parent::Open),
            State::Working(_) | State::Stopping { .. } | State::Ending { .. } => Some(Parent::Detached),
            State::Deaf => Some(Parent::Lingering),
            State::Settled => None,
        }
    }
}

impl sm::Superstate<Call> for Parent<'_> {
    #[rustfmt::skip] // one row per transition
    fn call_handler(&mut self, call: &mut Call, event: &Event, ctx: &mut Ctx<'_>) -> Outcome<State> {
        match (self, event) {
            (Parent::Unstarted, Event::Skip(code)) => refuse(ctx, Settlement::bare(Status::skipped(*code))),
            (Parent::Unstarted, Event::Cancel(cause)) => refuse(ctx, cancelled(false, cause)),
            (Parent::Unstarted, Event::Abort(cause)) => settle(ctx, aborted(Some(cause))),
            // Under the rules of an earlier version it had started (J06).
            (Parent::Unstarted, Event::Crash { left: true }) => settle(ctx, Settlement::bare(Status::Unknown)),
            (Parent::Unstarted, Event::Crash { left: false }) => settle(ctx, Settlement::bare(Status::skipped(SkipCode::Crash))),
            (Parent::Unstarted, Event::Fault) => settle(ctx, aborted(None)),

            (Parent::Running(run), Event::Output(parts)) => { run.keep(parts, ctx); Handled }
            (Parent::Running(run), Event::Crash { left: true }) if Canary::CrashRunsAgain.is_planted() => Transition(State::Queued(run.plan.clone())),
            (Parent::Running(_), Event::Crash { left: true }) => settle(ctx, Settlement::bare(Status::Unknown)),
            (Parent::Running(_), Event::Crash { left: false }) => settle(ctx, Settlement::bare(Status::skipped(SkipCode::Crash))),
            (Parent::Running(_), Event::Fault) => settle(ctx, Settlement::bare(Status::Cancelled { may_have_run: true })),

            (Parent::Detached, Event::Crash { .. }) => told(ctx, Settlement::bare(Status::Unknown)),
            (Parent::Detached, Event::Fault) => Transition(State::Settled),

            (Parent::Running(_), Event::Progress(text)) => { progress(ctx, call, text); Handled }

            (Parent::Open | Parent::Lingering, event) => ignored(event),
            _ => Super,
        }
    }

    fn superstate(&mut self) -> Option<Parent<'_>> {
        match self {
            Parent::Unstarted | Parent::Running(_) => Some(Parent::Open),
            Parent::Detached => Some(Parent::Lingering),
            Parent::Open | Parent::Lingering => None,
        }
    }
}

/// A call that will be prepared.
pub fn prepare(call: Call, ctx: &mut Ctx<'_>) -> Machine<Call> {
    Machine::start(call, State::Preparing, ctx)
}

/// A call that will never run, whose answer is known as it is announced (V09, V10, T09). It passes the finalizer
/// like any other (C12).
pub fn answer(call: Call, settlement: Settlement, ctx: &mut Ctx<'_>) -> Machine<Call> {
    match refuse(ctx, settlement) {
        Transition(state) => Machine::start(call, state, ctx),
        Handled | Super => unreachable!("V13: a refusal is a transition"),
    }
}

/// The root level: every event, named, so that a new one does not compile until someone decided.
fn ignored(event: &Event) -> Outcome<State> {
    match event {
        Event::Prepared(_) | Event::Approved { .. } | Event::Start | Event::Skip(_) => Super,
        Event::Steered | Event::Awaited { .. } => Super,
        Event::Executed(_) | Event::Lost | Event::Output(_) | Event::Progress(_) | Event::Detached(_) => {
            Super
        }
        Event::Finalized(_) | Event::HookFailed(_) | Event::TimeUp | Event::GraceOver => Super,
        Event::Cancel(_) | Event::Abort(_) | Event::Hurry | Event::Crash { .. } | Event::Fault => Super,
    }
}

/// Answered and ended.
fn settle(ctx: &mut Ctx<'_>, settlement: Settlement) -> Outcome<State> {
    let fatal = settlement.is_fatal();
    ctx.send(Signal::Answered { settlement, background: false });
    warn(ctx, fatal);
    Transition(State::Settled)
}

/// The work is over: through the finalizer, if there is one (C11, C12).
fn conclude(
    ctx: &mut Ctx<'_>,
    settlement: Settlement,
    ran: bool,
    stopped: Option<Arc<Cause>>,
) -> Outcome<State> {
    if ctx.finalize {
        warn(ctx, settlement.is_fatal());
        let settlement = if ran { settlement.without_output() } else { settlement };
        return Transition(State::Finalizing { settlement, ran, stopped });
    }
    settle(ctx, settlement)
}

/// A fatal failure is told as soon as it is known, so that no sibling starts meanwhile (C09).
fn warn(ctx: &mut Ctx<'_>, fatal: bool) {
    if fatal {
        ctx.send(Signal::Fatal);
    }
}

/// Answered without ever running.
fn refuse(ctx: &mut Ctx<'_>, settlement: Settlement) -> Outcome<State> {
    ctx.send(Signal::NeverRuns);
    conclude(ctx, settlement, false, None)
}

fn planned(ctx: &mut Ctx<'_>, plan: &Plan, next: State) -> Outcome<State> {
    if plan.stop_batch {
        ctx.send(Signal::MayStopBatch);
    }
    ctx.send(Signal::Planned(plan.access.clone()));
    Transition(next)
}

/// The grace is over and nothing came: the engine answers, and what comes later is late (X03, X06). With a
/// finalizer nobody rewrote the output, so it stays withheld (X10).
fn deaf(ctx: &mut Ctx<'_>, run: Run, stop: &Stop) -> Outcome<State> {
    let settlement = if ctx.finalize { stop.settlement() } else { run.stopped(stop) };
    ctx.send(Signal::Answered { settlement: settlement.clone(), background: false });
    ctx.send(Signal::Deaf { told: settlement });
    Transition(State::Deaf)
}

/// The same for a detached call: it is told, once.
fn killed(ctx: &mut Ctx<'_>, run: Run, stop: &Stop) -> Outcome<State> {
    let settlement = if ctx.finalize { stop.settlement() } else { run.stopped(stop) };
    ctx.send(Signal::BackgroundEnded(settlement.clone()));
    ctx.send(Signal::Deaf { told: settlement });
    Transition(State::Deaf)
}

fn background(ctx: &mut Ctx<'_>, run: Run, ack: &machine_core::message::Content) -> Outcome<State> {
    let note = at_turn_end(run.plan.at_turn_end);
    let told = Settlement::of(&Arc::new(ToolResult { output: ack.to_vec(), note, ..ToolResult::default() }));
    ctx.send(Signal::Answered { settlement: told.clone(), background: true });
    ctx.send(Signal::Detached { keep_access: run.plan.keep_access, told });
    Transition(State::Working(run))
}

/// It ended after the engine had answered it (X06). With a finalizer nobody rewrote its output.
fn late(ctx: &mut Ctx<'_>, end: &Executed) -> Outcome<State> {
    let settlement = ended(end);
    let settlement = if ctx.finalize { settlement.without_output() } else { settlement };
    if Canary::LateEndAnswersAgain.is_planted() {
        ctx.send(Signal::Answered { settlement: settlement.clone(), background: false });
    }
    ctx.send(Signal::Late(settlement));
    Transition(State::Settled)
}

/// Live, and no longer than allowed (C07).
fn progress(ctx: &mut Ctx<'_>, call: &Call, text: &Text) {
    let text = match text.char_indices().nth(ctx.progress_chars) {
        None => text.clone(),
        Some(_) => {
            text.chars().take(ctx.progress_chars.saturating_sub(1)).chain(['…']).collect::<String>().into()
        }
    };
    ctx.send(Signal::Report(Report::Progress { call: call.id, text }));
}

/// A detached call's work is over. A grace that runs goes on.
fn finish(ctx: &mut Ctx<'_>, settlement: Settlement, stopped: bool) -> Outcome<State> {
    if ctx.finalize {
        return Transition(State::Ending { settlement: settlement.without_output(), stopped });
    }
    told(ctx, settlement)
}

fn told(ctx: &mut Ctx<'_>, settlement: Settlement) -> Outcome<State> {
    if Canary::BackgroundIsToldTwice.is_planted() {
        ctx.send(Signal::BackgroundEnded(settlement.clone()));
    }
    ctx.send(Signal::BackgroundEnded(settlement));
    Transition(State::Settled)
}

fn withdraw_questions(ctx: &mut Ctx<'_>, call: &Call) {
    for subject in [Subject::Prepare(call.id), Subject::Approve(call.id)] {
        ctx.send(Signal::Withdraw(subject, WithdrawnBecause::Obsolete));
    }
}

fn ask_finalize(ctx: &mut Ctx<'_>, call: &Call, settlement: &Settlement) {
    let Settlement { outcome, result, .. } = settlement.clone();
    ctx.send(Signal::Ask(Question::Finalize { call: call.id, outcome, result }));
}

fn arm_grace(ctx: &mut Ctx<'_>, call: &Call) {
    let ms = ctx.grace_ms;
    if Canary::GraceIsNotArmed.is_planted() {
        return;
    }
    ctx.send(Signal::Ask(Question::Timer { timer: Timer::Grace(call.id), ms }));
}

fn disarm(ctx: &mut Ctx<'_>, timer: Timer) {
    ctx.send(Signal::Withdraw(Subject::Timer(timer), WithdrawnBecause::Obsolete));
}

impl Stop {
    fn aborted(&mut self, cause: &Arc<Cause>) {
        if matches!(self, Self::TimedOut) {
            *self = Self::Cancelled(cause.clone());
        }
    }
}

/// A hook failed: told before what follows from it (H02).
fn reporting<'a, 'c>(
    ctx: &'a mut Ctx<'c>,
    question: &'static str,
    error: &Arc<HookError>,
) -> &'a mut Ctx<'c> {
    ctx.send(Signal::Report(Report::HookFailed { question: question.into(), error: error.clone() }));
    ctx
}

/// An approval was answered: told before what follows from it.
fn answered<'a, 'c>(
    ctx: &'a mut Ctx<'c>,
    call: &Call,
    approval: &Approval,
    rule: &Option<Text>,
) -> &'a mut Ctx<'c> {
    let (approval, rule) = (approval.clone(), rule.clone());
    ctx.send(Signal::Report(Report::ApprovalAnswered { call: call.id, approval, rule }));
    ctx
}

/// `CallStarted` is reported before the execution is asked (C06).
fn starting(ctx: &mut Ctx<'_>, call: &Call, plan: &Plan) {
    let (id, tool, args) = (call.id, call.tool.clone(), call.final_args(plan));
    ctx.send(Signal::Report(Report::CallStarted { call: id, args: args.clone() }));
    ctx.send(Signal::Ask(Question::Execute { call: id, tool, args }));
    if let Some(ms) = plan.timeout_ms {
        ctx.send(Signal::Ask(Question::Timer { timer: Timer::CallTimeout(id), ms }));
    }
}
