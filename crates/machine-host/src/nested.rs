//! An agent in a call of another one: its end is told as it was (H04).
use machine_core::nested::report;
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
