//! What most hosts need: `use agent_machine::prelude::*;`.
pub use machine_adapter::Request;
pub use machine_core::ask::{
    Approval, By, Cause, Gated, Plan, Proceed, Question, Recovery, Screened, StopVerdict,
};
pub use machine_core::config::Settings;
pub use machine_core::event::{EndReason, Event, TurnEnd};
pub use machine_core::history::History;
pub use machine_core::input::{Command, Input};
pub use machine_core::message::{Message, Part};
pub use machine_core::outcome::{Outcome, ToolResult};
pub use machine_core::response::{Failure, Finish, Finished, ModelError, ModelEvent};
pub use machine_core::usage::Usage;
pub use machine_host::{
    Agent, AgentBuilder, AnswerError, ApproveQuestion, BeforeCall, BoxError, BoxFuture, CallQuestion,
    CommandError, Decision, Editor, EndedStep, EndedTurn, Events, FileJournal, FinalizeQuestion, Fleet,
    GateQuestion, HookFuture, Hooks, Journal, Lagged, Model, ModelIdentity, ModelLimit, ModelOut, Parked,
    Place, PromptError, RecoverQuestion, Reject, Rule, Say, ScreenQuestion, Seen, SessionQuestion,
    StopQuestion, Store, Tool, ToolCx, ToolError, ToolSource, WallClock, Wants, tool,
};
pub use machine_journal::MemoryJournal;
