//! A session with its journal, driven by hand.
use std::sync::Arc;

use machine_adapter::{Engine, Order, Out};
use machine_core::ask::{Answer, Ask, Executed, Piece, Plan, Prepared};
use machine_core::config::Config;
use machine_core::event::Event;
use machine_core::input::{Command, Input, Note, Submit};
use machine_core::message::Message;
use machine_core::outcome::{Outcome, ToolResult};
use machine_core::response::{Finish, Finished, ModelEvent};
use machine_journal::{Closing, MemoryJournal, Record, Writer, reopen};

pub struct Session {
    pub engine: Engine,
    pub journal: MemoryJournal,
    pub writer: Writer,
    pub open: Vec<Ask>,
    pub events: Vec<Event>,
    pub at: u64,
}

impl Session {
    pub fn new() -> Self {
        Self::with(Config::default())
    }

    pub fn with(config: Config) -> Self {
        let config = Arc::new(config);
        let mut journal = MemoryJournal::new();
        journal.append(Writer::header(7, config.clone()));
        journal.sync();
        let engine = Engine::new(7, config.clone()).unwrap();
        Self { engine, journal, writer: Writer::new(), open: vec![], events: vec![], at: 0 }
    }

    /// Opens what is durable; gives whether something had to be closed.
    pub fn open(records: &[Record]) -> (Self, bool) {
        let reopened = reopen(records).unwrap();
        let mut journal = MemoryJournal::new();
        records.iter().cloned().for_each(|record| journal.append(record));
        journal.sync();
        let (engine, writer) = (reopened.engine, reopened.writer);
        let mut session = Self { engine, journal, writer, open: vec![], events: vec![], at: 0 };
        let closed = matches!(reopened.closing, Closing::Recovered(_));
        match reopened.closing {
            Closing::Recovered(input) => session.feed(input),
            Closing::AskAgain(again) => {
                let asks = again.iter().filter_map(|ask| session.engine.ask(*ask));
                session.open = asks.map(|open| open.ask.clone()).collect();
            }
        }
        (session, closed)
    }

    pub fn feed(&mut self, input: Input) {
        self.feed_until(input, Until::Synced);
    }

    /// As J02 has it: append, handle, append the acts, sync.
    pub fn feed_until(&mut self, input: Input, until: Until) {
        let mut out = Out::default();
        self.at += 10;
        let (admitted, mut records) = (self.engine.admit(&input).unwrap(), vec![]);
        self.writer.input(&self.engine, self.at, &input, &mut records);
        records.drain(..).for_each(|record| self.journal.append(record));
        self.engine.handle(self.at, admitted, &mut out);
        for order in &out.now {
            match order {
                Order::Ask(ask) => self.open.push(ask.clone()),
                Order::Withdraw(withdrawal) => self.open.retain(|ask| ask.id != withdrawal.ask),
            }
        }
        if until == Until::Handled {
            // The process dies before its acts are written, and nothing of them leaves.
            self.journal.sync();
            return;
        }
        self.writer.handled(&self.engine, &out, &mut records);
        records.into_iter().for_each(|record| self.journal.append(record));
        self.journal.sync();
        self.open.extend(out.acts);
        self.events.extend(out.events);
    }

    pub fn take(&mut self, kind: &str) -> Ask {
        let at = self.open.iter().position(|ask| ask.question.kind() == kind);
        let at = at.unwrap_or_else(|| panic!("no {kind} is open: {:?}", self.open));
        self.open.remove(at)
    }

    pub fn answer(&mut self, kind: &str, answer: Answer) {
        let ask = self.take(kind).id;
        self.feed(Input::Answer { ask, answer });
    }

    pub fn piece(&mut self, kind: &str, piece: Piece) {
        let ask = self.open.iter().find(|ask| ask.question.kind() == kind).unwrap().id;
        self.feed(Input::Piece { ask, piece });
    }

    pub fn prompt(&mut self, id: &str) {
        self.feed(Command::Submit(Submit::text(id, "go")).into());
    }

    pub fn respond(&mut self, calls: &[&str]) {
        for (index, id) in (0..).zip(calls) {
            let start = ModelEvent::CallStart { index, id: (*id).into(), tool: "run".into() };
            self.piece("Attempt", Piece::Model(start));
        }
        self.piece("Attempt", Piece::Model(ModelEvent::Text("well".into())));
        self.answer("Attempt", Answer::Finished(Arc::new(Finished::new(Finish::EndTurn))));
    }

    pub fn prepare(&mut self, approval: bool) {
        let access = machine_core::access::Access::None;
        let plan = Plan { approval, access, ..Plan::default() };
        self.answer("Prepare", Answer::Prepare(Prepared::Ready(Arc::new(plan))));
    }

    pub fn outcomes(&self) -> Vec<Outcome> {
        let entries = self.engine.history().iter();
        let tools = entries.filter_map(|entry| match &entry.message {
            Message::Tool(tool) => Some(tool.outcome.clone()),
            _ => None,
        });
        tools.collect()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Until {
    Handled,
    Synced,
}

pub fn ok(text: &str) -> Answer {
    Answer::Execute(Executed::Done(Arc::new(ToolResult::text(text))))
}

/// Two prompts, a call with output, a notification, a final answer.
pub fn whole_session() -> Session {
    let mut session = Session::new();
    session.prompt("a");
    session.respond(&["x", "y"]);
    session.prepare(false);
    session.prepare(false);
    session.piece("Execute", Piece::Output(machine_core::message::text_content("half")));
    session.feed(Command::Notify(Note::text("n", "news")).into());
    session.answer("Execute", ok("one"));
    session.answer("Execute", ok("two"));
    session.respond(&[]);
    session.prompt("b");
    session.respond(&[]);
    session
}
