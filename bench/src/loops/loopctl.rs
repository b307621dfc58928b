//! `loopctl`'s bare machine: it keeps messages and says what comes next. It checks no result, takes what it is given in the
//! order given, and copies the pending calls.
use loopctl::engine::core::{LoopMachine, MachinePolicy, MachineStep, ModelResponse};
use loopctl::message::{Message, MessagePart};

use crate::Done;
use crate::loops::{ANSWER, Loop, PROMPT, RESULT, Shape, TOOL, arguments, wire_id};

const POLICY: MachinePolicy =
    MachinePolicy { max_turns: 1_000, context_window: 0, compact_threshold: 0, auto_compact: false };

/// The machine, which keeps its history.
#[derive(Debug)]
pub struct Loopctl {
    machine: LoopMachine,
    /// Responses can be made outside of the crate only from JSON: one is, and the others are copies of it.
    blank: ModelResponse,
    serial: u64,
    sent: usize,
}

impl Loopctl {
    /// Nothing yet.
    pub fn new() -> Done<Self> {
        let mut blank: ModelResponse = serde_json::from_value(serde_json::json!({
            "message": Message::assistant(""),
            "input_tokens": 0,
            "output_tokens": 0,
            "stop_reason": "EndTurn",
            "available_tools": [],
        }))?;
        blank.available_tools = vec![TOOL.into()];
        let machine = LoopMachine::from_history(Vec::new());
        Ok(Self { machine, blank, serial: 0, sent: 0 })
    }

    fn respond(&mut self, parts: Vec<MessagePart>) {
        let mut message = Message::assistant("");
        message.parts = parts;
        let mut response = self.blank.clone();
        response.message = message;
        self.machine.model_response(response, 0);
    }
}

impl Loop for Loopctl {
    fn turn(&mut self, shape: Shape) -> Done<()> {
        self.machine.accept_input(PROMPT);
        let mut left = shape.steps;
        loop {
            match self.machine.next_step(POLICY) {
                MachineStep::CallLLM { .. } => {
                    // What came in earlier turns; of this turn's messages nothing can be seen from outside.
                    for message in &self.machine.history()[self.sent..] {
                        std::hint::black_box(message);
                    }
                    self.sent = self.machine.history().len();
                    if left == 0 {
                        self.respond(vec![MessagePart::text(ANSWER)]);
                        continue;
                    }
                    left -= 1;
                    let calls = (0..shape.calls).map(|index| {
                        self.serial += 1;
                        let arguments = serde_json::from_str(&arguments(index)).unwrap_or_default();
                        MessagePart::tool_call(wire_id(self.serial), TOOL, arguments)
                    });
                    let calls = calls.collect();
                    self.respond(calls);
                }
                MachineStep::CallTools { calls, .. } => {
                    let results = calls.into_iter().map(|pending| {
                        let (id, tool) = (pending.call.id, pending.call.tool);
                        let mut message = Message::user("");
                        message.parts = vec![MessagePart::tool_result(id, tool, RESULT.to_owned(), false)];
                        message
                    });
                    self.machine.tool_results(results.collect());
                }
                MachineStep::Done(outcome) => {
                    std::hint::black_box(&outcome);
                    self.machine.commit_pending();
                    return Ok(());
                }
                other => return Err(format!("not expected: {other:?}").into()),
            }
        }
    }

    fn entries(&self) -> usize {
        self.machine.history().len()
    }
}
