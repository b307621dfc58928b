//! Sessions that are made up: an engine that is driven by hand, and its records as a host would write them (J02).
use std::sync::Arc;

use machine_adapter::{Engine, Order, Out};
use machine_core::access::Access;
use machine_core::ask::{Answer, Ask, Executed, Piece, Plan, Prepared, Question};
use machine_core::config::Config;
use machine_core::ids::AskId;
use machine_core::input::{Command, Input, Submit};
use machine_core::message::text_content;
use machine_core::outcome::ToolResult;
use machine_core::response::{Finish, Finished, ModelEvent};
use machine_journal::{Record, Writer};

use crate::Done;

/// What a turn is like.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Responses with calls, before the one that ends the turn.
    pub steps: u32,
    /// Calls of each.
    pub calls: u32,
    /// Bytes of a result: at least, and at most.
    pub result: (usize, usize),
}

/// As an agent that writes code has it.
pub const USUAL: Shape = Shape { steps: 2, calls: 3, result: (300, 4_000) };

/// Many of these make a long session that is not large.
pub const BRIEF: Shape = Shape { steps: 1, calls: 2, result: (200, 800) };

/// Text as tools return it, with quotes and ends of lines.
const TEXT: &str = include_str!("script.rs");

/// A session at work.
pub struct Script {
    engine: Engine,
    writer: Writer,
    out: Out,
    /// What was asked and not answered.
    open: Vec<Ask>,
    records: Vec<Record>,
    at: u64,
    turns: u32,
    random: fastrand::Rng,
}

impl Script {
    /// A new one, always the same.
    pub fn new() -> Done<Self> {
        let config = Arc::new(Config::default());
        Ok(Self {
            engine: Engine::new(7, config.clone())?,
            writer: Writer::new(),
            out: Out::default(),
            open: Vec::new(),
            records: vec![Writer::header(7, config)],
            at: 1_764_500_000_000,
            turns: 0,
            random: fastrand::Rng::with_seed(7),
        })
    }

    /// Entries of its history.
    pub fn entries(&self) -> usize {
        self.engine.history().len()
    }

    /// One more turn; gives the records that came since the last.
    pub fn turn(&mut self, shape: Shape) -> Done<Vec<Record>> {
        self.turns += 1;
        let prompt = self.text(100, 300);
        self.feed(&Command::Submit(Submit::text(format!("prompt-{}", self.turns), prompt)).into())?;
        for _ in 0..shape.steps {
            self.step(shape)?;
        }
        self.say(400, 1_200)?;
        self.finish(Finish::EndTurn)?;
        Ok(std::mem::take(&mut self.records))
    }

    /// A response with calls, and their results.
    fn step(&mut self, shape: Shape) -> Done<()> {
        self.say(60, 240)?;
        for index in 0..shape.calls {
            let id = format!("call_{}_{}", self.turns, self.random.u32(..));
            self.stream(ModelEvent::CallStart { index, id: id.into(), tool: "search".into() })?;
            for piece in [r#"{"pattern": "#, r#""fn [a-z_]+","#, r#" "in": "crates/*/src/**.rs"}"#] {
                self.stream(ModelEvent::CallArgs { index: Some(index), piece: piece.into() })?;
            }
        }
        self.finish(Finish::ToolUse)?;
        while let Some(ask) = self.take(|question| matches!(question, Question::Prepare { .. })) {
            let plan = Plan { access: Access::None, ..Plan::default() };
            self.answer(ask, Answer::Prepare(Prepared::Ready(Arc::new(plan))))?;
        }
        while let Some(ask) = self.take(|question| matches!(question, Question::Execute { .. })) {
            let text = self.text(shape.result.0, shape.result.1);
            // The first half is shown while it runs.
            let half = text_content(&text[..text.len() / 2]);
            self.feed(&Input::Piece { ask, piece: Piece::Output(half) })?;
            self.answer(ask, Answer::Execute(Executed::Done(Arc::new(ToolResult::text(text)))))?;
        }
        Ok(())
    }

    /// Visible text, a few words at a time.
    fn say(&mut self, least: usize, most: usize) -> Done<()> {
        let text = self.text(least, most);
        text.as_bytes().chunks(16).try_for_each(|piece| {
            let piece = String::from_utf8_lossy(piece);
            self.stream(ModelEvent::Text((&*piece).into()))
        })
    }

    fn stream(&mut self, event: ModelEvent) -> Done<()> {
        let is_attempt = |ask: &&Ask| matches!(ask.question, Question::Attempt { .. });
        let ask = self.open.iter().find(is_attempt).ok_or("no request is open")?.id;
        self.feed(&Input::Piece { ask, piece: Piece::Model(event) })
    }

    fn finish(&mut self, finish: Finish) -> Done<()> {
        let ask = self.take(|question| matches!(question, Question::Attempt { .. }));
        self.answer(ask.ok_or("no request is open")?, Answer::Finished(Arc::new(Finished::new(finish))))
    }

    fn answer(&mut self, ask: AskId, answer: Answer) -> Done<()> {
        self.feed(&Input::Answer { ask, answer })
    }

    fn take(&mut self, is_wanted: impl Fn(&Question) -> bool) -> Option<AskId> {
        let at = self.open.iter().position(|ask| is_wanted(&ask.question))?;
        Some(self.open.remove(at).id)
    }

    /// As J02 has it.
    fn feed(&mut self, input: &Input) -> Done<()> {
        self.at += 10;
        self.out.clear();
        let admitted = self.engine.admit(input)?;
        self.writer.input(&self.engine, self.at, input, &mut self.records);
        self.engine.handle(self.at, admitted, &mut self.out);
        self.writer.handled(&self.engine, &self.out, &mut self.records);
        for order in self.out.now.drain(..) {
            match order {
                Order::Ask(ask) => self.open.push(ask),
                Order::Withdraw(withdrawal) => self.open.retain(|ask| ask.id != withdrawal.ask),
            }
        }
        self.open.append(&mut self.out.acts);
        Ok(())
    }

    fn text(&mut self, least: usize, most: usize) -> String {
        let length = self.random.usize(least..=most);
        let begin = self.random.usize(..TEXT.len() - most);
        String::from_utf8_lossy(&TEXT.as_bytes()[begin..begin + length]).into_owned()
    }
}
