//! An agent in a call of another one: its end is told as it was (H04).
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use crate::ask::{By, Cause};
use crate::event::{EndReason, TurnEnd};
use crate::history::History;
use crate::message::Message;
use crate::outcome::ToolResult;

/// What an agent said in a turn, and how that turn ended if it is not simply done: the result of the call that ran it.
/// Only a completed turn is a success.
pub fn report(end: &TurnEnd, history: &History) -> ToolResult {
    // Its next turn may have begun already.
    let newest_first = history.iter().rev().skip_while(|entry| entry.turn != Some(end.turn));
    let said = newest_first.take_while(|entry| entry.turn == Some(end.turn)).find_map(|entry| {
        matches!(entry.message, Message::Assistant { .. })
            .then(|| entry.message.text())
            .filter(|text| !text.is_empty())
    });
    match (&end.reason, said) {
        (EndReason::Completed { .. }, said) => ToolResult::text(said.unwrap_or_default()),
        (reason, None) => ToolResult::error(format!("The agent did not finish: {}.", told(reason))),
        (reason, Some(said)) => {
            ToolResult::error(format!("The agent did not finish: {}. Its last words: {said}", told(reason)))
        }
    }
}

fn told(reason: &EndReason) -> String {
    match reason {
        EndReason::Failed(error) => format!("failed, {error}"),
        EndReason::Blocked(why) => format!("blocked, {why}"),
        EndReason::Aborted(cause) => format!("aborted by {}", who(cause)),
        other => other.name().replace('_', " "),
    }
}

fn who(cause: &Cause) -> String {
    let by = match cause.by {
        By::User => "the user",
        By::Timeout => "a time-out",
        By::Parent => "the end of its call",
        By::Shutdown => "the end of the process",
        By::Program => "a program",
        By::Steer => "a new prompt",
        By::TurnEnd => "the end of its turn",
    };
    cause.reason.as_ref().map_or_else(|| by.to_owned(), |reason| format!("{by}, {reason}"))
}
