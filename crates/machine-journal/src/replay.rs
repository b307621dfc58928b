//! Records are handled once more, and what follows from them is compared with what they say (J01, J06).
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use machine_adapter::{Engine, Out};
use machine_core::ask::Subject;
use machine_core::event::Event;
use machine_core::ids::CallId;
use machine_core::input::Input;

use crate::error::ReplayError;
use crate::open::{Closing, Reopened};
use crate::point::Point;
use crate::record::{Left, Record, SCHEMA, SEMANTICS};
use crate::writer::{Writer, about};

/// A replay under way. It gets every record, in order.
pub(crate) struct Replay {
    engine: Engine,
    out: Out,
    writer: Writer,
    rules: Rules,
    /// Calls whose execution left and whose end is not recorded.
    left: BTreeSet<CallId>,
    /// The position of the next record.
    record: usize,
    /// Records that were not compared.
    not_compared: usize,
    /// Inputs that fit nothing under today's rules, by their number.
    passed_over: Vec<u64>,
}

/// Under which rules the records that come now were written ([`SEMANTICS`]).
enum Rules {
    /// Today's: what follows from each record is compared.
    Todays {
        /// The acts that the last input led to, while they are not recorded.
        owed: Option<Arc<[Left]>>,
    },
    /// Others: they are handled by today's. What fits nothing today is passed over, and at each point the record is right.
    Others {
        /// The engine at the last point.
        base: Box<Engine>,
    },
}

/// Gets every event again, with the wall time of its input.
pub(crate) type Sink<'s> = &'s mut dyn FnMut(u64, &Event);

impl Rules {
    fn at(semantics: u32, engine: &Engine) -> Self {
        match semantics {
            SEMANTICS => Self::Todays { owed: None },
            _ => Self::Others { base: Box::new(engine.clone()) },
        }
    }
}

impl Replay {
    /// Begins with the header, which is the first record.
    pub(crate) fn begin(header: &Record) -> Result<Self, ReplayError> {
        let Record::Header { schema, semantics, branch, config } = header else {
            return Err(ReplayError::NoHeader);
        };
        if *schema > SCHEMA {
            return Err(ReplayError::Schema { found: *schema, known: SCHEMA });
        }
        let engine = Engine::new(*branch, config.clone())?;
        Ok(Self {
            rules: Rules::at(*semantics, &engine),
            engine,
            out: Out::default(),
            writer: Writer::new(),
            left: BTreeSet::new(),
            record: 1,
            not_compared: usize::from(*semantics != SEMANTICS),
            passed_over: Vec::new(),
        })
    }

    /// The engine as it is here.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// How many durable events there were.
    pub(crate) fn events(&self) -> u64 {
        self.writer.events()
    }

    /// The next record.
    pub(crate) fn step(mut self, record: &Record, sink: Sink<'_>) -> Result<Self, ReplayError> {
        match record {
            Record::Header { .. } => return Err(ReplayError::SecondHeader { record: self.record }),
            Record::In { n, at, about, input } => {
                self.number(*n, self.writer.inputs())?;
                self.input(*at, about.as_ref(), input, sink)?;
            }
            Record::Act { n, asks } => self.acts(*n, asks)?,
            Record::Point(point) => self = self.point(point)?,
        }
        Ok(self.on())
    }

    /// The next record, where a later point says all that is to be known of it.
    pub(crate) fn pass(mut self, record: &Record) -> Result<Self, ReplayError> {
        match record {
            Record::Header { .. } => return Err(ReplayError::SecondHeader { record: self.record }),
            Record::In { .. } | Record::Act { .. } => {}
            Record::Point(point) => self = self.fold(point)?,
        }
        Ok(self.on())
    }

    fn on(mut self) -> Self {
        self.record += 1;
        self.not_compared += usize::from(matches!(self.rules, Rules::Others { .. }));
        self
    }

    fn input(
        &mut self,
        at: u64,
        recorded: Option<&Subject>,
        input: &Input,
        sink: Sink<'_>,
    ) -> Result<(), ReplayError> {
        let record = self.record;
        let todays = match &self.rules {
            Rules::Todays { owed } => {
                self.check(owed.is_some(), recorded, input)?;
                Some(input.clone())
            }
            Rules::Others { .. } => self.translated(recorded, input),
        };
        self.out.clear();
        match todays.as_ref().map(|input| self.engine.admit(input)) {
            Some(Ok(admitted)) => self.engine.handle(at, admitted, &mut self.out),
            Some(Err(why)) if matches!(self.rules, Rules::Todays { .. }) => {
                return Err(ReplayError::Refused { record, why });
            }
            Some(Err(_)) | None => self.passed_over.push(self.writer.inputs()),
        }
        self.writer.count();
        self.writer.see(&self.engine, &self.out);
        self.out.events.iter().for_each(|event| sink(at, event));
        if let Rules::Todays { owed } = &mut self.rules {
            *owed = Writer::leaving(&self.out);
        }
        if let Some(Subject::Execute(call)) = recorded
            && self.engine.ask_about(&Subject::Execute(*call)).is_none()
            && todays.is_some()
        {
            self.left.remove(call);
        }
        Ok(())
    }

    /// Under the same rules: whether this input can have come here.
    fn check(&self, owed: bool, recorded: Option<&Subject>, input: &Input) -> Result<(), ReplayError> {
        let record = self.record;
        if recorded != about(&self.engine, input).as_ref() {
            return Err(ReplayError::About { record });
        }
        if !Writer::writes(&self.engine, input) {
            return Err(ReplayError::NeverWritten { record, kind: input.kind() });
        }
        match input {
            Input::Recovered { .. } if *input != self.recovered() => Err(ReplayError::Recovered { record }),
            Input::Recovered { .. } => Ok(()),
            // Acts whose record is missing never left: their process died, and the next one says so first.
            _ if owed => Err(ReplayError::ActsMissing { record }),
            _ => Ok(()),
        }
    }

    /// Under other rules: what this input is today. None: nobody asks for it.
    fn translated(&self, recorded: Option<&Subject>, input: &Input) -> Option<Input> {
        let ask = || self.engine.ask_about(recorded?);
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
        self.number(n.saturating_add(1), self.writer.inputs())?;
        if let Rules::Todays { owed } = &mut self.rules {
            let replayed = owed.take().unwrap_or_default();
            if *asks != replayed {
                let (record, recorded) = (self.record, asks.clone());
                return Err(ReplayError::Acts { record, recorded, replayed });
            }
        }
        self.left.extend(asks.iter().filter_map(|left| executed(&left.about)));
        Ok(())
    }

    fn point(mut self, point: &Point) -> Result<Self, ReplayError> {
        let record = self.record;
        match &self.rules {
            Rules::Others { .. } => return self.fold(point),
            // The records before the first point were dropped, or it is a fork.
            Rules::Todays { .. } if record == 1 => return self.fold(point),
            Rules::Todays { owed: Some(_) } => return Err(ReplayError::ActsMissing { record }),
            Rules::Todays { owed: None } => {}
        }
        let replayed = self.writer.point(&self.engine).ok_or(ReplayError::Point { record, what: "place" })?;
        match replayed.differs_in(point) {
            Some(what) => Err(ReplayError::Point { record, what }),
            None => {
                self.writer.passed(point);
                Ok(self)
            }
        }
    }

    /// Goes from the last point to this one, whatever was replayed since.
    fn fold(self, point: &Point) -> Result<Self, ReplayError> {
        let (record, mut writer) = (self.record, self.writer);
        let (found, expected) = (point.n, writer.inputs());
        if found < expected {
            return Err(ReplayError::Number { record, expected, found });
        }
        let from = match self.rules {
            Rules::Todays { .. } => self.engine,
            Rules::Others { base } => *base,
        };
        let engine = point.fold(from).map_err(|why| ReplayError::BadPoint { record, why })?;
        writer.passed(point);
        let rules = Rules::at(point.semantics, &engine);
        // Every act that is open at a point has its record before it.
        let left = engine.outstanding().filter_map(|open| executed(&open.ask.question.subject())).collect();
        Ok(Self { engine, writer, rules, left, ..self })
    }

    fn number(&self, found: u64, expected: u64) -> Result<(), ReplayError> {
        let record = self.record;
        if found == expected { Ok(()) } else { Err(ReplayError::Number { record, expected, found }) }
    }

    /// What closes that which the records leave open (J05).
    fn recovered(&self) -> Input {
        let calls = self.engine.calls().map(|call| call.data().id);
        Input::Recovered { ran: calls.filter(|call| self.left.contains(call)).collect() }
    }

    /// There are no more records.
    pub(crate) fn finish(self) -> Reopened {
        let recovered = self.recovered();
        let closing = if self.engine.admit(&recovered).is_ok() {
            Closing::Recovered(recovered)
        } else {
            Closing::AskAgain(self.engine.outstanding().map(|open| open.ask.id).collect())
        };
        let Self { engine, mut writer, rules, not_compared, passed_over, .. } = self;
        if matches!(rules, Rules::Others { .. }) {
            writer.owe_point();
        }
        Reopened { engine, closing, writer, not_compared, passed_over }
    }
}

fn executed(about: &Subject) -> Option<CallId> {
    match about {
        Subject::Execute(call) => Some(*call),
        _ => None,
    }
}
