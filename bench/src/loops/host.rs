//! Our engine under the tokio host: the same work, with a model and a tool that have their answers at once.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use machine_adapter::Request;
use machine_core::Text;
use machine_core::access::{Access, Mode, Touch};
use machine_core::ask::Plan;
use machine_core::config::{CallLimits, ToolSpec};
use machine_core::outcome::ToolResult;
use machine_core::response::{Finish, Finished, ModelError};
use machine_host::{Agent, BoxFuture, Model, ModelOut, Reject, Tool, ToolCx, ToolError};
use tokio::runtime::Runtime;

use crate::Done;
use crate::loops::ours::Touches;
use crate::loops::replies::Replies;
use crate::loops::{ANSWER, Loop, PROMPT, RESULT, Shape, TOOL, arguments};

/// An agent, and what its model is to say.
#[derive(Clone)]
pub struct Player {
    agent: Agent,
    replies: Arc<Replies>,
}

impl Player {
    /// Opens an agent without a journal, in a runtime.
    pub async fn open(touches: Touches) -> Done<Self> {
        let replies = Arc::new(Replies::default());
        let agent = Agent::builder()
            .model(Immediate { replies: replies.clone(), sent: AtomicUsize::default() })
            .tool(Given(touches))
            .config(|config| {
                config.calls = CallLimits { max_parallel: u32::MAX, ..CallLimits::default() };
                config.turn.calls = u32::MAX;
            })
            .open()
            .await?;
        Ok(Self { agent, replies })
    }

    /// Plays one turn after the other.
    pub async fn turns(&self, shape: Shape, turns: u32) -> Done<()> {
        for _ in 0..turns {
            self.replies.begin(shape);
            let end = self.agent.prompt(PROMPT).await?;
            if (end.reason.name(), end.steps) != ("completed", shape.steps + 1) {
                return Err(format!("not as it was to be: {end:?}").into());
            }
        }
        Ok(())
    }
}

/// One agent, and the runtime that it is in.
pub struct Host {
    runtime: Arc<Runtime>,
    player: Player,
    entries: usize,
}

impl Host {
    /// A new session.
    pub fn new(runtime: Arc<Runtime>, touches: Touches) -> Done<Self> {
        let player = runtime.block_on(Player::open(touches))?;
        Ok(Self { runtime, player, entries: 0 })
    }

    /// Plays turns in a task, so that all of it is done by the workers of the runtime.
    pub fn turns(&mut self, shape: Shape, turns: u32) -> Done<()> {
        self.entries += turns as usize * shape.entries();
        let player = self.player.clone();
        self.runtime.block_on(self.runtime.spawn(async move { player.turns(shape, turns).await }))?
    }
}

impl Loop for Host {
    fn turn(&mut self, shape: Shape) -> Done<()> {
        self.turns(shape, 1)
    }

    fn entries(&self) -> usize {
        self.entries
    }
}

/// The model.
struct Immediate {
    replies: Arc<Replies>,
    /// Entries that the last request carried.
    sent: AtomicUsize,
}

impl Model for Immediate {
    fn call(&self, request: Request, out: ModelOut) -> BoxFuture<'_, Result<Finished, ModelError>> {
        Box::pin(self.respond(request, out))
    }
}

impl Immediate {
    async fn respond(&self, request: Request, out: ModelOut) -> Result<Finished, ModelError> {
        let new = request.history.len() - self.sent.swap(request.history.len(), Ordering::Relaxed);
        for entry in request.history.iter().rev().take(new) {
            std::hint::black_box(entry);
        }
        let Some(calls) = self.replies.next_calls() else {
            out.text(ANSWER).await;
            return Ok(Finished::new(Finish::EndTurn));
        };
        for index in 0..calls {
            out.call(index, self.replies.id(), TOOL, arguments(index)).await;
        }
        Ok(Finished::new(Finish::ToolUse))
    }
}

/// A tool that has its result at once.
struct Given(Touches);

impl Tool for Given {
    fn spec(&self) -> ToolSpec {
        ToolSpec { name: TOOL.into(), description: "".into(), parameters: "{}".into() }
    }

    fn plan(&self, args: &str) -> Result<Plan, Reject> {
        let access = match self.0 {
            Touches::Nothing => Access::None,
            Touches::Distinct => {
                let path = args.split('"').nth(3).ok_or_else(|| Reject::Invalid("no path".into()))?;
                Touch::path(Mode::Write, path).into()
            }
            Touches::Shared => Touch::path(Mode::Write, "src/main.rs").into(),
            Touches::Everything => Access::All,
        };
        Ok(Plan { access, ..Plan::default() })
    }

    fn call(&self, _args: Text, cx: ToolCx) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move { cx.text(RESULT) })
    }
}
