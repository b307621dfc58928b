//! A driver in virtual time: the way of an input is the same as in a real host (admit, append, handle, append acts,
//! sync, act), time only passes when nothing is left to do at this tick, and everything that comes out is kept.
//!
//! Two things at the same tick come in the order in which they were arranged. Nothing here is random.
use std::collections::BTreeMap;
use std::sync::Arc;

use machine_adapter::{Engine, Order, Out};
use machine_core::ask::{Answer, Ask, HookError, HookFailure, Question, Withdrawal};
use machine_core::config::{Config, ConfigError};
use machine_core::event::{Event, TurnEnd};
use machine_core::ids::AskId;
use machine_core::input::{Command, Input, Refused};
use machine_journal::{MemoryJournal, ReplayError, Writer, reopen};

/// Who carries out what the engine asks.
pub trait Host {
    /// Something is asked. What it gives is delivered later, in this order at equal ticks.
    fn asked(&mut self, ask: &Ask, engine: &Engine) -> Vec<Later>;

    /// An execution is taken back; what was arranged for it is given. What it returns takes its place.
    fn cancelled(&mut self, withdrawal: &Withdrawal, arranged: Vec<Later>) -> Vec<Later>;
}

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
    /// What would be on disk.
    pub journal: MemoryJournal,
    writer: Writer,
    now: u64,
    arranged: BTreeMap<(u64, u64), Input>,
    serial: u64,
    out: Out,
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
        Ok(Self {
            engine,
            host,
            events: Vec::new(),
            orders: Vec::new(),
            refused: Vec::new(),
            journal,
            writer: Writer::new(),
            now: 0,
            arranged: BTreeMap::new(),
            serial: 0,
            out: Out::default(),
        })
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

    /// Arranges an input for a time. One in the past comes next.
    pub fn arrange(&mut self, at: u64, input: impl Into<Input>) {
        self.serial += 1;
        self.arranged.insert((at.max(self.now), self.serial), input.into());
    }

    /// Until this time has passed, or nothing is arranged any more.
    ///
    /// # Errors
    /// It never comes to rest.
    pub fn run_until(&mut self, end: u64) -> Result<(), Restless> {
        const PATIENCE: usize = 1_000_000;
        for _ in 0..PATIENCE {
            match self.arranged.first_key_value() {
                Some((&(at, _), _)) if at <= end => {}
                _ => {
                    if end < u64::MAX {
                        self.now = self.now.max(end);
                    }
                    return Ok(());
                }
            }
            if let Some(((at, _), input)) = self.arranged.pop_first() {
                self.now = at;
                if let Err(why) = self.deliver(input) {
                    self.refused.push((at, why));
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

    /// The process dies: only what is durable is left. The session is opened again, and what was open is closed.
    ///
    /// # Errors
    /// The journal is no session.
    pub fn crash(&mut self) -> Result<(), ReplayError> {
        self.arranged.clear();
        self.journal.crash();
        let again = reopen(self.journal.records())?;
        (self.engine, self.writer) = (again.engine, again.writer);
        match again.recovered.map(|recovered| self.deliver(recovered)) {
            Some(Err(why)) => self.refused.push((self.now, why)),
            Some(Ok(())) => {}
            None => self.ask_again(),
        }
        Ok(())
    }

    /// Nothing had to be closed: what is open outlives its process, and is asked again (J05).
    fn ask_again(&mut self) {
        let open: Vec<Ask> = self.engine.outstanding().map(|open| open.ask.clone()).collect();
        for ask in open {
            self.orders.push((self.now, Order::Ask(ask.clone())));
            self.carry_out(&ask);
        }
    }

    /// The ends of turns so far.
    pub fn ends(&self) -> Vec<&TurnEnd> {
        let ended = |stamped: &'_ Stamped| matches!(stamped.event, Event::TurnEnded(_));
        let ends = self.events.iter().filter(|stamped| ended(stamped));
        ends.filter_map(|stamped| match &stamped.event {
            Event::TurnEnded(end) => Some(end),
            _ => None,
        })
        .collect()
    }

    /// One input on its whole way (J02).
    fn deliver(&mut self, input: Input) -> Result<(), Refused> {
        self.out.clear();
        let admitted = self.engine.admit(&input)?;
        // A fault says that the journal cannot be written (J02).
        let written = !matches!(input, Input::Fault { .. });
        if written {
            self.journal.append(self.writer.input(self.now, input.clone()));
        }
        self.engine.handle(self.now, admitted, &mut self.out);
        if written {
            if let Some(record) = self.writer.acts(&self.out.acts) {
                self.journal.append(record);
            }
            self.journal.sync();
        }
        let out = std::mem::take(&mut self.out);
        self.events.extend(out.events.iter().map(|event| Stamped { at: self.now, event: event.clone() }));
        self.orders.extend(out.now.iter().cloned().map(|order| (self.now, order)));
        self.orders.extend(out.acts.iter().cloned().map(|act| (self.now, Order::Ask(act))));
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
        Ok(())
    }

    fn carry_out(&mut self, ask: &Ask) {
        let later = match &ask.question {
            Question::Timer { ms, .. } => {
                vec![Later { after: *ms, input: Input::Answer { ask: ask.id, answer: Answer::Fired } }]
            }
            _ => self.in_time(ask),
        };
        self.arrange_all(later);
    }

    /// What the host says; after the time of its hook, that it failed (H02).
    fn in_time(&mut self, ask: &Ask) -> Vec<Later> {
        let mut later = self.host.asked(ask, &self.engine);
        let Some(bound) = ask.timeout_ms else { return later };
        if !later.iter().any(|later| later.after <= bound && matches!(later.input, Input::Answer { .. })) {
            later.retain(|later| later.after <= bound);
            let answer = Answer::Failed(HookError::new(HookFailure::TimedOut, "the hook's time is up"));
            later.push(Later { after: bound, input: Input::Answer { ask: ask.id, answer } });
        }
        later
    }

    fn take_back(&mut self, withdrawal: &Withdrawal) {
        let about = |input: &Input| match input {
            Input::Answer { ask, .. } | Input::Piece { ask, .. } | Input::Lost { ask } => {
                *ask == withdrawal.ask
            }
            Input::Command(_) | Input::Recovered { .. } | Input::Fault { .. } => false,
        };
        let keys: Vec<_> =
            self.arranged.iter().filter(|(_, input)| about(input)).map(|(key, _)| *key).collect();
        let mut arranged = Vec::new();
        for key in keys {
            if let Some(input) = self.arranged.remove(&key) {
                arranged.push(Later { after: key.0 - self.now, input });
            }
        }
        if self.is_execution(withdrawal.ask) {
            let instead = self.host.cancelled(withdrawal, arranged);
            self.arrange_all(instead);
        }
    }

    fn is_execution(&self, ask: AskId) -> bool {
        self.engine.outstanding().any(|open| open.ask.id == ask && open.ask.question.is_act())
    }

    fn arrange_all(&mut self, later: Vec<Later>) {
        for Later { after, input } in later {
            self.arrange(self.now.saturating_add(after), input);
        }
    }
}
