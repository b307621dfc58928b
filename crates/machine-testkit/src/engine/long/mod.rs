//! A long run of the engine: many calls and steps under any configuration, with a host, a model and users that do
//! whatever they may. Nothing is enumerated, each input is drawn; the [`Monitor`] and the drawn limits see everything.
mod answers;
mod commands;
mod limits;
mod settings;
mod streams;
mod tools;

use std::collections::BTreeMap;
use std::sync::Arc;

use machine_adapter::asks::Open;
use machine_adapter::{Engine, Out};
use machine_core::ask::{Answer, Piece, Question};
use machine_core::event::Event;
use machine_core::ids::AskId;
use machine_core::input::{Command, Input, Submit};

pub use self::settings::{First, Habits, Settings};
pub use self::tools::Tools;

use self::answers::{Says, says};
use self::commands::happens;
use self::limits::Limits;
use self::streams::{Left, Stream};
use crate::draw::Draw;
use crate::engine::menu::is_owed;
use crate::engine::monitor::Monitor;
use crate::engine::strays;

/// An engine and everybody around it.
#[derive(Clone, Debug)]
pub struct LongRun {
    engine: Engine,
    monitor: Monitor,
    limits: Limits,
    settings: Arc<Settings>,
    tools: Option<Tools>,
    left: Left,
    streams: BTreeMap<AskId, Stream>,
    /// How many inputs with an id were drawn.
    sent: u32,
    /// Wall time, in milliseconds.
    now: u64,
    /// How many pieces, since the last answer, only lengthened the run.
    pieces: u32,
}

/// Pieces in a row, other than of streams, after which the next thing said is an answer.
const PIECES: u32 = 4;

impl LongRun {
    /// A run in which one prompt was submitted.
    ///
    /// # Errors
    /// A broken property, or a configuration that is refused.
    pub fn new(settings: Settings) -> Result<Self, String> {
        let config = Arc::new(settings.config.clone());
        let parallel = config.calls.max_parallel as usize;
        let engine = Engine::new(1, config).map_err(|error| error.to_string())?;
        let Settings { responses, all_calls: calls, failures, .. } = settings;
        let mut run = Self {
            engine,
            monitor: Monitor::new(parallel, usize::MAX),
            limits: Limits::default(),
            settings: Arc::new(settings),
            tools: None,
            left: Left { responses, calls, failures },
            streams: BTreeMap::new(),
            sent: 0,
            now: 0,
            pieces: 0,
        };
        run.apply(&Command::Submit(Submit::text("first", "go")).into())?;
        Ok(run)
    }

    /// The same, where the model calls a host's own tools, and the host prepares them.
    pub fn with_tools(self, tools: Tools) -> Self {
        Self { tools: Some(tools), ..self }
    }

    /// The engine as it is.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Wall time, in milliseconds.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// The same run around another engine: one that was saved and restored.
    pub fn with_engine(self, engine: Engine) -> Self {
        Self { engine, ..self }
    }

    /// Something that may happen now. None: nobody owes anything, and what was drawn is refused.
    pub fn next(&mut self, draw: &mut impl Draw) -> Option<Input> {
        self.now += 1;
        let asked = match draw.below(self.settings.one_in) {
            1 => {
                self.sent += 1;
                let input = happens(&self.engine, &self.settings, self.sent, draw);
                self.engine.admit(&input).is_ok().then_some(input)
            }
            2 => self.answer(false, draw),
            _ => None,
        };
        asked.or_else(|| self.answer(true, draw))
    }

    /// The oldest thing that is owed, said as briefly as can be. None: it is at rest.
    pub fn next_owed(&mut self) -> Option<Input> {
        self.now += 1;
        self.answer(true, &mut |_: usize| 0)
    }

    fn answer(&mut self, owed: bool, draw: &mut impl Draw) -> Option<Input> {
        let open =
            || self.engine.outstanding().filter(|open| is_owed(&open.ask.question, open.withdrawn) == owed);
        // Work in the background takes long.
        let mut some: Vec<&Open> = match draw.below(8) {
            0 => Vec::new(),
            _ => open().filter(|open| !self.is_background(&open.ask.question)).collect(),
        };
        if some.is_empty() {
            some = open().collect();
        }
        let open = some;
        let at = match self.settings.first {
            First::Newest if draw.flag() => open.len().saturating_sub(1),
            First::Oldest if draw.below(8) > 0 => 0,
            _ => draw.below(open.len()),
        };
        let open = (*open.get(at)?).clone();
        let ask = open.ask.id;
        if matches!(open.ask.question, Question::Attempt { .. }) {
            return Some(self.stream(ask, draw));
        }
        if let Question::Timer { ms, .. } = open.ask.question {
            self.now = self.now.max(open.since.saturating_add(ms));
        }
        if let (Question::Prepare { tool, args, .. }, Some(tools)) = (&open.ask.question, &self.tools) {
            return Some(Input::Answer { ask, answer: Answer::Prepare((tools.prepare)(tool, args)) });
        }
        let mut said = says(&self.engine, &open.ask.question, &self.settings.habits, draw);
        if matches!(said, Says::Piece(_)) && self.pieces >= PIECES {
            said = says(&self.engine, &open.ask.question, &self.settings.habits, &mut |_: usize| 0);
        }
        Some(match said {
            Says::Answer(answer) => {
                self.pieces = 0;
                Input::Answer { ask, answer }
            }
            Says::Piece(piece) => {
                self.pieces += 1;
                Input::Piece { ask, piece }
            }
        })
    }

    /// Whether it is the execution of a call that was answered.
    fn is_background(&self, question: &Question) -> bool {
        let Question::Execute { call, .. } = question else { return false };
        self.engine.agent().data().roster.get(call).is_some()
    }

    /// The next piece of a stream, or its end.
    fn stream(&mut self, ask: AskId, draw: &mut impl Draw) -> Input {
        let (settings, left, tools) = (&self.settings, &mut self.left, self.tools.as_ref());
        let stream = self.streams.entry(ask).or_insert_with(|| Stream::drawn(settings, left, tools, draw));
        match stream.pieces.pop_front() {
            Some(event) => Input::Piece { ask, piece: Piece::Model(event) },
            None => Input::Answer { ask, answer: stream.end.clone() },
        }
    }

    /// Delivers an input, and looks at all that comes out of it. Gives the events.
    ///
    /// # Errors
    /// The property that was broken, and how.
    pub fn apply(&mut self, input: &Input) -> Result<Vec<Event>, String> {
        self.monitor.expect(&self.engine, input);
        self.limits.expect(&self.engine, input);
        let mut out = Out::default();
        self.engine
            .feed(self.now, input, &mut out)
            .map_err(|error| format!("{} was offered and refused: {error}", input.kind()))?;
        let stray = |event: &Event| matches!(event, Event::Stray { .. });
        let may_be_stray = matches!(input, Input::Piece { .. });
        if out.events.iter().any(stray) && !may_be_stray {
            return Err(format!("E07: {input:?} was asked for and is stray"));
        }
        self.monitor.observe(&self.engine, &out)?;
        self.limits.observe(&self.engine, &out)?;
        strays::fit_nothing(&mut self.engine, input, true)?;
        let open = |ask: &AskId| self.engine.ask(*ask).is_some();
        self.streams.retain(|ask, _| open(ask));
        Ok(out.events)
    }

    /// Only what is owed happens, until nothing is.
    ///
    /// # Errors
    /// A broken property, or it does not come to rest within so many inputs.
    pub fn finish(&mut self, patience: usize) -> Result<(), String> {
        for _ in 0..patience {
            let Some(input) = self.next_owed() else { return self.at_rest() };
            self.apply(&input)?;
        }
        Err(format!("P9: not at rest after {patience} owed inputs"))
    }

    /// Nothing is owed: everything must be told.
    ///
    /// # Errors
    /// What is missing.
    pub fn at_rest(&self) -> Result<(), String> {
        self.monitor.at_rest(&self.engine).map_err(|why| format!("{why}: {:?}", self.engine.state()))
    }
}
