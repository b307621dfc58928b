//! Makes the records of a session: numbers them, joins deltas, and writes a point where one is due.
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use machine_adapter::{Change, Engine, Out};
use machine_core::ask::Subject;
use machine_core::config::Config;
use machine_core::ids::AskId;
use machine_core::input::Input;

use crate::deltas::{Deltas, Joined};
use crate::point::{Point, is_due_after};
use crate::record::{Left, Record, SCHEMA, SEMANTICS};

/// Where a journal goes on. Around each input: [`Writer::input`], then the engine handles it, then
/// [`Writer::handled`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    inputs: u64,
    events: u64,
    /// The newest configuration at the last point.
    config: Arc<Config>,
    /// Since the last point.
    changes: Vec<Change>,
    /// A point is to be written.
    due: bool,
    deltas: Deltas,
}

impl Writer {
    /// Of a session that begins with this configuration.
    pub fn new(config: Arc<Config>) -> Self {
        Self { inputs: 0, events: 0, config, changes: Vec::new(), due: false, deltas: Deltas::default() }
    }

    /// The first record of a session.
    pub fn header(branch: u32, config: Arc<Config>) -> Record {
        Record::Header { schema: SCHEMA, semantics: SEMANTICS, branch, config }
    }

    /// How many inputs are written.
    pub fn inputs(&self) -> u64 {
        self.inputs
    }

    /// How many durable events there were (E01).
    pub fn events(&self) -> u64 {
        self.events
    }

    /// An input that was admitted and is about to be handled. A delta may wait for more of its kind.
    pub fn input(&mut self, engine: &Engine, at: u64, input: &Input, to: &mut Vec<Record>) {
        let about = about(engine, input);
        if self.deltas.take(at, about.as_ref(), input) {
            return;
        }
        self.flush(to);
        if !self.deltas.take(at, about.as_ref(), input) {
            to.push(self.numbered(at, about, input.clone()));
        }
    }

    /// The input was handled: what belongs after it. These are the acts that are about to leave, and a point if one is
    /// due.
    pub fn handled(&mut self, engine: &Engine, out: &Out, to: &mut Vec<Record>) {
        self.see(engine, out);
        if out.acts.is_empty() && !self.due {
            return;
        }
        self.flush(to);
        to.extend(self.acts(out));
        if let Some(point) = self.point(engine) {
            self.passed(&point);
            to.push(Record::Point(Box::new(point)));
        }
    }

    /// Deltas that wait.
    pub fn flush(&mut self, to: &mut Vec<Record>) {
        if let Some(Joined { at, about, input }) = self.deltas.flush() {
            to.push(self.numbered(at, about, input));
        }
    }

    /// A point is written after the next input: the record was begun under other rules.
    pub(crate) fn owe_point(&mut self) {
        self.due = true;
    }

    /// An input that is in the record already.
    pub(crate) fn count(&mut self) {
        self.inputs += 1;
    }

    /// The record goes on after this point.
    pub(crate) fn passed(&mut self, point: &Point) {
        (self.inputs, self.events, self.due) = (point.n, point.events, false);
        self.changes.clear();
        if let Some(config) = &point.config {
            self.config = config.clone();
        }
    }

    /// Takes note of what happened.
    pub(crate) fn see(&mut self, engine: &Engine, out: &Out) {
        for event in &out.events {
            self.events += u64::from(event.is_durable());
            self.changes.extend(Change::of(event, engine));
            self.due |= is_due_after(event);
        }
    }

    fn numbered(&mut self, at: u64, about: Option<Subject>, input: Input) -> Record {
        let n = self.inputs;
        self.inputs += 1;
        Record::In { n, at, about, input }
    }

    /// The acts that are about to leave, if any.
    pub(crate) fn acts(&self, out: &Out) -> Option<Record> {
        let n = self.inputs.checked_sub(1).filter(|_| !out.acts.is_empty())?;
        let asks = out.acts.iter().map(|act| Left { ask: act.id, about: act.question.subject() }).collect();
        Some(Record::Act { n, asks })
    }

    /// The point that is due here, if one is. While maintenance runs it has to wait.
    pub(crate) fn point(&self, engine: &Engine) -> Option<Point> {
        let carry = if self.due { engine.carry()? } else { return None };
        let config = (self.config != *engine.config()).then(|| engine.config().clone());
        let (n, events, digest) = (self.inputs, self.events, engine.history().digest());
        Some(Point { n, semantics: SEMANTICS, events, config, changes: self.changes.clone(), digest, carry })
    }
}

/// The ask that an input belongs to.
pub(crate) fn ask_of(input: &Input) -> Option<AskId> {
    match input {
        Input::Answer { ask, .. } | Input::Piece { ask, .. } | Input::Lost { ask } => Some(*ask),
        Input::Command(_) | Input::Recovered { .. } | Input::Fault { .. } => None,
    }
}

/// What was asked there.
pub(crate) fn about(engine: &Engine, input: &Input) -> Option<Subject> {
    engine.ask(ask_of(input)?).map(|open| open.ask.question.subject())
}
