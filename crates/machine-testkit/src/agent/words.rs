//! What is said to an explored agent. Each says something of its own, so that a monitor sees what became of it.
use std::sync::Arc;

use machine_agent::Event;
use machine_core::ask::{HookError, HookFailure, Screened};
use machine_core::event::{EndReason, TurnEnd, TurnError};
use machine_core::ids::{CallId, InputId, TurnId};
use machine_core::input::{Abort, Command, Lane, Note, Reminder, Submit};
use machine_core::message::{Content, text_content};
use machine_core::usage::UsageSum;

use super::AgentSettings;

pub(super) fn hook() -> Arc<HookError> {
    HookError::new(HookFailure::Failed, "hook")
}

/// In other words.
pub(super) fn rewritten() -> Content {
    text_content("rewritten")
}

fn submit(id: String, lane: Lane, wake: bool) -> Event {
    let message = text_content(&*id);
    Event::Submit(Arc::new(Submit { id: id.into(), message, lane, wake, meta: None }))
}

/// The inputs that may come next: each kind has its own ids, which come in order.
pub(super) fn inputs(settings: &AgentSettings, left: &AgentSettings) -> Vec<Event> {
    let mut events = Vec::new();
    let next = |all: u32, left: u32| (left > 0).then(|| all - left);
    if let Some(n) = next(settings.prompts, left.prompts) {
        events.push(submit(format!("p{n}"), Lane::NextTurn, true));
        if settings.park {
            events.push(submit(format!("p{n}"), Lane::NextTurn, false));
        }
    }
    if let Some(n) = next(settings.steer, left.steer) {
        events.push(submit(format!("s{n}"), Lane::NextStep, true));
    }
    let note = |id: String| Note::text(id.clone(), &*id);
    if let Some(n) = next(settings.notify, left.notify) {
        events.push(Event::Notify(note(format!("n{n}"))));
    }
    if let Some(n) = next(settings.inject, left.inject) {
        events.push(Event::Inject(note(format!("i{n}"))));
    }
    if left.remind > 0 {
        let reminder =
            |only_if_changed| Reminder { key: "r".into(), message: text_content("r"), only_if_changed };
        events.extend([false, true].map(|only| Event::Remind(Arc::new(reminder(only)))));
    }
    events
}

pub(super) fn verdicts(id: &InputId, settings: &AgentSettings) -> Vec<Event> {
    let mut all = vec![Event::Screened(id.clone(), Screened::Admit)];
    if settings.refusals {
        all.push(Event::Screened(id.clone(), Screened::Rewrite(rewritten())));
        all.push(Event::Screened(id.clone(), Screened::Rewrite(text_content(" "))));
        all.push(Event::Screened(id.clone(), Screened::Block("no".into())));
        all.push(Event::ScreenFailed(id.clone(), hook()));
    }
    all
}

pub(super) fn ended(turn: TurnId, reason: EndReason) -> Event {
    let (steps, usage, truncated) = (1, UsageSum::default(), false);
    Event::TurnEnded(TurnEnd { turn, reason, steps, usage, truncated, returned: Vec::new() })
}

pub(super) fn failed() -> EndReason {
    EndReason::Failed(Arc::new(TurnError::EmptyResponse { tries: 1 }))
}

pub(super) fn lingers(call: CallId, detached: bool) -> Event {
    Event::Lingers { call, tool: "tool".into(), detached, since: 0, told: text_content("told") }
}

pub(super) fn background_ended(call: CallId, wake: bool) -> Event {
    Event::BackgroundEnded { call, content: text_content("ended"), wake }
}

/// The command behind an event; none if it is no command's.
pub fn command(event: &Event) -> Option<Command> {
    Some(match event.clone() {
        Event::Submit(submit) => Command::Submit(submit),
        Event::Notify(note) => Command::Notify(note),
        Event::Inject(note) => Command::Inject(note),
        Event::Remind(reminder) => Command::Remind(reminder),
        Event::Steer(ids) => Command::Steer(ids),
        Event::Withdraw(id) => Command::Withdraw(id),
        Event::Replace(id, message) => Command::Replace(id, message),
        Event::Consume(call) => Command::Consume(call),
        Event::Abort(cause) => Command::Abort(Arc::new(Abort { cause, target: None })),
        Event::Pause => Command::Pause,
        Event::Resume { .. } => Command::Resume,
        Event::Maintain => Command::Maintain,
        Event::Close => Command::Close,
        Event::Screened(..) | Event::ScreenFailed(..) | Event::Maintained { .. } => return None,
        Event::MaintainFailed(_) | Event::Drain | Event::Own(_) | Event::TurnEnded(_) => return None,
        Event::Lingers { .. } | Event::BackgroundEnded { .. } | Event::CallEnded(_) => return None,
        Event::LateResult { .. } | Event::Crash { .. } | Event::Fault { .. } => return None,
    })
}
