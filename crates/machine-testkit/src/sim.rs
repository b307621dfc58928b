//! A driver in virtual time: the way of an input is the same as in a real host (admit, append, handle, append acts,
//! sync, act), time only passes when nothing is left to do at this tick, and everything that comes out is kept.
//!
//! Two things at the same tick come in the order in which they were arranged. Nothing here is random.
mod openings;

use std::collections::BTreeMap;
use std::sync::Arc;

use machine_adapter::trace::Transition;
use machine_adapter::{Engine, Order, Out};
use machine_core::ask::{Answer, Ask, HookError, HookFailure, Question, Subject, Timer, Withdrawal};
use machine_core::config::{Config, ConfigError};
use machine_core::event::{Event, TurnEnd};
use machine_core::ids::AskId;
use machine_core::input::{Command, Input, Refused};
use machine_journal::{MemoryJournal, Writer};

/// Who carries out what the engine asks.
pub trait Host {
    /// Something is asked. What it gives is delivered later, in this order at equal ticks.
    fn asked(&mut self, ask: &Ask, engine: &Engine) -> Vec<Later>;

    /// An execution is taken back.
    fn cancelled(&mut self, withdrawal: &Withdrawal) -> Cancelled;

    /// Whether a timer waits until it is [armed](Sim::arm).
    fn holds_back(&self, timer: &Timer) -> bool {
        let _ = timer;
        false
    }

    /// What is said of a hook whose time is up (H02).
    fn too_late(&self) -> String {
        "the hook took too long".into()
    }

    /// What the host makes of something that it arranged, when it is due; none: nothing.
    fn brings(&mut self, input: Input, engine: &Engine) -> Option<Input> {
        let _ = engine;
        Some(input)
    }

    /// Its process is gone, and what it knew: another one opens the session again.
    fn died(&mut self) {}

    /// Where something comes among the things of one tick. By default everything comes in the order in which it was
    /// arranged.
    fn phase(&self, due: Due) -> Phase {
        let _ = due;
        Phase::default()
    }
}

/// What a running call does about its withdrawal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// Nothing: what was arranged for it stays.
    Ignores,
    /// This takes the place of what was arranged for it.
    Obeys(Vec<Later>),
}

/// What is arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// A timer of the engine, or the end of a hook's time.
    Timer,
    /// What the host says at once.
    AtOnce,
    /// What the host says after a while.
    Later,
}

/// Where something comes among the things of one tick; smaller is earlier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Phase(pub u8);

/// An input after a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Later {
    /// Milliseconds from now.
    pub after: u64,
    /// What is delivered.
    pub input: Input,
}

/// An event with its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// Milliseconds.
    pub at: u64,
    /// What was reported.
    pub event: Event,
}

/// One line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Traced {
    /// An input was handled.
    In(Input),
    /// A machine took an event (E02).
    Moved(Transition),
    /// Something was reported.
    Event(Event),
    /// Something was asked or taken back.
    Order(Order),
    /// A command was refused.
    Refused(Command, Refused),
}

/// An engine, its host, and virtual time.
#[derive(Debug)]
pub struct Sim<H> {
    /// The engine.
    pub engine: Engine,
    /// Its host.
    pub host: H,
    /// Everything that was reported.
    pub events: Vec<Stamped>,
    /// Everything that was asked and taken back, with its time.
    pub orders: Vec<(u64, Order)>,
    /// Arranged commands that were refused, with their time.
    pub refused: Vec<(u64, Refused)>,
    /// Everything that happened, in order; kept only if it is there.
    pub trace: Option<Vec<(u64, Traced)>>,
    /// What would be on disk.
    pub journal: MemoryJournal,
    writer: Writer,
    /// Nothing is written any more.
    broken: bool,
    now: u64,
    arranged: BTreeMap<(u64, Phase, u64), Input>,
    serial: u64,
    out: Out,
    fate: Fate,
}

/// Whether the process dies while it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Lives,
    /// The next time that something must be durable.
    DiesUnsaved,
    Dead,
}

/// A run that does not come to rest: the rule that every loop is bounded is broken.
#[derive(Debug, thiserror::Error)]
#[error("not at rest after {0} inputs")]
pub struct Restless(usize);

impl<H: Host> Sim<H> {
    /// A new session at time 0.
    ///
    /// # Errors
    /// The configuration is nonsense.
    pub fn new(config: Config, host: H) -> Result<Self, ConfigError> {
        let config = Arc::new(config);
        let engine = Engine::new(1, config.clone())?;
        let mut journal = MemoryJournal::new();
        journal.append(Writer::header(1, config));
        journal.sync();
        Ok(Self::of((engine, Writer::new()), journal, host))
    }

    fn of((engine, writer): (Engine, Writer), journal: MemoryJournal, host: H) -> Self {
        Self {
            engine,
            host,
            events: Vec::new(),
            orders: Vec::new(),
            refused: Vec::new(),
            trace: None,
            journal,
            writer,
            broken: false,
            now: 0,
            arranged: BTreeMap::new(),
            serial: 0,
            out: Out::default(),
            fate: Fate::Lives,
        }
    }

    /// Milliseconds since the start.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Sends a command now.
    ///
    /// # Errors
    /// It does not fit; nothing happened.
    pub fn send(&mut self, command: Command) -> Result<(), Refused> {
        self.deliver(Input::Command(command))
    }

    /// Arranges an input for now, before everything else of this tick.
    pub fn arrange_now(&mut self, input: Input) {
        self.arrange_in(self.now, self.host.phase(Due::AtOnce), input);
    }

    /// Arranges an input for a time. One in the past comes next.
    pub fn arrange(&mut self, at: u64, input: impl Into<Input>) {
        self.arrange_in(at, Phase::default(), input.into());
    }

    fn arrange_in(&mut self, at: u64, phase: Phase, input: Input) {
        self.serial += 1;
        self.arranged.insert((at.max(self.now), phase, self.serial), input);
    }

    /// When something is due next, and where in its tick.
    pub fn due(&self) -> Option<(u64, Phase)> {
        self.arranged.first_key_value().map(|(&(at, phase, _), _)| (at, phase))
    }

    /// Lets time pass without anything happening.
    pub fn wait_until(&mut self, at: u64) {
        self.now = self.now.max(at);
    }

    /// Delivers what is due next.
    pub fn step(&mut self) {
        if let Some(key) = self.arranged.keys().next().copied() {
            self.step_to(key);
        }
    }

    /// Delivers what is due next at this time and place of its tick; whether there was something.
    pub fn step_at(&mut self, at: u64, phase: Phase) -> bool {
        let key = self.arranged.range((at, phase, 0)..=(at, phase, u64::MAX)).next().map(|(key, _)| *key);
        key.is_some_and(|key| {
            self.step_to(key);
            true
        })
    }

    fn step_to(&mut self, key: (u64, Phase, u64)) {
        if let Some(input) = self.arranged.remove(&key) {
            let at = key.0;
            self.now = at;
            let Some(input) = self.host.brings(input, &self.engine) else { return };
            if let Err(why) = self.deliver(input) {
                self.refused.push((at, why));
            }
        }
    }

    /// Until this time has passed, or nothing is arranged any more.
    ///
    /// # Errors
    /// It never comes to rest.
    pub fn run_until(&mut self, end: u64) -> Result<(), Restless> {
        const PATIENCE: usize = 1_000_000;
        for _ in 0..PATIENCE {
            match self.due() {
                Some((at, _)) if at <= end => self.step(),
                _ => {
                    if end < u64::MAX {
                        self.wait_until(end);
                    }
                    return Ok(());
                }
            }
        }
        Err(Restless(PATIENCE))
    }

    /// Until nothing is arranged any more.
    ///
    /// # Errors
    /// It never comes to rest.
    pub fn run(&mut self) -> Result<(), Restless> {
        self.run_until(u64::MAX)
    }

    /// The ends of turns so far.
    pub fn ends(&self) -> Vec<&TurnEnd> {
        let events = self.events.iter().map(|stamped| &stamped.event);
        let ends = events.filter_map(|event| match event {
            Event::TurnEnded(end) => Some(end),
            _ => None,
        });
        ends.collect()
    }

    /// One input on its whole way (J02).
    fn deliver(&mut self, input: Input) -> Result<(), Refused> {
        self.out.clear();
        let admitted = match (self.engine.admit(&input), &input) {
            (Ok(admitted), _) => admitted,
            (Err(why), Input::Command(command)) => {
                self.keep(|| Traced::Refused(command.clone(), why.clone()));
                return Err(why);
            }
            (Err(why), _) => return Err(why),
        };
        // A fault says that the journal cannot be written; then nothing is, any more (J02, J10).
        self.broken |= matches!(input, Input::Fault { .. });
        let written = !self.broken && Writer::writes(&self.engine, &input);
        let mut records = Vec::new();
        if written {
            self.writer.input(&self.engine, self.now, &input, &mut records);
        }
        match &mut self.trace {
            None => self.engine.handle(self.now, admitted, &mut self.out),
            Some(trace) => {
                trace.push((self.now, Traced::In(input.clone())));
                let mut moved = |transition| trace.push((self.now, Traced::Moved(transition)));
                self.engine.handle_traced(self.now, admitted, &mut self.out, &mut moved);
            }
        }
        if written {
            self.writer.handled(&self.engine, &self.out, &mut records);
        }
        records.into_iter().for_each(|record| self.journal.append(record));
        let acknowledges = matches!(input, Input::Command(_));
        if !self.broken && Writer::owes_durability(&self.out, acknowledges) {
            if self.fate == Fate::DiesUnsaved {
                self.fate = Fate::Dead;
                self.out.events.clear();
                self.out.acts.clear();
                self.leave();
                return Ok(());
            }
            self.make_durable();
        }
        self.leave();
        Ok(())
    }

    /// What the input led to is told, and carried out.
    fn leave(&mut self) {
        let out = std::mem::take(&mut self.out);
        let asked = out.acts.iter().cloned().map(Order::Ask);
        let orders = || out.now.iter().cloned().chain(asked.clone());
        out.events.iter().for_each(|event| self.keep(|| Traced::Event(event.clone())));
        orders().for_each(|order| self.keep(|| Traced::Order(order)));
        self.events.extend(out.events.iter().map(|event| Stamped { at: self.now, event: event.clone() }));
        self.orders.extend(orders().map(|order| (self.now, order)));
        for order in &out.now {
            match order {
                Order::Ask(ask) => self.carry_out(ask),
                Order::Withdraw(withdrawal) => self.take_back(withdrawal),
            }
        }
        for act in &out.acts {
            self.carry_out(act);
        }
        self.out = out;
    }

    fn make_durable(&mut self) {
        let mut records = Vec::new();
        self.writer.flush(&mut records);
        records.into_iter().for_each(|record| self.journal.append(record));
        self.journal.sync();
    }

    fn keep(&mut self, line: impl FnOnce() -> Traced) {
        if let Some(trace) = &mut self.trace {
            trace.push((self.now, line()));
        }
    }

    fn carry_out(&mut self, ask: &Ask) {
        match &ask.question {
            Question::Timer { timer, .. } if self.host.holds_back(timer) => {}
            Question::Timer { ms, .. } => self.time(ask.id, *ms, Answer::Fired),
            _ => self.in_time(ask),
        }
    }

    /// What the host says; after the time of its hook, that it failed (H02).
    fn in_time(&mut self, ask: &Ask) {
        let mut later = self.host.asked(ask, &self.engine);
        if let Some(bound) = ask.timeout_ms
            && !later.iter().any(|later| later.after < bound && matches!(later.input, Input::Answer { .. }))
        {
            later.retain(|later| later.after < bound);
            self.arrange_all(later);
            let failed = Answer::Failed(HookError::new(HookFailure::TimedOut, self.host.too_late()));
            return self.time(ask.id, bound, failed);
        }
        self.arrange_all(later);
    }

    /// A timer that was held back begins now, if it is still asked for.
    pub fn arm(&mut self, timer: &Subject) {
        let open = self.engine.outstanding().find(|open| open.ask.question.subject() == *timer);
        let armed = open.and_then(|open| match open.ask.question {
            Question::Timer { ms, .. } => Some((open.ask.id, ms)),
            _ => None,
        });
        if let Some((ask, ms)) = armed {
            self.time(ask, ms, Answer::Fired);
        }
    }

    fn time(&mut self, ask: AskId, ms: u64, answer: Answer) {
        let phase = self.host.phase(Due::Timer);
        self.arrange_in(self.now.saturating_add(ms), phase, Input::Answer { ask, answer });
    }

    fn take_back(&mut self, withdrawal: &Withdrawal) {
        let instead = match self.is_execution(withdrawal.ask) {
            true => self.host.cancelled(withdrawal),
            false => Cancelled::Obeys(Vec::new()),
        };
        if let Cancelled::Obeys(instead) = instead {
            self.arranged.retain(|_, input| input.ask() != Some(withdrawal.ask));
            self.arrange_all(instead);
        }
    }

    fn is_execution(&self, ask: AskId) -> bool {
        self.engine.outstanding().any(|open| open.ask.id == ask && open.ask.question.is_act())
    }

    /// Arranges what the host says.
    pub fn arrange_all(&mut self, later: Vec<Later>) {
        for Later { after, input } in later {
            let phase = self.host.phase(if after == 0 { Due::AtOnce } else { Due::Later });
            self.arrange_in(self.now.saturating_add(after), phase, input);
        }
    }
}
