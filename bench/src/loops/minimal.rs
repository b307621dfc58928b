//! The floor: a loop as one writes it in an afternoon. A `match` on an enum, a `Vec` for history. It allocates the same
//! messages, maps ids to places, and commits results in the order of the calls. It guarantees nothing else.
use std::collections::HashMap;

use crate::Done;
use crate::loops::{ANSWER, Loop, PROMPT, RESULT, Shape, TOOL, arguments, wire_id};

/// A message of its history.
#[derive(Clone, Debug)]
pub enum Message {
    /// What a person said.
    User(String),
    /// What the model said.
    Assistant(String, Vec<Call>),
    /// What a tool gave.
    Tool(String, String),
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The provider's name for it.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// JSON text.
    pub arguments: String,
}

/// Where it is.
#[derive(Debug, Default)]
enum State {
    #[default]
    Idle,
    Asking,
    Calling {
        calls: Vec<Call>,
        results: Vec<Option<String>>,
        at: HashMap<String, usize>,
        missing: usize,
    },
}

/// What it is told.
pub enum Event {
    /// A person said this.
    Prompt(String),
    /// The model said this, and calls these.
    Response(String, Vec<Call>),
    /// The call with this id gave this.
    Result(String, String),
}

/// What it wants.
pub enum Want {
    /// Nothing, or nothing yet.
    Nothing,
    /// A response to its history.
    Response,
    /// A result of each.
    Results(Vec<Call>),
}

/// The loop.
#[derive(Debug, Default)]
pub struct Minimal {
    history: Vec<Message>,
    state: State,
    serial: u64,
    /// Entries that the last request carried.
    sent: usize,
}

impl Minimal {
    /// One that goes on with this history.
    pub fn with_history(history: Vec<Message>) -> Self {
        Self { history, ..Self::default() }
    }

    /// What was said.
    pub fn history(&self) -> &[Message] {
        &self.history
    }

    /// Takes an event; gives what it wants next.
    pub fn on(&mut self, event: Event) -> Want {
        match (std::mem::take(&mut self.state), event) {
            (State::Idle, Event::Prompt(text)) => {
                self.history.push(Message::User(text));
                self.state = State::Asking;
                Want::Response
            }
            (State::Asking, Event::Response(text, calls)) => {
                self.history.push(Message::Assistant(text, calls.clone()));
                if calls.is_empty() {
                    return Want::Nothing;
                }
                let at = calls.iter().enumerate().map(|(index, call)| (call.id.clone(), index)).collect();
                let missing = calls.len();
                self.state =
                    State::Calling { calls: calls.clone(), results: vec![None; missing], at, missing };
                Want::Results(calls)
            }
            (State::Calling { calls, mut results, at, mut missing }, Event::Result(id, text)) => {
                if let Some(index) = at.get(&id) {
                    results[*index] = Some(text);
                    missing -= 1;
                }
                if missing > 0 {
                    self.state = State::Calling { calls, results, at, missing };
                    return Want::Nothing;
                }
                for (call, result) in calls.into_iter().zip(results) {
                    self.history.push(Message::Tool(call.id, result.unwrap_or_default()));
                }
                self.state = State::Asking;
                Want::Response
            }
            (state, _) => {
                self.state = state;
                Want::Nothing
            }
        }
    }

    /// What the request needs to read: what came since the last one.
    fn read(&mut self) {
        for message in &self.history[self.sent..] {
            std::hint::black_box(message);
        }
        self.sent = self.history.len();
    }
}

impl Loop for Minimal {
    fn turn(&mut self, shape: Shape) -> Done<()> {
        self.on(Event::Prompt(PROMPT.into()));
        for _ in 0..shape.steps {
            self.read();
            let calls = (0..shape.calls).map(|index| {
                self.serial += 1;
                Call { id: wire_id(self.serial), tool: TOOL.into(), arguments: arguments(index) }
            });
            let calls = calls.collect();
            let Want::Results(calls) = self.on(Event::Response(String::new(), calls)) else {
                return Err("no calls are wanted".into());
            };
            for call in calls {
                std::hint::black_box((&call.tool, &call.arguments));
                self.on(Event::Result(call.id, RESULT.into()));
            }
        }
        self.read();
        self.on(Event::Response(ANSWER.into(), Vec::new()));
        Ok(())
    }

    fn entries(&self) -> usize {
        self.history.len()
    }
}
