//! Makes the records of a session: numbers them, joins deltas, and writes a point where one is due.
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use machine_adapter::{Change, Engine, Out};
use machine_core::ask::{Piece, Subject};
use machine_core::canary::Canary;
use machine_core::config::Config;
use machine_core::event::Event;
use machine_core::input::Input;

use crate::deltas::{Deltas, Joined};
use crate::point::{Point, is_due_after};
use crate::record::{Left, Record, SCHEMA, SEMANTICS};

/// Where a journal goes on. Around each input: [`Writer::input`], then the engine handles it, then
/// [`Writer::handled`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writer {
    inputs: u64,
    events: u64,
    /// Since the last point.
    changes: Vec<Change>,
    /// A point is to be written.
    due: bool,
    deltas: Deltas,
}

impl Writer {
    /// Of a new session.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether an input is written at all. What fits no open ask changes nothing, progress is for people only, and a fault
    /// says that nothing can be written (J02).
    pub fn writes(engine: &Engine, input: &Input) -> bool {
        match input {
            Input::Command(_) | Input::Recovered { .. } => true,
            Input::Piece { piece: Piece::Progress(_), .. } | Input::Fault { .. } => false,
            Input::Piece { ask, .. } | Input::Answer { ask, .. } | Input::Lost { ask } => {
                engine.ask(*ask).is_some()
            }
        }
    }

    /// Whether what was handled must be durable before anybody hears of it: acts, durable events, an acceptance (J02). Deltas
    /// and progress need not be; what is lost with them is said again.
    pub fn owes_durability(out: &Out, acknowledges: bool) -> bool {
        acknowledges || !out.acts.is_empty() || out.events.iter().any(Event::is_durable)
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
        if self.deltas.ask().is_some_and(|ask| engine.ask(ask).is_none())
            && let Some(joined) = self.deltas.part()
        {
            to.push(self.joined(joined));
        }
        if out.acts.is_empty() && !self.due {
            return;
        }
        self.flush(to);
        to.extend(self.acts(out).filter(|_| !Canary::ActsAreNotWritten.is_planted()));
        if let Some(point) = self.point(engine) {
            self.passed(&point);
            to.push(Record::Point(Box::new(point)));
        }
    }

    /// Deltas that wait.
    pub fn flush(&mut self, to: &mut Vec<Record>) {
        if let Some(joined) = self.deltas.flush() {
            to.push(self.joined(joined));
        }
    }

    /// A point is written after the next input: the record was begun under other rules.
    pub(crate) fn owe_point(&mut self) {
        self.due = true;
    }

    /// An input that is in the record already.
    pub(crate) fn count(&mut self) {
        self.inputs = self.inputs.saturating_add(1);
    }

    /// The record goes on after this point.
    pub(crate) fn passed(&mut self, point: &Point) {
        (self.inputs, self.events, self.due) = (point.n, point.events, false);
        self.changes.clear();
    }

    /// Takes note of what happened.
    pub(crate) fn see(&mut self, engine: &Engine, out: &Out) {
        for event in &out.events {
            self.events = self.events.saturating_add(u64::from(event.is_durable()));
            self.changes.extend(Change::of(event, engine));
            self.due |= is_due_after(event);
        }
    }

    fn joined(&mut self, Joined { at, about, input }: Joined) -> Record {
        self.numbered(at, about, input)
    }

    fn numbered(&mut self, at: u64, about: Option<Subject>, input: Input) -> Record {
        let n = self.inputs;
        self.inputs = self.inputs.saturating_add(1);
        Record::In { n, at, about, input }
    }

    fn acts(&self, out: &Out) -> Option<Record> {
        let n = self.inputs.checked_sub(1)?;
        Some(Record::Act { n, asks: Self::leaving(out)? })
    }

    /// The acts that are about to leave, if any.
    pub(crate) fn leaving(out: &Out) -> Option<Arc<[Left]>> {
        let left = out.acts.iter().map(|act| Left { ask: act.id, about: act.question.subject() });
        (!out.acts.is_empty()).then(|| left.collect())
    }

    /// The point that is due here, if one is. While maintenance runs it has to wait.
    pub(crate) fn point(&self, engine: &Engine) -> Option<Point> {
        let carry = if self.due { engine.carry()? } else { return None };
        let (n, events, digest) = (self.inputs, self.events, engine.history().digest());
        Some(Point { n, semantics: SEMANTICS, events, changes: self.changes.clone(), digest, carry })
    }
}

/// What was asked of whoever gives this input.
pub(crate) fn about(engine: &Engine, input: &Input) -> Option<Subject> {
    engine.ask(input.ask()?).map(|open| open.ask.question.subject())
}
