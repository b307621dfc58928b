//! One row per transition. The chart and the state × event table made from it are in `docs/charts/agent.*`.
use machine_core::event::{DroppedBecause, MaintenanceEnd, Receipt};
use machine_core::input::Lane;
use statig::Outcome::{self, Handled, Super, Transition};
use statig::blocking as sm;

use crate::event::{Ctx, Event, Signal};
use crate::state::{Agent, Back, Parent, State};

impl sm::IntoStateMachine for Agent {
    type Event<'e> = Event;
    type Context<'c> = Ctx<'c>;
    type State = State;
    type Superstate<'s> = Parent<'s>;

    fn initial() -> State {
        State::Ready
    }
}

impl sm::State<Agent> for State {
    #[rustfmt::skip] // one row per transition
    fn call_handler(&mut self, agent: &mut Agent, event: &Event, ctx: &mut Ctx<'_>) -> Outcome<State> {
        match (self, event) {
            (State::Held(_), Event::Submit(submit)) if submit.wake => agent.enqueue(ctx, submit).release(ctx).next(ctx),
            (State::Held(_), Event::Notify(note)) => { agent.inbox.lane_note(ctx, note, true); agent.release(ctx).next(ctx) }
            (State::Held(_), Event::Resume { unanswered }) => agent.release(ctx).resume(ctx, *unanswered),
            (State::Held(why), Event::Maintain) => agent.maintain(ctx, Back::Held(*why)),
            (State::Held(_), Event::Pause) => { agent.pause(ctx); Handled }
            (State::Held(_), Event::Crash { .. }) => { agent.forget_screens(ctx); Handled }

            (State::Ready | State::Waiting, Event::Submit(submit)) => agent.enqueue(ctx, submit).next(ctx),
            (State::Ready | State::Waiting, Event::Notify(note)) => { agent.inbox.lane_note(ctx, note, true); agent.next(ctx) }
            (State::Ready | State::Waiting, Event::Resume { unanswered }) => agent.resume(ctx, *unanswered),
            (State::Ready | State::Waiting, Event::Maintain) => agent.maintain(ctx, Back::Idle),
            (State::Ready | State::Waiting, Event::Pause) => { agent.pause(ctx); Handled }
            (State::Ready | State::Waiting, Event::BackgroundEnded { call, content, wake }) => { agent.background_ended(*call, content, *wake); agent.next(ctx) }
            (State::Ready | State::Waiting, Event::Crash { .. }) => agent.reopened(ctx),

            (State::Screening(id), Event::Screened(of, verdict)) if id == of => { agent.screened(ctx, of, verdict); agent.after_screen(ctx, of) }
            (State::Screening(id), Event::ScreenFailed(of, error)) if id == of => { agent.screen_failed(ctx, of, error); agent.next(ctx) }
            (State::Screening(id), Event::Withdraw(of)) if id == of => { agent.take_back(ctx, of, Receipt::Returned); agent.next(ctx) }
            (State::Screening(id), Event::Replace(of, message)) if id == of => { agent.replace(ctx, of, message); agent.screen_goes_on(ctx, of) }
            (State::Screening(id), Event::Abort(_)) => { agent.take_back(ctx, &id.clone(), Receipt::Dropped(DroppedBecause::Aborted)); agent.next(ctx) }
            (State::Screening(_), Event::Pause) => { agent.pause(ctx); Handled }
            (State::Screening(_), Event::Resume { .. }) => { agent.unpause(ctx); Handled }
            (State::Screening(_), Event::Close) => agent.close(ctx, None),
            (State::Screening(_), Event::Crash { .. }) => agent.reopened(ctx),

            (State::Active(_), Event::Submit(submit)) if submit.lane == Lane::NextStep => agent.join(ctx, submit),
            (State::Active(_), Event::Steer(ids)) => { agent.inbox.steer(ctx, ids); agent.screen_lane(ctx); agent.cut(ctx) }
            (State::Active(_), Event::Replace(id, message)) => { agent.replace(ctx, id, message); agent.screen_lane(ctx); agent.cut(ctx) }
            (State::Active(_), Event::Screened(id, verdict)) => { agent.screened(ctx, id, verdict); agent.cut(ctx) }
            (State::Active(_), Event::Notify(note)) => { agent.inbox.lane_note(ctx, note, true); agent.screen_lane(ctx); Handled }
            (State::Active(active), Event::Drain) => { agent.drain(ctx, active); Handled }
            (State::Active(active), Event::Abort(cause)) => agent.stop(ctx, active.take(), cause),
            (State::Active(active), Event::Close) => agent.close(ctx, Some(active.take())),

            (State::Aborting(_), Event::Abort(_)) => { ctx.send(Signal::HurryTurn); Handled }
            (State::Aborting(active), Event::Close) => agent.close(ctx, Some(active.take())),

            (State::Maintaining(back), Event::Maintained { edited }) => agent.maintained(ctx, &back.clone(), MaintenanceEnd::Done, *edited),
            (State::Maintaining(back), Event::MaintainFailed(error)) => agent.maintained(ctx, &back.clone(), MaintenanceEnd::Failed(error.clone()), false),
            (State::Maintaining(back), Event::Abort(_)) => agent.maintained(ctx, &back.clone(), MaintenanceEnd::Aborted, false),
            (State::Maintaining(back @ Back::Held(_)), Event::Submit(submit)) if submit.wake => { agent.enqueue(ctx, submit).release(ctx); *back = Back::Idle; Handled }
            (State::Maintaining(back @ Back::Held(_)), Event::Notify(note)) => { agent.inbox.lane_note(ctx, note, true); agent.release(ctx); *back = Back::Idle; Handled }
            (State::Maintaining(back @ Back::Held(_)), Event::Resume { unanswered }) => { agent.release(ctx).unpause(ctx); *back = Back::Resume(*unanswered); Handled }
            (State::Maintaining(back @ Back::Idle), Event::Resume { unanswered }) => { agent.unpause(ctx); *back = Back::Resume(*unanswered); Handled }
            // What was said last holds: nothing starts when maintenance ends (A12).
            (State::Maintaining(back @ Back::Resume(_)), Event::Pause) => { agent.pause(ctx); *back = Back::Idle; Handled }
            (State::Maintaining(_), Event::Pause) => { agent.pause(ctx); Handled }
            (State::Maintaining(_), Event::Close) => { agent.end_maintenance(ctx, MaintenanceEnd::Aborted); agent.close(ctx, None) }
            (State::Maintaining(Back::Faulted(why)), Event::Crash { .. }) => { agent.end_maintenance(ctx, MaintenanceEnd::Aborted); Transition(State::Faulted { why: why.clone(), check: true, active: None }) }
            (State::Maintaining(_), Event::Fault { why, check }) => { agent.end_maintenance(ctx, MaintenanceEnd::Aborted); agent.fault(ctx, why, *check, None) }
            (State::Maintaining(_), Event::Crash { .. }) => { agent.end_maintenance(ctx, MaintenanceEnd::Aborted); agent.reopened(ctx) }

            (State::Closing(active), Event::TurnEnded(end)) => { agent.turn_closed(ctx, active.as_ref(), end); agent.closed(ctx, None) }
            (State::Closing(active), Event::BackgroundEnded { call, content, wake }) => { agent.background_ended(*call, content, *wake); agent.closed(ctx, active.take()) }
            (State::Closing(_), Event::Own(messages)) => { agent.own(messages); Handled }
            (State::Closing(_), Event::Abort(_)) => { ctx.send(Signal::HurryTurn); ctx.send(Signal::HurryLingering); Handled }
            (State::Closing(active), Event::Crash { .. }) => agent.reopen(ctx, active.take()),
            // It takes no commands any more: no edit helps (A19).
            (State::Closing(active), Event::Fault { why, .. }) => agent.fault(ctx, why, false, active.take()),
            (State::Closed, Event::Crash { .. }) => agent.reopened(ctx),

            (State::Faulted { active, .. }, Event::TurnEnded(end)) => { agent.turn_closed(ctx, active.as_ref(), end); *active = None; Handled }
            // A journal that cannot be written is the graver fault: no edit helps (J10).
            (State::Faulted { why, check: check @ true, .. }, Event::Fault { why: graver, check: false }) => { (*why, *check) = (graver.clone(), false); agent.told_fault(ctx, graver); Handled }
            (State::Faulted { why, check: true, .. }, Event::Maintain) => agent.maintain(ctx, Back::Faulted(why.clone())),
            (State::Faulted { .. }, Event::Close) => agent.closed(ctx, None),

            _ => Super,
        }
    }

    fn superstate(&mut self) -> Option<Parent<'_>> {
        match self {
            State::Ready | State::Waiting | State::Held(_) => Some(Parent::Idle),
            State::Active(active) | State::Aborting(active) => Some(Parent::Running(active)),
            State::Screening(_) | State::Maintaining(_) => Some(Parent::Open),
            State::Closing(_) | State::Closed | State::Faulted { .. } => Some(Parent::Shut),
        }
    }
}

impl sm::Superstate<Agent> for Parent<'_> {
    #[rustfmt::skip] // one row per transition
    fn call_handler(&mut self, agent: &mut Agent, event: &Event, ctx: &mut Ctx<'_>) -> Outcome<State> {
        match (self, event) {
            (Parent::Idle, Event::Close) => agent.close(ctx, None),
            (Parent::Idle, Event::Abort(_)) => Handled, // accepted, and there is nothing to stop (A13)

            (Parent::Running(active), Event::TurnEnded(end)) => agent.after_turn(ctx, &active.take(), end),
            // Results may carry messages while the turn is being stopped too: they wait for the next one.
            (Parent::Running(_), Event::Own(messages)) => { agent.own(messages); Handled }
            (Parent::Running(_), Event::Pause) => { agent.pause(ctx); Handled }
            (Parent::Running(_), Event::Resume { .. }) => { agent.unpause(ctx); Handled }
            (Parent::Running(active), Event::Crash { alive: false }) => { agent.forget_screens(ctx); active.hold = true; Handled }
            (Parent::Running(active), Event::Fault { why, check }) => agent.fault(ctx, why, *check, Some(active.take())),

            (Parent::Open, Event::Submit(submit)) => { agent.enqueue(ctx, submit); Handled }
            (Parent::Open, Event::Notify(note)) => { agent.inbox.lane_note(ctx, note, true); Handled }
            (Parent::Open, Event::Inject(note)) => { agent.inbox.lane_note(ctx, note, false); Handled }
            (Parent::Open, Event::Remind(reminder)) => { agent.inbox.remind(ctx, reminder); Handled }
            (Parent::Open, Event::Withdraw(id)) => { agent.take_back(ctx, id, Receipt::Returned); Handled }
            (Parent::Open, Event::Replace(id, message)) => { agent.replace(ctx, id, message); Handled }
            (Parent::Open, Event::Screened(id, verdict)) => { agent.screened(ctx, id, verdict); Handled }
            (Parent::Open, Event::ScreenFailed(id, error)) => { agent.screen_failed(ctx, id, error); Handled }
            (Parent::Open, Event::Fault { why, check }) => agent.fault(ctx, why, *check, None),

            (Parent::Open | Parent::Shut, Event::Consume(call)) => { agent.consume(*call); Handled }
            (Parent::Open | Parent::Shut, Event::Lingers { call, tool, detached, since, told }) => { agent.linger(*call, tool, *detached, *since, told); Handled }
            (Parent::Open | Parent::Shut, Event::LateResult { call, content }) => { agent.late_result(*call, content); Handled }
            (Parent::Open | Parent::Shut, Event::BackgroundEnded { call, content, wake }) => { agent.background_ended(*call, content, *wake); Handled }
            (Parent::Open | Parent::Shut, Event::CallEnded(call)) => { agent.roster.remove(*call); Handled }
            (Parent::Shut, Event::Close | Event::Abort(_)) => Handled, // idempotent (A19)

            (Parent::Open | Parent::Shut, event) => ignored(event),
            _ => Super,
        }
    }

    fn superstate(&mut self) -> Option<Parent<'_>> {
        match self {
            Parent::Idle | Parent::Running(_) => Some(Parent::Open),
            Parent::Open | Parent::Shut => None,
        }
    }
}

/// The root level: every event, named, so that a new one does not compile until someone decided.
fn ignored(event: &Event) -> Outcome<State> {
    match event {
        Event::Submit(_) | Event::Notify(_) | Event::Inject(_) | Event::Remind(_) | Event::Steer(_) => Super,
        Event::Withdraw(_) | Event::Replace(..) | Event::Consume(_) | Event::Abort(_) => Super,
        Event::Pause | Event::Resume { .. } | Event::Maintain | Event::Maintained { .. } | Event::Close => {
            Super
        }
        Event::Screened(..) | Event::ScreenFailed(..) | Event::MaintainFailed(_) => Super,
        Event::Drain | Event::Own(_) | Event::TurnEnded(_) | Event::Lingers { .. } => Super,
        Event::LateResult { .. } => Super,
        Event::BackgroundEnded { .. } | Event::CallEnded(_) | Event::Crash { .. } | Event::Fault { .. } => {
            Super
        }
    }
}
