//! An agent in a call of another one: its end is told as it was (H04).
use machine_core::ask::{By, Cause};
use machine_core::event::{EndReason, TurnEnd};
use machine_core::history::History;
use machine_core::message::Message;
use machine_core::outcome::ToolResult;

use crate::agent::Agent;
use crate::cx::ToolCx;
use crate::error::{CommandError, PromptError};
use crate::say::Say;
use crate::tool::ToolError;

impl ToolCx {
    /// Lets a child agent work on this prompt, as this call: open it with
    /// [`child_of`](crate::AgentBuilder::child_of), so that a stop of the call reaches it, and keep the tool's future
    /// with `drop_on_cancel(false)`, so that its end is heard. Only a completed turn is a success.
    pub async fn delegate(&self, child: &Agent, prompt: impl Into<Say>) -> Result<ToolResult, ToolError> {
        let end = match child.prompt(prompt).await {
            Err(PromptError::Command(CommandError::Gone)) => {
                return Err(ToolError::failed("the agent went away before its turn ended"));
            }
            end => end?,
        };
        Ok(report(&end, &child.history().await?))
    }
}

/// What the child said, and how its turn ended if that is not simply done.
fn report(end: &TurnEnd, history: &History) -> ToolResult {
    let said = history.iter().rev().take_while(|entry| entry.turn == Some(end.turn)).find_map(|entry| {
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

fn who(cause: &Cause) -> String {
    let by = match cause.by {
        By::User => "the user",
        By::Timeout => "a time-out",
        By::Parent => "the end of its call",
        By::Shutdown => "the end of the process",
        By::Program => "a program",
    };
    cause.reason.as_ref().map_or_else(|| by.to_owned(), |reason| format!("{by}, {reason}"))
}

fn told(reason: &EndReason) -> String {
    match reason {
        EndReason::Failed(error) => format!("failed, {error}"),
        EndReason::Blocked(why) => format!("blocked, {why}"),
        EndReason::Aborted(cause) => format!("aborted by {}", who(cause)),
        other => other.name().replace('_', " "),
    }
}
