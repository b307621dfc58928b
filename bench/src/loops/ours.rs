//! Our engine, driven as a host without a journal drives it.
use std::sync::Arc;

use machine_adapter::{Engine, Order, Out};
use machine_core::access::{Access, Mode, Touch};
use machine_core::ask::{Answer, Ask, Executed, Piece, Plan, Prepared, Question};
use machine_core::config::{CallLimits, Config};
use machine_core::ids::{AskId, AttemptId};
use machine_core::input::{Command, Input, Submit};
use machine_core::outcome::ToolResult;
use machine_core::response::{Finish, Finished, ModelEvent};

use crate::Done;
use crate::loops::{ANSWER, Loop, PROMPT, RESULT, Shape, TOOL, arguments, wire_id};

/// What the calls of a batch touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touches {
    /// Nothing.
    Nothing,
    /// A path each.
    Distinct,
    /// All the same path.
    Shared,
    /// Everything: one after the other.
    Everything,
}

/// In which order calls are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// As they began.
    InOrder,
    /// The last one first.
    Backwards,
}

/// Our engine, and what its host holds.
#[derive(Debug)]
pub struct Ours {
    /// The engine.
    pub engine: Engine,
    /// What it was fed with, and when, if somebody wants to feed it to another one.
    pub fed: Option<Vec<(u64, Input)>>,
    out: Out,
    attempt: Option<(AskId, AttemptId)>,
    prepare: Vec<AskId>,
    running: Vec<AskId>,
    touches: Touches,
    answered: Answered,
    at: u64,
    serial: u64,
    /// Entries that the last request carried.
    sent: usize,
}

impl Ours {
    /// A new session.
    pub fn new(touches: Touches, answered: Answered) -> Done<Self> {
        let calls = CallLimits { max_parallel: u32::MAX, ..CallLimits::default() };
        let mut config = Config { calls, ..Config::default() };
        config.turn.calls = u32::MAX;
        Self::with(Arc::new(config), touches, answered)
    }

    /// A new session under this configuration.
    pub fn with(config: Arc<Config>, touches: Touches, answered: Answered) -> Done<Self> {
        Ok(Self {
            engine: Engine::new(7, config)?,
            fed: None,
            out: Out::default(),
            attempt: None,
            prepare: Vec::new(),
            running: Vec::new(),
            touches,
            answered,
            at: 1_764_500_000_000,
            serial: 0,
            sent: 0,
        })
    }

    fn feed(&mut self, input: &Input) -> Done<()> {
        self.at += 1;
        if let Some(fed) = &mut self.fed {
            fed.push((self.at, input.clone()));
        }
        self.out.clear();
        self.engine.feed(self.at, input, &mut self.out)?;
        for event in self.out.events.drain(..) {
            std::hint::black_box(event);
        }
        for order in self.out.now.drain(..) {
            match order {
                Order::Ask(Ask { id, question: Question::Prepare { .. }, .. }) => self.prepare.push(id),
                other => drop(std::hint::black_box(other)),
            }
        }
        for act in self.out.acts.drain(..) {
            match act.question {
                Question::Attempt { attempt, .. } => self.attempt = Some((act.id, attempt)),
                _ => self.running.push(act.id),
            }
        }
        Ok(())
    }

    /// A prompt that opens a turn.
    pub fn prompt(&mut self) -> Done<()> {
        self.serial += 1;
        let submit = Submit::text(format!("prompt-{}", self.serial), PROMPT);
        self.feed(&Command::Submit(submit).into())
    }

    /// The request as a model gets it: the handle of history, and what came since the last one.
    fn request(&mut self) -> Done<AskId> {
        let (ask, attempt) = self.attempt.take().ok_or("no request is open")?;
        let request = self.engine.request(attempt).ok_or("the request is gone")?;
        let new = request.history.len() - self.sent;
        for entry in request.history.iter().rev().take(new) {
            std::hint::black_box(entry);
        }
        self.sent += new;
        Ok(ask)
    }

    fn stream(&mut self, ask: AskId, event: ModelEvent) -> Done<()> {
        self.feed(&Input::Piece { ask, piece: Piece::Model(event) })
    }

    fn finish(&mut self, ask: AskId, finish: Finish) -> Done<()> {
        self.feed(&Input::Answer { ask, answer: Answer::Finished(Arc::new(Finished::new(finish))) })
    }

    fn access(&self, index: usize) -> Access {
        match self.touches {
            Touches::Nothing => Access::None,
            Touches::Distinct => Touch::path(Mode::Write, format!("src/module_{index}.rs")).into(),
            Touches::Shared => Touch::path(Mode::Write, "src/main.rs").into(),
            Touches::Everything => Access::All,
        }
    }

    /// A response with so many calls, and their results.
    pub fn step(&mut self, calls: u32) -> Done<()> {
        let ask = self.request()?;
        for index in 0..calls {
            self.serial += 1;
            let id = wire_id(self.serial).into();
            self.stream(ask, ModelEvent::CallStart { index, id, tool: TOOL.into() })?;
            self.stream(ask, ModelEvent::CallArgs { index: Some(index), piece: arguments(index).into() })?;
        }
        self.finish(ask, Finish::ToolUse)?;
        for (index, ask) in std::mem::take(&mut self.prepare).into_iter().enumerate() {
            let plan = Plan { access: self.access(index), ..Plan::default() };
            self.feed(&Input::Answer { ask, answer: Answer::Prepare(Prepared::Ready(Arc::new(plan))) })?;
        }
        while !self.running.is_empty() {
            let mut running = std::mem::take(&mut self.running);
            if self.answered == Answered::Backwards {
                running.reverse();
            }
            for ask in running {
                let result = Arc::new(ToolResult::text(RESULT));
                self.feed(&Input::Answer { ask, answer: Answer::Execute(Executed::Done(result)) })?;
            }
        }
        Ok(())
    }

    /// A response of text in so many pieces, which ends the turn.
    pub fn say(&mut self, pieces: u32) -> Done<()> {
        let ask = self.request()?;
        (0..pieces).try_for_each(|_| self.stream(ask, ModelEvent::Text("a word ".into())))?;
        self.finish(ask, Finish::EndTurn)
    }

    /// The text that ends a turn.
    pub fn end(&mut self) -> Done<()> {
        let ask = self.request()?;
        self.stream(ask, ModelEvent::Text(ANSWER.into()))?;
        self.finish(ask, Finish::EndTurn)
    }
}

impl Loop for Ours {
    fn turn(&mut self, shape: Shape) -> Done<()> {
        self.prompt()?;
        for _ in 0..shape.steps {
            self.step(shape.calls)?;
        }
        self.end()
    }

    fn entries(&self) -> usize {
        self.engine.history().len()
    }
}
