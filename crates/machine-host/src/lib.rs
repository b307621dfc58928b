//! The tokio host: it carries out what an engine asks for, and gives an agent a handle.
//!
//! ```
//! use machine_core::ask::Approval;
//! use machine_core::response::{Finish, Finished};
//! use machine_host::{Agent, ApproveQuestion, ModelOut, ToolCx, tool};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Grep {
//!     pattern: String,
//! }
//!
//! // Stands for a provider: calls the tool once, then answers.
//! async fn model(
//!     request: machine_adapter::Request,
//!     out: ModelOut,
//! ) -> Result<Finished, machine_core::response::ModelError> {
//!     if request.history.len() == 1 {
//!         out.call(0, "call-1", "grep", r#"{"pattern": "teh"}"#).await;
//!         return Ok(Finished::new(Finish::ToolUse));
//!     }
//!     out.text("There is one typo.").await;
//!     Ok(Finished::new(Finish::EndTurn))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let agent = Agent::builder()
//!     .system("You find typos.")
//!     .model(model)
//!     .tool(
//!         tool("grep", "Search the files", |args: Grep, cx: ToolCx| async move {
//!             cx.text(format!("README.md:1: {}", args.pattern))
//!         })
//!         .reads(".")
//!         .approval(true),
//!     )
//!     .approve(|call: ApproveQuestion| async move {
//!         println!("{} {}", call.tool, call.args);
//!         Approval::Granted
//!     })
//!     .journal(machine_journal::MemoryJournal::new())
//!     .open()
//!     .await?;
//! let end = agent.prompt("find the typos").await?;
//! assert_eq!((end.reason.name(), end.steps), ("completed", 2));
//! agent.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! What a host gives: a [`Model`], [`Tool`]s, [`Hooks`], a [`Journal`]. What it gets: an [`Agent`]. In between there is
//! one loop per agent that works, and none per agent that rests.
//!
//! | module | its one job |
//! |---|---|
//! | `builder`, `open` | describe an agent; open it: new, from its journal, or parked elsewhere |
//! | `agent`, `say` | the handle, and what is said through it |
//! | `session`, `slot` | an agent as a value, and parked; where it is: resting, driven, gone |
//! | `driver` | the loop: what comes in and what it becomes |
//! | `spine` | one input in the order of J02: append, handle, sync, leave |
//! | `errands`, `carrier` | an ask becomes work; work is joined |
//! | `timers`, `clock`, `waiters`, `watch` | what is due; what time it is; who waits; who watches |
//! | `spill`, `spans`, [`names`] | output that is too long; the log, and what stands in it |
//! | `model`, `limit` | the model; how many requests at once, over many agents |
//! | `tool`, `typed`, `schema`, `cx` | tools, from a closure too; their arguments; what they see |
//! | `source` | tools that come and go; the tools of a step |
//! | `hooks`, `order`, `chain`, `watchers`, `seal` | hooks; which comes first; those that decide, watch, map inputs |
//! | `approvals` | how an approval is answered: once, or by a rule |
//! | `hooking`, `closures`, `editor` | how they are given; a hook from a closure; how hooks edit history |
//! | `journal`, `file`, `store` | where records go; a file; many files with one sync |
//! | `disk` | files for their owner alone, locks |
//! | `nested`, `inside` | an agent in a call of another; what would wait for itself |
//! | `fleet` | many agents by key |
#![forbid(unsafe_code)]

mod agent;
mod approvals;
mod builder;
mod carrier;
mod chain;
mod clock;
mod closures;
mod cx;
mod disk;
mod driver;
mod editor;
mod errands;
mod error;
mod file;
mod fleet;
mod hooking;
mod hooks;
mod inside;
mod journal;
mod limit;
mod model;
pub mod names;
mod nested;
mod open;
mod order;
mod say;
mod schema;
mod seal;
mod session;
mod slot;
mod source;
mod spans;
mod spill;
mod spine;
mod store;
mod timers;
mod tool;
mod typed;
mod unwind;
mod waiters;
mod watch;
mod watchers;

pub use agent::Agent;
pub use approvals::{Decision, Rule};
pub use builder::{AgentBuilder, drawn_branch};
pub use clock::WallClock;
pub use cx::{Stopped, ToolCx};
pub use editor::Editor;
pub use error::{AnswerError, BoxError, CommandError, HooksError, OpenError, PromptError};
pub use file::error::FileError;
pub use file::whole::Recorded;
pub use file::{FileJournal, Torn, TornEnd};
pub use fleet::Fleet;
pub use hooks::{
    ApproveQuestion, BeforeCall, CallQuestion, EndedStep, EndedTurn, FinalizeQuestion, GateQuestion,
    HookFuture, Hooks, RecoverQuestion, ScreenQuestion, SessionQuestion, StopQuestion, Wants,
};
pub use journal::Journal;
pub use limit::ModelLimit;
pub use model::{BoxFuture, Model, ModelIdentity, ModelOut};
pub use say::Say;
pub use schema::{BadSchema, Schema};
pub use session::Parked;
pub use source::ToolSource;
pub use store::{Store, StoreBuilder, StoreError, StoreJournal};
pub use tool::{Reject, Tool, ToolError};
pub use typed::{TypedTool, tool};
pub use waiters::Aborted;
pub use watch::{Events, Lagged, Place, Seen};
