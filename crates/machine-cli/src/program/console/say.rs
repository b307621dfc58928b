//! Words for events that people read, shared by the consoles.
use machine_core::event::{EndReason, Event, Receipt, TurnEnd};
use machine_core::ids::CallId;
use machine_core::outcome::Outcome;

/// The most characters of arguments that are shown.
const SHOWN: usize = 100;

/// A line about an event; none: it is not worth one.
pub(super) fn line(event: &Event, tool: impl Fn(CallId) -> String) -> Option<String> {
    Some(match event {
        Event::CallStarted { call, args } => format!("  run   {} {}", tool(*call), short(args)),
        Event::CallSettled { call, outcome: Outcome::Ok } => format!("  ok    {}", tool(*call)),
        Event::CallSettled { call, outcome } => format!("  {} {}", status(outcome), tool(*call)),
        Event::CallDetached { call } => format!("  {} works on in the background", tool(*call)),
        Event::BackgroundEnded { call, outcome } => {
            format!("  {} ended: {}", tool(*call), status(outcome).trim())
        }
        Event::LateResult { call, outcome } => {
            format!("  {} ended late: {}", tool(*call), status(outcome).trim())
        }
        Event::Progress { call, text } => format!("  {}: {text}", tool(*call)),
        Event::Retrying { next, max, delay_ms, error, .. } => {
            format!("  the model failed ({}); try {next} of {max} in {delay_ms} ms", error.message)
        }
        Event::HookFailed { question, error } => format!("  {question}: {error}"),
        Event::Held { .. } => "  what waits is held until the next prompt".into(),
        Event::Faulted { cause } => format!("  the engine stopped: {cause}"),
        Event::Receipt { input, receipt: Receipt::Dropped(why) } => {
            format!("  `{input}` was dropped: {why:?}")
        }
        Event::TurnEnded(end) => ended(end)?,
        _ => return None,
    })
}

/// The end of a turn, if it says more than that it is done.
fn ended(end: &TurnEnd) -> Option<String> {
    let why = match &end.reason {
        EndReason::Completed { .. } => return None,
        EndReason::Failed(error) => format!("failed: {error}"),
        EndReason::Blocked(why) => format!("blocked: {why}"),
        EndReason::StepLimit => format!("stopped at the limit of {} steps", end.steps),
        other => other.name().replace('_', " "),
    };
    Some(format!("[turn {why}]"))
}

fn status(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Ok => "ok   ".into(),
        Outcome::Error { .. } => "error".into(),
        Outcome::Denied { reason } => format!("denied ({reason})"),
        Outcome::NotStarted { code } => format!("not started ({code:?})"),
        Outcome::Cancelled { .. } => "cancelled".into(),
        Outcome::TimedOut { .. } => "timed out".into(),
        Outcome::Unknown => "unknown".into(),
    }
}

/// Arguments on one line, without what could steer a terminal.
pub(super) fn short(args: &str) -> String {
    let clean: String = args.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match clean.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &clean[..end]),
        None => clean,
    }
}

/// Text as it may be shown: lines and tabs stay, what could steer a terminal goes.
pub(super) fn safe(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}
