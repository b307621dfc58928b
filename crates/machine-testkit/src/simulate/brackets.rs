//! One end for each beginning: turns, steps, calls, approvals, maintenance (P7, E06).
use std::collections::{BTreeMap, BTreeSet};

use machine_core::ask::Approval;
use machine_core::event::Event;
use machine_core::ids::{CallId, StepId, TurnId};

/// What a call went through so far.
#[derive(Default)]
struct Call {
    started: u32,
    settled: u32,
    asked: bool,
    granted: bool,
}

#[derive(Default)]
struct Brackets {
    turn: Option<TurnId>,
    turns: u32,
    step: Option<StepId>,
    steps: BTreeSet<StepId>,
    calls: BTreeMap<CallId, Call>,
    maintenance: Option<u32>,
}

/// Checks the durable events of a session that rests.
pub(super) fn check(events: &[&Event], wrong: &mut Vec<String>) {
    let mut brackets = Brackets::default();
    for event in events {
        if let Some(rule) = brackets.see(event) {
            wrong.push(format!("{rule}: {event:?}"));
        }
    }
    let Brackets { turn, step, calls, maintenance, .. } = brackets;
    if turn.is_some() || step.is_some() || maintenance.is_some() {
        wrong.push(format!("P7: open at the end: {turn:?}, step {step:?}, maintenance {maintenance:?}"));
    }
    for (call, Call { settled, .. }) in calls {
        if settled != 1 {
            wrong.push(format!("E06: {call} was settled {settled} times"));
        }
    }
}

impl Brackets {
    /// The rule that the event breaks, if it breaks one.
    fn see(&mut self, event: &Event) -> Option<&'static str> {
        match event {
            Event::TurnStarted { turn, .. } => {
                self.turns += 1;
                let fits = self.turn.is_none() && turn.turn == self.turns;
                self.turn = Some(*turn);
                (!fits).then_some("A21")
            }
            Event::TurnEnded(end) => {
                let fits = self.turn.take() == Some(end.turn) && self.step.is_none();
                (!fits).then_some("P7")
            }
            Event::StepStarted { step } => {
                let fits = self.turn == Some(step.turn()) && self.step.is_none() && self.steps.insert(*step);
                self.step = Some(*step);
                (!fits).then_some("T06")
            }
            Event::StepEnded { step, .. } => (self.step.take() != Some(*step)).then_some("T06"),
            Event::AttemptStarted { attempt, .. } | Event::AttemptEnded { attempt, .. } => {
                (self.step != Some(attempt.step())).then_some("T05")
            }
            Event::MaintenanceStarted { n } => {
                let fits = self.turn.is_none() && self.maintenance.replace(*n).is_none();
                (!fits).then_some("A17")
            }
            Event::MaintenanceEnded { n, .. } => (self.maintenance.take() != Some(*n)).then_some("A17"),
            _ => self.see_call(event),
        }
    }

    fn see_call(&mut self, event: &Event) -> Option<&'static str> {
        let in_step = |call: &CallId| self.step == Some(call.step());
        match event {
            Event::CallAnnounced { call, .. } => {
                let fits = in_step(call);
                let first = self.calls.insert(*call, Call::default()).is_none();
                (!(fits && first)).then_some("E06")
            }
            Event::ApprovalAsked { call, .. } => {
                let fits = in_step(call);
                let Some(of) = self.calls.get_mut(call) else { return Some("C04") };
                let first = !std::mem::replace(&mut of.asked, true);
                (!(first && fits && of.settled == 0)).then_some("C04")
            }
            Event::ApprovalAnswered { call, approval, .. } => {
                let Some(of) = self.calls.get_mut(call) else { return Some("C04") };
                of.granted = *approval == Approval::Granted;
                (!of.asked || of.settled > 0).then_some("C04")
            }
            Event::CallStarted { call, .. } => {
                let fits = in_step(call);
                let Some(of) = self.calls.get_mut(call) else { return Some("C06") };
                of.started += 1;
                let allowed = !of.asked || of.granted;
                (!(fits && allowed && of.started == 1 && of.settled == 0)).then_some("C06")
            }
            Event::CallSettled { call, .. } => {
                let fits = in_step(call);
                let Some(of) = self.calls.get_mut(call) else { return Some("E06") };
                of.settled += 1;
                (!(fits && of.settled == 1)).then_some("V13")
            }
            Event::CallDetached { call } => {
                let started = self.calls.get(call).is_some_and(|of| of.started == 1);
                (!started).then_some("C08")
            }
            Event::LateResult { call, .. } | Event::BackgroundEnded { call, .. } => {
                let settled = self.calls.get(call).is_some_and(|of| of.settled == 1);
                (!settled).then_some("X06")
            }
            _ => None,
        }
    }
}
