//! What most hosts need: `use agent_machine::prelude::*;`.
pub use machine_adapter::Request;
pub use machine_core::ask::{Approval, By, Cause, Gated, Plan, Screened, StopVerdict};
pub use machine_core::event::{EndReason, Event, TurnEnd};
pub use machine_core::message::{Message, Part};
pub use machine_core::outcome::{Outcome, ToolResult};
pub use machine_core::response::{Failure, Finish, Finished, ModelError, ModelEvent};
pub use machine_core::usage::Usage;
pub use machine_host::{
    Agent, ApproveQuestion, Hooks, Journal, Model, ModelOut, Tool, ToolCx, ToolError, tool,
};
pub use machine_journal::MemoryJournal;
