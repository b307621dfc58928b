//! An agent in a call of another one: its end is told as it was (H04).
use alloc::format;

use crate::event::{EndReason, TurnEnd};
use crate::history::History;
use crate::outcome::ToolResult;

/// What an agent said in a turn, and how that turn ended if it is not simply done: the result of the call that ran it.
/// Only a completed turn is a success.
pub fn report(end: &TurnEnd, history: &History) -> ToolResult {
    let said = history.answer(end.turn);
    match &end.reason {
        EndReason::Completed { .. } => ToolResult::text(said),
        reason if said.is_empty() => ToolResult::error(format!("The agent did not finish: {reason}.")),
        reason => ToolResult::error(format!("The agent did not finish: {reason}. Its last words: {said}")),
    }
}
