//! `rig-agent`'s whole agent: its runner with its bus, hooks (none here) and tools. One run for each turn, begun with a
//! copy of the history so far, as its callers do it without a memory. Calls run one after the other, as by default.
use std::convert::Infallible;
use std::sync::Arc;

use futures::stream;
use rig_agent::core::completion::{CompletionRequest, CompletionResponse, Usage};
use rig_agent::core::driver::{Exchange, Model, Opened, Opening, Transport};
use rig_agent::core::message::{AssistantContent, Message, Origin, ToolName};
use rig_agent::core::test_utils::{MockFrame, MockScript};
use rig_agent::tool::{Tool, ToolContext};
use rig_agent::{Agent, AgentBuilder};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::Done;
use crate::loops::replies::Replies;
use crate::loops::{ANSWER, Loop, PROMPT, RESULT, Shape, TOOL, arguments};

/// An agent, its runtime, and the history between runs.
pub struct RigHost {
    runtime: Runtime,
    agent: Agent,
    replies: Arc<Replies>,
    history: Vec<Message>,
}

impl RigHost {
    /// Nothing yet.
    pub fn new() -> Done<Self> {
        let replies = Arc::new(Replies::default());
        let immediate = Immediate { replies: replies.clone(), tool: ToolName::new(TOOL)? };
        let agent = AgentBuilder::new(Model::new(MockScript::new("bench"), immediate)).tool(Given).build();
        let runtime = Builder::new_current_thread().enable_time().build()?;
        Ok(Self { runtime, agent, replies, history: Vec::new() })
    }
}

impl Loop for RigHost {
    fn turn(&mut self, shape: Shape) -> Done<()> {
        self.replies.begin(shape);
        let run = self.agent.prompt(PROMPT).history(self.history.iter().cloned());
        let run = run.max_turns(shape.steps as usize + 1);
        let response = self.runtime.block_on(run.run())?;
        if response.requests() != shape.steps as usize + 1 {
            return Err(format!("not as it was to be: {} requests", response.requests()).into());
        }
        self.history.extend_from_slice(response.messages());
        Ok(())
    }

    fn entries(&self) -> usize {
        self.history.len()
    }
}

#[derive(Clone)]
struct Immediate {
    replies: Arc<Replies>,
    tool: ToolName,
}

impl Transport<MockScript> for Immediate {
    fn send(&self, request: CompletionRequest, _exchange: Exchange) -> Opening<MockFrame> {
        std::hint::black_box(&request);
        let content = match self.replies.next_calls() {
            None => vec![AssistantContent::text(ANSWER)],
            Some(calls) => {
                let calls = (0..calls).map(|index| {
                    let arguments = serde_json::from_str(&arguments(index)).unwrap_or_default();
                    AssistantContent::tool_call(self.replies.id(), self.tool.clone(), arguments)
                });
                calls.collect()
            }
        };
        let origin = Origin::new("bench", "bench", "");
        let response = CompletionResponse::new(content, Usage::default(), origin, Value::Null);
        Opening::ready(Opened::new(stream::iter([Ok(MockFrame::Response(Box::new(response)))])))
    }
}

/// A tool that has its result at once.
struct Given;

impl Tool for Given {
    const NAME: &'static str = TOOL;
    type Args = Value;
    type Output = String;
    type Error = Infallible;

    fn description(&self) -> String {
        String::new()
    }

    fn parameters(&self) -> Value {
        json!({ "type": "object" })
    }

    async fn call(&self, _context: &mut ToolContext, args: Value) -> Result<String, Infallible> {
        std::hint::black_box(args);
        Ok(RESULT.to_owned())
    }
}
