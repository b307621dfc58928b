//! `loopctl`'s loop around its bare machine, with responses that are not streamed. It copies history for each request and
//! counts its tokens after each response.
use std::pin::Pin;
use std::sync::Arc;

use futures::Stream;
use loopctl::api::error::ApiError;
use loopctl::api::{ApiClient, NonStreamingResponse, StreamRequest};
use loopctl::config::SessionConfig;
use loopctl::engine::core::Loop as _;
use loopctl::engine::{BareLoop, RunConfig};
use loopctl::message::{Message, MessagePart};
use loopctl::stream::{StreamEvent, StreamStopReason};
use loopctl::tool::{FnTool, ToolContext, ToolError, ToolOutput, ToolRegistry};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::Done;
use crate::loops::replies::Replies;
use crate::loops::{ANSWER, Loop, PROMPT, RESULT, Shape, TOOL, arguments};

/// The loop, which keeps its history, and its runtime.
pub struct LoopctlHost {
    runtime: Runtime,
    agent: BareLoop<Immediate>,
    replies: Arc<Replies>,
}

impl LoopctlHost {
    /// Nothing yet.
    pub fn new() -> Done<Self> {
        let replies = Arc::new(Replies::default());
        let mut tools = ToolRegistry::new();
        let tool = FnTool::new(TOOL.to_owned(), String::new(), json!({ "type": "object" }), given);
        tools.register(tool.concurrency_safe());
        let config = SessionConfig { auto_compact: false, ..SessionConfig::default() };
        let agent = BareLoop::new(Arc::new(Immediate(replies.clone())), tools, config);
        let runtime = Builder::new_current_thread().enable_time().build()?;
        Ok(Self { runtime, agent, replies })
    }
}

impl Loop for LoopctlHost {
    fn turn(&mut self, shape: Shape) -> Done<()> {
        self.replies.begin(shape);
        let mut config = RunConfig::default();
        // Else it takes turns that are alike for a loop without an end.
        config.reset_managers = true;
        let run = self.runtime.block_on(self.agent.run(PROMPT, &config))?;
        let calls = (shape.steps * shape.calls) as usize;
        if (run.turn_count(), run.tool_call_count()) != (shape.steps as usize + 1, calls) {
            return Err(format!("not as it was to be: {} turns", run.turn_count()).into());
        }
        Ok(())
    }

    fn entries(&self) -> usize {
        self.agent.machine().history().len()
    }
}

/// A tool that has its result at once.
fn given(
    input: Value,
    _cx: &ToolContext,
) -> Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'static>> {
    Box::pin(async move {
        std::hint::black_box(input);
        Ok(ToolOutput::text(RESULT.to_owned()))
    })
}

struct Immediate(Arc<Replies>);

impl Immediate {
    fn response(&self) -> NonStreamingResponse {
        let (parts, stop_reason) = match self.0.next_calls() {
            None => (vec![MessagePart::text(ANSWER)], StreamStopReason::EndTurn),
            Some(calls) => {
                let calls = (0..calls).map(|index| {
                    let arguments = serde_json::from_str(&arguments(index)).unwrap_or_default();
                    MessagePart::tool_call(self.0.id(), TOOL, arguments)
                });
                (calls.collect(), StreamStopReason::ToolCall)
            }
        };
        let mut message = Message::assistant("");
        message.parts = parts;
        NonStreamingResponse { message, stop_reason, usage: None }
    }
}

impl ApiClient for Immediate {
    fn model(&self) -> String {
        "bench".to_owned()
    }

    fn stream_messages(
        &self,
        _request: &StreamRequest,
    ) -> Pin<Box<dyn Stream<Item = Result<StreamEvent, ApiError>> + Send + 'static>> {
        Box::pin(futures::stream::empty())
    }

    fn create_message(
        &self,
        request: &StreamRequest,
    ) -> Pin<Box<dyn Future<Output = Result<NonStreamingResponse, ApiError>> + Send + '_>> {
        std::hint::black_box(request);
        Box::pin(async { Ok(self.response()) })
    }
}
