//! A host that carries out nothing by itself: it keeps the open asks by what they ask, and all events.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
#![expect(clippy::panic, reason = "a test may also fail in a helper")]
#![expect(dead_code, reason = "each test file uses its own part")]
use std::collections::BTreeMap;
use std::sync::Arc;

use machine_adapter::{Engine, Order, Out};
use machine_core::ask::{Answer, Ask, Executed, Piece, Plan, Prepared, Question};
use machine_core::config::Config;
use machine_core::event::Event;
use machine_core::ids::{AskId, CallId};
use machine_core::input::{Command, Input, Submit};
use machine_core::message::{Message, Part};
use machine_core::outcome::{Outcome, ToolResult};
use machine_core::response::{Finish, Finished, ModelEvent};

pub struct Host {
    pub engine: Engine,
    pub open: BTreeMap<AskId, Ask>,
    pub events: Vec<Event>,
    /// Executions that left, in order.
    pub executed: Vec<CallId>,
    /// Preparations that left, in order.
    pub prepared: Vec<CallId>,
    out: Out,
    now: u64,
    prompts: u32,
}

impl Host {
    pub fn new(config: Config) -> Self {
        let engine = Engine::new(1, Arc::new(config)).unwrap();
        let (open, events, out) = (BTreeMap::new(), Vec::new(), Out::default());
        Self { engine, open, events, executed: Vec::new(), prepared: Vec::new(), out, now: 0, prompts: 0 }
    }

    /// One input; what comes out is kept, and history is checked (V05).
    pub fn feed(&mut self, input: &Input) {
        self.now += 1;
        self.engine.feed(self.now, input, &mut self.out).unwrap();
        self.events.append(&mut self.out.events);
        let orders = self.out.now.drain(..).chain(self.out.acts.drain(..).map(Order::Ask));
        for order in orders {
            match order {
                Order::Ask(ask) => {
                    match ask.question {
                        Question::Execute { call, .. } => self.executed.push(call),
                        Question::Prepare { call, .. } => self.prepared.push(call),
                        _ => {}
                    }
                    self.open.insert(ask.id, ask);
                }
                // The outcome of an execution that is taken back still counts.
                Order::Withdraw(withdrawal) => {
                    self.open.retain(|id, ask| {
                        *id != withdrawal.ask || matches!(ask.question, Question::Execute { .. })
                    });
                }
            }
        }
    }

    /// As [`Host::feed`], and history is whole, with nothing open but the running batch (V05).
    pub fn checked(&mut self, input: &Input) {
        self.feed(input);
        assert_eq!(self.engine.history().audit(), Ok(()));
        let open = self.engine.history().awaited();
        assert!(open.is_none() || self.engine.turn().is_some(), "V05: {open:?} is open and no turn runs");
    }

    pub fn command(&mut self, command: Command) {
        self.checked(&command.into());
    }

    pub fn submit(&mut self) {
        self.prompts += 1;
        self.command(Command::Submit(Submit::text(format!("p{}", self.prompts), "go")));
    }

    pub fn answer(&mut self, ask: AskId, answer: Answer) {
        self.open.remove(&ask);
        self.checked(&Input::Answer { ask, answer });
    }

    /// The one open ask that is like this.
    pub fn find(&self, like: impl Fn(&Question) -> bool) -> AskId {
        let mut found = self.open.values().filter(|ask| like(&ask.question));
        found.next().unwrap_or_else(|| panic!("no such ask among {:?}", self.open)).id
    }

    fn attempt(&self) -> AskId {
        self.find(|question| matches!(question, Question::Attempt { .. }))
    }

    pub fn model(&mut self, event: ModelEvent) {
        let ask = self.attempt();
        self.feed(&Input::Piece { ask, piece: Piece::Model(event) });
    }

    pub fn finish(&mut self, finish: Finish) {
        self.answer(self.attempt(), Answer::Finished(Arc::new(Finished::new(finish))));
    }

    /// A response with these calls: provider's id, tool, arguments.
    pub fn respond(&mut self, calls: &[(&str, &str, &str)]) {
        for ((id, tool, args), index) in calls.iter().zip(0..) {
            self.model(ModelEvent::CallStart { index, id: (*id).into(), tool: (*tool).into() });
            self.model(ModelEvent::CallArgs { index: Some(index), piece: (*args).into() });
        }
        self.finish(Finish::ToolUse);
    }

    pub fn say(&mut self, text: &str) {
        self.model(ModelEvent::Text(text.into()));
        self.finish(Finish::EndTurn);
    }

    pub fn prepare_as(&mut self, call: CallId, prepared: Prepared) {
        let ask = self.find(|question| matches!(question, Question::Prepare { call: c, .. } if *c == call));
        self.answer(ask, Answer::Prepare(prepared));
    }

    pub fn prepare(&mut self, call: CallId, plan: Plan) {
        self.prepare_as(call, Prepared::Ready(Arc::new(plan)));
    }

    pub fn execution(&self, call: CallId) -> AskId {
        self.find(|question| matches!(question, Question::Execute { call: c, .. } if *c == call))
    }

    pub fn done_with(&mut self, call: CallId, result: ToolResult) {
        self.answer(self.execution(call), Answer::Execute(Executed::Done(Arc::new(result))));
    }

    pub fn done(&mut self, call: CallId) {
        self.done_with(
            call,
            ToolResult { output: vec![Part::text(format!("result {call}"))], ..ToolResult::default() },
        );
    }

    /// The calls of the latest batch, by their index.
    pub fn call(&self, index: u32) -> CallId {
        let turn = self.engine.turn().unwrap_or_else(|| panic!("no turn runs"));
        turn.data().step_id().call(index)
    }

    /// The results in history: wire id, outcome, text.
    pub fn results(&self) -> Vec<(String, Outcome, String)> {
        let result = |message: &Message| match message {
            Message::Tool(tool) => Some((tool.wire.to_string(), tool.outcome.clone(), message.text())),
            _ => None,
        };
        self.engine.history().iter().filter_map(|entry| result(&entry.message)).collect()
    }

    /// The scheduler as it is saved: the same as a new engine's when nothing is left in it.
    pub fn batch(&self) -> serde_json::Value {
        saved_batch(&self.engine)
    }
}

pub fn saved_batch(engine: &Engine) -> serde_json::Value {
    serde_json::to_value(engine.snapshot()).unwrap()["engine"]["batch"].clone()
}
