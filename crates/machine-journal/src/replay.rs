//! Records are handled once more, and what follows from them is compared with what they say (J01, J06).
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use machine_adapter::{Engine, Out};
use machine_core::ask::Subject;
use machine_core::event::Event;
use machine_core::ids::CallId;
use machine_core::input::Input;

use crate::error::ReplayError;
use crate::open::Reopened;
use crate::point::Point;
use crate::record::{Left, Record, SCHEMA, SEMANTICS};
use crate::writer::{Writer, about};

/// A replay under way. Feed it every record in order.
///
/// Where the record was written under other rules ([`SEMANTICS`]) it is handled by today's, and is not compared: what
/// fits nothing today is passed over, and at each point the record is right.
pub struct Replay {
    engine: Engine,
    out: Out,
    writer: Writer,
    /// The rules of the records that come now.
    rules: u32,
    /// The engine at the last point; kept under other rules only.
    base: Option<Engine>,
    /// The acts that the last input led to, while they are not recorded.
    acts_owed: Option<Record>,
    /// Acts that left and whose end is not recorded.
    left: BTreeSet<Subject>,
    /// The position of the next record.
    record: usize,
    /// Inputs that fit nothing under today's rules.
    passed_over: Vec<usize>,
}

/// Gets every event again, with the wall time of its input.
pub type Sink<'s> = &'s mut dyn FnMut(u64, &Event);

impl Replay {
    /// Begins with the header, which is the first record.
    pub fn begin(header: &Record) -> Result<Self, ReplayError> {
        let Record::Header { schema, semantics, branch, config } = header else {
            return Err(ReplayError::NoHeader);
        };
        if *schema > SCHEMA {
            return Err(ReplayError::Schema { found: *schema, known: SCHEMA });
        }
        let engine = Engine::new(*branch, config.clone())?;
        let mut replay = Self {
            engine,
            out: Out::default(),
            writer: Writer::new(config.clone()),
            rules: *semantics,
            base: None,
            acts_owed: None,
            left: BTreeSet::new(),
            record: 1,
            passed_over: Vec::new(),
        };
        replay.keep_base();
        Ok(replay)
    }

    /// The engine as it is here.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// How many inputs there were.
    pub fn inputs(&self) -> u64 {
        self.writer.inputs()
    }

    /// How many durable events there were.
    pub fn events(&self) -> u64 {
        self.writer.events()
    }

    /// Whether the records that come now were written under today's rules.
    pub fn is_compared(&self) -> bool {
        self.rules == SEMANTICS
    }

    /// Inputs that fit nothing under today's rules, by the position of their record.
    pub fn passed_over(&self) -> &[usize] {
        &self.passed_over
    }

    /// The next record.
    pub fn step(&mut self, record: &Record, sink: Sink<'_>) -> Result<(), ReplayError> {
        match record {
            Record::Header { .. } => return Err(ReplayError::SecondHeader { record: self.record }),
            Record::In { n, at, about, input } => {
                self.number(*n, self.writer.inputs())?;
                self.input(*at, about.as_ref(), input, sink)?;
            }
            Record::Act { n, asks } => self.acts(*n, asks)?,
            Record::Point(point) => self.point(point)?,
        }
        self.record += 1;
        Ok(())
    }

    /// The next record, where a later point says all that is to be known of it.
    pub(crate) fn pass(&mut self, record: &Record) -> Result<(), ReplayError> {
        match record {
            Record::Header { .. } => return Err(ReplayError::SecondHeader { record: self.record }),
            Record::In { .. } | Record::Act { .. } => {}
            Record::Point(point) => self.fold(point)?,
        }
        self.record += 1;
        Ok(())
    }

    fn input(
        &mut self,
        at: u64,
        about: Option<&Subject>,
        input: &Input,
        sink: Sink<'_>,
    ) -> Result<(), ReplayError> {
        let input = if self.is_compared() {
            self.check(about, input)?;
            Some(input.clone())
        } else {
            self.translated(about, input)
        };
        self.writer.count();
        self.out.clear();
        let record = self.record;
        let admitted = input.as_ref().map(|input| self.engine.admit(input));
        let admitted = match admitted.transpose() {
            Ok(Some(admitted)) => admitted,
            Err(why) if self.is_compared() => return Err(ReplayError::Refused { record, why }),
            Ok(None) | Err(_) => {
                self.passed_over.push(record);
                return Ok(());
            }
        };
        self.engine.handle(at, admitted, &mut self.out);
        self.out.events.iter().for_each(|event| sink(at, event));
        self.writer.see(&self.engine, &self.out);
        self.acts_owed = self.is_compared().then(|| self.writer.acts(&self.out)).flatten();
        if let Some(about) = about
            && self.engine.ask_about(about).is_none()
        {
            self.left.remove(about);
        }
        Ok(())
    }

    /// Under the same rules: whether this input can have come here.
    fn check(&self, recorded: Option<&Subject>, input: &Input) -> Result<(), ReplayError> {
        let record = self.record;
        if matches!(input, Input::Fault { .. }) {
            return Err(ReplayError::NeverWritten { record, kind: input.kind() });
        }
        if recorded != about(&self.engine, input).as_ref() {
            return Err(ReplayError::About { record });
        }
        match input {
            Input::Recovered { .. } if *input != self.recovered() => Err(ReplayError::Recovered { record }),
            Input::Recovered { .. } => Ok(()),
            // Acts whose record is missing never left: their process died, and the next one says so first.
            _ if self.acts_owed.is_some() => Err(ReplayError::ActsMissing { record }),
            _ => Ok(()),
        }
    }

    /// Under other rules: what this input is today. None: nobody asks for it.
    fn translated(&self, about: Option<&Subject>, input: &Input) -> Option<Input> {
        let ask = || self.engine.ask_about(about?);
        Some(match input {
            Input::Answer { answer, .. } => Input::Answer { ask: ask()?, answer: answer.clone() },
            Input::Piece { piece, .. } => Input::Piece { ask: ask()?, piece: piece.clone() },
            Input::Lost { .. } => Input::Lost { ask: ask()? },
            Input::Command(command) => Input::Command(command.clone()),
            Input::Recovered { .. } => self.recovered(),
            Input::Fault { .. } => return None,
        })
    }

    /// They belong to the input just before, once.
    fn acts(&mut self, n: u64, asks: &Arc<[Left]>) -> Result<(), ReplayError> {
        self.number(n + 1, self.writer.inputs())?;
        if self.is_compared() {
            let replayed = match self.acts_owed.take() {
                Some(Record::Act { asks, .. }) => asks,
                _ => Arc::from([]),
            };
            if *asks != replayed {
                let (record, recorded) = (self.record, asks.clone());
                return Err(ReplayError::Acts { record, recorded, replayed });
            }
        }
        self.left.extend(asks.iter().map(|left| left.about.clone()));
        Ok(())
    }

    fn point(&mut self, point: &Point) -> Result<(), ReplayError> {
        // The records before the first point were dropped, or it is a fork.
        let begins_here = self.record == 1;
        if begins_here || !self.is_compared() {
            return self.fold(point);
        }
        let record = self.record;
        if self.acts_owed.is_some() {
            return Err(ReplayError::ActsMissing { record });
        }
        let Some(replayed) = self.writer.point(&self.engine) else {
            return Err(ReplayError::Point { record, what: "place" });
        };
        match replayed.differs_in(point) {
            Some(what) => Err(ReplayError::Point { record, what }),
            None => {
                self.writer.passed(point);
                Ok(())
            }
        }
    }

    /// Goes to a point, whatever was replayed since the last.
    fn fold(&mut self, point: &Point) -> Result<(), ReplayError> {
        let record = self.record;
        if let Some(base) = self.base.take() {
            self.engine = base;
        }
        if point.n < self.writer.inputs() {
            return Err(ReplayError::Number { record, expected: self.writer.inputs(), found: point.n });
        }
        point.fold(&mut self.engine).map_err(|why| ReplayError::BadPoint { record, why })?;
        self.writer.passed(point);
        self.rules = point.semantics;
        let acts = self.engine.outstanding().filter(|open| open.ask.question.is_act());
        self.left = acts.map(|open| open.ask.question.subject()).collect();
        self.acts_owed = None;
        self.keep_base();
        Ok(())
    }

    fn keep_base(&mut self) {
        self.base = (!self.is_compared()).then(|| self.engine.clone());
    }

    fn number(&self, found: u64, expected: u64) -> Result<(), ReplayError> {
        let record = self.record;
        if found == expected { Ok(()) } else { Err(ReplayError::Number { record, expected, found }) }
    }

    /// What closes that which the records leave open (J05).
    fn recovered(&self) -> Input {
        let ran = |id: &CallId| self.left.contains(&Subject::Execute(*id));
        let calls = self.engine.calls().map(|call| call.data().id);
        Input::Recovered { ran: calls.filter(ran).collect() }
    }

    /// There are no more records.
    pub fn finish(self) -> Reopened {
        let recovered = Some(self.recovered()).filter(|input| self.engine.admit(input).is_ok());
        let compared = self.is_compared();
        let Self { engine, mut writer, passed_over, .. } = self;
        if !compared {
            writer.owe_point();
        }
        let again = engine.outstanding().filter(|_| recovered.is_none());
        let again = again.map(|open| open.ask.id).collect();
        Reopened { engine, recovered, again, writer, compared, passed_over }
    }
}
