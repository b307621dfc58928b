//! `rig-agent`'s steppable run: one run for each turn, begun with the history so far. It copies that history for each
//! request, and the calls of a response several times; it checks that a batch of results is complete and fits.
use std::collections::BTreeSet;

use rig_agent::core::completion::Usage;
use rig_agent::core::message::{
    AssistantContent, AssistantMessage, Message, ToolName, ToolResultContent, UserContent,
};
use rig_agent::run::{AgentRun, AgentRunStep, ModelTurn};
use serde_json::Value;

use crate::Done;
use crate::loops::{ANSWER, Loop, PROMPT, RESULT, Shape, TOOL, arguments, wire_id};

/// The history between runs.
#[derive(Debug)]
pub struct Rig {
    history: Vec<Message>,
    tools: BTreeSet<String>,
    tool: ToolName,
    serial: u64,
}

impl Rig {
    /// Nothing yet.
    pub fn new() -> Done<Self> {
        let tools = BTreeSet::from([TOOL.to_owned()]);
        Ok(Self { history: Vec::new(), tools, tool: ToolName::new(TOOL)?, serial: 0 })
    }

    fn response(&self, choice: Vec<AssistantContent>) -> ModelTurn {
        let (head, tools) = (AssistantMessage::default(), self.tools.clone());
        ModelTurn::new(head, choice, Usage::default(), tools.clone(), tools, Value::Null)
    }
}

impl Loop for Rig {
    fn turn(&mut self, shape: Shape) -> Done<()> {
        let mut run = AgentRun::new(Message::user(PROMPT));
        run = run.with_history(std::mem::take(&mut self.history)).max_turns(shape.steps as usize + 1);
        let mut left = shape.steps;
        loop {
            match run.next_step()? {
                AgentRunStep::CallModel { prompt, history, .. } => {
                    std::hint::black_box((&prompt, &history));
                    let choice = if left == 0 {
                        vec![AssistantContent::text(ANSWER)]
                    } else {
                        let calls = (0..shape.calls).map(|index| {
                            self.serial += 1;
                            let arguments = serde_json::from_str(&arguments(index)).unwrap_or_default();
                            AssistantContent::tool_call(wire_id(self.serial), self.tool.clone(), arguments)
                        });
                        calls.collect()
                    };
                    left = left.saturating_sub(1);
                    run.model_response(self.response(choice))?;
                }
                AgentRunStep::CallTools { calls } => {
                    let results = calls.into_iter().map(|call| {
                        let (id, name) = (call.tool_call.id, call.tool_call.function.name);
                        UserContent::tool_result(id, name, vec![ToolResultContent::text(RESULT)])
                    });
                    run.tool_results(results.collect())?;
                }
                AgentRunStep::Done(response) => {
                    std::hint::black_box(&response);
                    self.history = run.full_history();
                    return Ok(());
                }
            }
        }
    }

    fn entries(&self) -> usize {
        self.history.len()
    }
}
