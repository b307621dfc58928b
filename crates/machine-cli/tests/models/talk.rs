//! A conversation with the model `rules`, committed to a real history as the engine does it.
use std::collections::BTreeMap;
use std::sync::Arc;

use machine_cli::models::Reply;
use machine_cli::models::rules::respond;
use machine_cli::tools::all;
use machine_core::Text;
use machine_core::config::ToolSpec;
use machine_core::history::{History, is_object};
use machine_core::ids::TurnId;
use machine_core::message::{Body, Entry, Message, Origin, Part, ToolCall, ToolMessage, text_content};
use machine_core::outcome::{ErrorCode, Outcome};
use machine_core::response::{Finish, ModelEvent};

use crate::common::World;

/// More responses than any request here may take.
const MAX_RESPONSES: usize = 200;

/// A call as the model sent it.
#[derive(Clone, Debug)]
pub struct Call {
    pub id: String,
    pub tool: String,
    pub args: String,
}

/// How a call ends, with what the tool said.
pub type End = (Outcome, String);

pub struct Talk {
    pub history: History,
    pub tools: Vec<ToolSpec>,
    /// The calls of each response, since the beginning.
    pub batches: Vec<Vec<Call>>,
    turn: TurnId,
    inputs: u32,
}

/// What a response says and asks for.
pub fn read(reply: &Reply) -> (String, Vec<Call>) {
    let mut text = String::new();
    let mut calls: BTreeMap<u32, (Call, usize)> = BTreeMap::new();
    for event in &reply.events {
        match event {
            ModelEvent::Text(piece) => text.push_str(piece),
            ModelEvent::CallStart { index, id, tool } => {
                let call = Call { id: id.to_string(), tool: tool.to_string(), args: String::new() };
                assert!(calls.insert(*index, (call, 0)).is_none(), "index {index} twice");
            }
            ModelEvent::CallArgs { index, piece } => {
                let (call, pieces) = calls.get_mut(&index.expect("an index")).expect("a call that began");
                call.args.push_str(piece);
                *pieces += 1;
            }
            ModelEvent::Started { .. } | ModelEvent::Usage(_) => {}
            other => unreachable!("unexpected {other:?}"),
        }
    }
    assert!(calls.values().all(|(call, pieces)| is_object(&call.args) && *pieces >= 2), "{calls:?}");
    assert!(matches!(reply.events.last(), Some(ModelEvent::Usage(usage)) if usage.output > 0));
    let finish = if calls.is_empty() { Finish::EndTurn } else { Finish::ToolUse };
    assert_eq!(reply.finish, finish);
    assert!(!text.trim().is_empty(), "a response says something");
    (text, calls.into_values().map(|(call, _)| call).collect())
}

impl Talk {
    pub fn new() -> Self {
        let spec = |tool: &machine_cli::tools::ToolDef| ToolSpec {
            name: tool.name.into(),
            description: tool.description.into(),
            parameters: tool.schema.into(),
        };
        Self {
            history: History::new(),
            tools: all().iter().map(spec).collect(),
            batches: Vec::new(),
            turn: TurnId { branch: 1, turn: 0 },
            inputs: 0,
        }
    }

    /// A prompt that opens a turn.
    pub fn prompt(&mut self, text: &str) {
        self.turn.turn += 1;
        self.steer(text);
    }

    /// A prompt within the turn.
    pub fn steer(&mut self, text: &str) {
        self.inputs += 1;
        let id = format!("input-{}", self.inputs).into();
        self.user(Origin::Prompt { id }, text);
    }

    pub fn user(&mut self, origin: Origin, text: &str) {
        let entry = Entry::user(origin, Some(self.turn), text_content(text));
        self.history.append(entry).expect("a legal entry");
    }

    /// One response, with the ends of its calls. Gives what it said, and whether it was the answer.
    pub fn respond(&mut self, mut settle: impl FnMut(&Call) -> End) -> (String, bool) {
        self.history.ready().expect("a request may be made");
        let reply = respond(&self.history, &self.tools);
        assert_eq!(reply, respond(&self.history, &self.tools), "the same history, the same response");
        let (text, calls) = read(&reply);
        let step = self.turn.step(u32::try_from(self.history.len()).expect("a short history"));
        let wire: Vec<Text> = calls.iter().map(|call| Text::from(&*call.id)).collect();
        let committed = calls.iter().zip(0..).map(|(call, index)| ToolCall {
            id: step.call(index),
            wire: Text::from(&*call.id),
            tool: Text::from(&*call.tool),
            args: Text::from(&*call.args),
            raw: None,
        });
        let parts: Vec<Part> = std::iter::once(Part::text(&*text))
            .chain(committed.map(|call| Body::Call(call).into()))
            .collect();
        self.commit(Origin::Model, Message::Assistant { content: parts.into() });
        for ((call, index), wire) in calls.iter().zip(0..).zip(wire) {
            let (outcome, said) = settle(call);
            let content = match &*said {
                "" => text_content(outcome.wording(None)),
                said => text_content(said),
            };
            let tool = Text::from(&*call.tool);
            let result =
                ToolMessage { call: step.call(index), wire, tool, outcome, background: false, content };
            self.commit(Origin::Tool, Message::Tool(result));
        }
        let is_answer = calls.is_empty();
        self.batches.push(calls);
        (text, is_answer)
    }

    /// Responses until the answer.
    pub fn answer(&mut self, mut settle: impl FnMut(&Call) -> End) -> String {
        for _ in 0..MAX_RESPONSES {
            if let (text, true) = self.respond(&mut settle) {
                return text;
            }
        }
        unreachable!("no answer after {MAX_RESPONSES} responses: {:?}", self.batches.last());
    }

    /// A prompt, worked on with the real tools.
    pub fn ask(&mut self, world: &World, prompt: &str) -> String {
        self.prompt(prompt);
        self.answer(|call| run(world, call))
    }

    /// The names of the tools, a list for each response.
    pub fn tools_called(&self) -> Vec<Vec<&str>> {
        self.batches.iter().map(|calls| calls.iter().map(|call| &*call.tool).collect()).collect()
    }

    /// How many calls of a tool were made.
    pub fn count(&self, tool: &str) -> usize {
        self.batches.iter().flatten().filter(|call| call.tool == tool).count()
    }

    fn commit(&mut self, origin: Origin, message: Message) {
        let entry = Entry { origin, turn: Some(self.turn), message, meta: None };
        self.history.append(Arc::new(entry)).expect("a legal entry");
    }
}

/// What the real tool does.
pub fn run(world: &World, call: &Call) -> End {
    match world.call(&call.tool, &call.args) {
        Ok(text) => (Outcome::Ok, text),
        Err(text) => (Outcome::error(ErrorCode::Failed), text),
    }
}

pub fn denied(reason: &str) -> End {
    (Outcome::Denied { reason: reason.into() }, String::new())
}

/// Every one of these stands in the text.
#[track_caller]
pub fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
}
