//! What happened, in short lines: entries, events, ends, states. Ids are written without their branch, calls by their
//! names.
use std::collections::BTreeMap;

use machine_core::event::{AttemptEnd, DroppedBecause, EndReason, Event, Receipt, TurnError};
use machine_core::ids::{AttemptId, CallId, StepId, TurnId};
use machine_core::message::{Entry, Message, Origin};
use machine_core::outcome::Outcome;
use serde::Serialize;

/// Names of calls.
#[derive(Clone, Debug, Default)]
pub struct Names(pub BTreeMap<CallId, String>);

impl Names {
    /// A call's name.
    pub fn call(&self, call: CallId) -> String {
        self.0.get(&call).cloned().unwrap_or_else(|| format!("{}.{}", step(call.step()), call.index))
    }

    /// An entry of history.
    pub fn entry(&self, entry: &Entry) -> String {
        let said = entry.message.text();
        let line = match (&entry.origin, &entry.message) {
            (_, Message::Tool(tool)) => format!("result {} {}", self.call(tool.call), outcome(&tool.outcome)),
            (Origin::Model, message) => {
                let calls: Vec<_> = message.calls().map(|call| self.call(call.id)).collect();
                let calls = if calls.is_empty() { String::new() } else { format!(" [{}]", calls.join(" ")) };
                format!("model {said}{calls}")
            }
            (Origin::Prompt { .. }, _) => format!("user {said}"),
            (Origin::Notification { .. }, _) => format!("note {said}"),
            (Origin::Reminder { .. }, _) => format!("reminder {said}"),
            (Origin::BackgroundEnd { call }, _) => format!("end of {}", self.call(*call)),
            (Origin::Deliver { .. }, _) => format!("deliver {said}"),
            (Origin::Salvaged, _) => format!("salvaged {said}"),
            (Origin::AbortMarker, _) => "marker".into(),
            (Origin::Summary, _) => format!("summary {said}"),
            (Origin::Gate { .. }, _) => format!("gate {said}"),
            (Origin::StopHook { .. }, _) => format!("stop hook {said}"),
            (Origin::LateResult { call }, _) => format!("late result of {}", self.call(*call)),
            (Origin::Tool, _) => format!("tool {said}"),
        };
        line.replace('\n', " ").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// An event: its name, then what it is about.
    #[rustfmt::skip] // one row per event
    pub fn event(&self, event: &Event) -> String {
        let call = |call: &CallId| self.call(*call);
        match event {
            Event::Receipt { input, receipt: told } => format!("receipt {} {}", input.0, receipt(told)),
            Event::Replaced { input } => format!("replaced {}", input.0),
            Event::TurnStarted { turn: id, prompt } => format!("turn_started {}{}", turn(*id), prompt.as_ref().map(|prompt| format!(" {}", prompt.0)).unwrap_or_default()),
            Event::TurnEnded(end) => format!("turn_ended {} {}", turn(end.turn), self.end(&end.reason)),
            Event::StepStarted { step: id } => format!("step_started {}", step(*id)),
            Event::StepEnded { step: id, sealed } => format!("step_ended {}{}", step(*id), sealed.map(|sealed| format!(" {}", snake(&sealed))).unwrap_or_default()),
            Event::AttemptStarted { attempt: id, with } => format!("attempt_started {}{}", attempt(*id), with.as_ref().map(|with| format!(" {}", snake(&with.why))).unwrap_or_default()),
            Event::AttemptEnded { attempt: id, end, usage, .. } => format!("attempt_ended {} {}{}", attempt(*id), attempt_end(end), usage.map(|usage| format!(" {} tokens", usage.total())).unwrap_or_default()),
            Event::AttemptDiscarded { attempt: id } => format!("attempt_discarded {}", attempt(*id)),
            Event::Retrying { failed, next, max, delay_ms, error } => format!("retrying {} {} {next}/{max} after {delay_ms}", attempt(*failed), snake(&error.kind)),
            Event::Remedied { attempt: id, strategy, .. } => format!("remedied {} {strategy}", attempt(*id)),
            Event::Committed { at, entry } => format!("committed {at} {}", self.entry(entry)),
            Event::Edited { .. } => "edited".into(),
            Event::EditRefused { why } => format!("edit_refused {why}"),
            Event::CallAnnounced { call: id, tool, args, .. } => format!("call_announced {} {tool} {args}", call(id)),
            Event::ApprovalAsked { call: id, tool, args, .. } => format!("approval_asked {} {tool} {args}", call(id)),
            Event::ApprovalAnswered { call: id, approval, rule } => format!("approval_answered {} {}{}", call(id), snake(approval), rule.as_ref().map(|rule| format!(" by {rule}")).unwrap_or_default()),
            Event::CallStarted { call: id, args } => format!("call_started {} {args}", call(id)),
            Event::CallDetached { call: id } => format!("call_detached {}", call(id)),
            Event::CallSettled { call: id, outcome: how, background } => format!("call_settled {} {}{}", call(id), outcome(how), if *background { " background" } else { "" }),
            Event::TurnWaits { turn: id, calls, ms } => format!("turn_waits {} {ms} {}", turn(*id), calls.iter().map(call).collect::<Vec<_>>().join(" ")),
            Event::HookTextCut { hook, chars, kept } => format!("hook_text_cut {hook} {kept}/{chars}"),
            Event::BackgroundEnded { call: id, outcome: how } => format!("background_ended {} {}", call(id), outcome(how)),
            Event::LateResult { call: id, outcome: how } => format!("late_result {} {}", call(id), outcome(how)),
            Event::HookFailed { question, error } => format!("hook_failed {question} {}", snake(&error.kind)),
            Event::HookOverruled { turn: id } => format!("hook_overruled {}", turn(*id)),
            Event::Held { why } => format!("held {}", snake(why)),
            Event::Released => "released".into(),
            Event::Paused => "paused".into(),
            Event::Resumed => "resumed".into(),
            Event::MaintenanceStarted { n } => format!("maintenance_started {n}"),
            Event::MaintenanceEnded { n, end } => format!("maintenance_ended {n} {}", snake(end)),
            Event::Configured => "configured".into(),
            Event::Recovered => "recovered".into(),
            Event::Closed => "closed".into(),
            Event::Faulted { cause } => format!("faulted {cause}"),
            Event::Delta { attempt: id, delta } => format!("delta {} {}", attempt(*id), delta.kind()),
            Event::Progress { call: id, text } => format!("progress {} {text}", call(id)),
            Event::Stray { .. } => "stray".into(),
        }
    }

    /// How a turn ended.
    pub fn end(&self, reason: &EndReason) -> String {
        match reason {
            EndReason::Completed { stopped_by: Some((call, why)) } => {
                format!("completed(stopped by {}: {why})", self.call(*call))
            }
            EndReason::Blocked(why) => format!("blocked({why})"),
            EndReason::Aborted(cause) => format!("aborted({})", snake(&cause.by)),
            EndReason::Failed(error) => format!("failed({})", turn_error(error)),
            other => other.name().into(),
        }
    }
}

/// How a call ended.
pub(crate) fn outcome(outcome: &Outcome) -> String {
    let doubt = |may: bool| if may { "(may have run)" } else { "" };
    match outcome {
        Outcome::Ok => "ok".into(),
        Outcome::Error { code } => format!("error({})", snake(code)),
        Outcome::Denied { reason } => format!("denied({reason})"),
        Outcome::NotStarted { code } => format!("not started({})", snake(code)),
        Outcome::Cancelled { may_have_run } => format!("cancelled{}", doubt(*may_have_run)),
        Outcome::TimedOut { may_have_run } => format!("timed out{}", doubt(*may_have_run)),
        Outcome::Unknown => "unknown".into(),
    }
}

/// What became of an input.
pub(crate) fn receipt(receipt: &Receipt) -> String {
    match receipt {
        Receipt::Accepted => "accepted".into(),
        Receipt::Steered => "steered".into(),
        Receipt::Held(why) => format!("held {}", snake(why)),
        Receipt::Taken(id) => format!("taken {}", turn(*id)),
        Receipt::Dropped(DroppedBecause::Blocked(why)) => format!("dropped blocked({why})"),
        Receipt::Dropped(why) => format!("dropped {}", snake(why)),
        Receipt::Returned => "returned".into(),
        Receipt::TurnEnded(id, reason) => format!("turn_ended {} {}", turn(*id), reason.name()),
    }
}

fn turn_error(error: &TurnError) -> String {
    match error {
        TurnError::Model { error, .. } => snake(&error.kind),
        other => snake(other),
    }
}

fn attempt_end(end: &AttemptEnd) -> String {
    match end {
        AttemptEnd::Finished { finish, .. } => snake(finish),
        AttemptEnd::Failed(error) => format!("failed({})", snake(&error.kind)),
        AttemptEnd::Cancelled => "cancelled".into(),
    }
}

/// A turn without its branch.
pub(crate) fn turn(id: TurnId) -> String {
    id.turn.to_string()
}

/// A step without its branch.
pub(crate) fn step(id: StepId) -> String {
    format!("{}.{}", id.turn, id.step)
}

/// An attempt without its branch.
pub(crate) fn attempt(id: AttemptId) -> String {
    format!("{}.{}", step(id.step()), id.serial)
}

/// The name of a variant, as it is written in JSON; with its text, if that is all it has.
fn snake(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        Ok(serde_json::Value::Object(map)) => match map.into_iter().next() {
            Some((name, serde_json::Value::String(text))) => format!("{name}({text})"),
            Some((name, _)) => name,
            None => String::new(),
        },
        _ => String::new(),
    }
}

/// Why this is no event's name; names all there are.
pub(crate) fn unknown_event(name: &str) -> Option<String> {
    let named = serde_json::json!({ "type": name });
    let error = serde_json::from_value::<Event>(named).err()?.to_string();
    error.starts_with("unknown variant").then(|| error.replace("unknown variant", "unknown event"))
}
