//! What is around a turn: the host behind its questions, the model, the batch, what waits, and whoever stops it.
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use machine_core::ask::{By, Cause, Question, Subject, Timer};
use machine_core::config::{Config, Questions, Retry, TurnLimits};
use machine_core::event::TurnError;
use machine_core::ids::{CallId, TurnId};
use machine_core::machine::{Kind, Machine, Path, Step};
use machine_turn::{Ctx, Event, Signal, State, Turn};

use super::monitor::Monitor;
use super::words;
use crate::coverage::Reached;
use crate::explore::World;
use crate::happening::Happening;
use crate::outstanding::Outstanding;

/// What may come to a turn, and how often.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TurnSettings {
    /// Calls that a response may have.
    pub calls: u32,
    /// Steps whose response may have calls.
    pub steps: u32,
    /// Failed attempts in the whole turn.
    pub retries: u32,
    /// What the host is asked.
    pub ask: Questions,
    /// What the turn may do.
    pub limits: TurnLimits,
    /// Whether hooks may fail or say no, and attempts fail for good.
    pub refusals: bool,
    /// Whether responses have every kind of piece, and end in every way.
    pub finishes: bool,
    /// Whether attempts cost something, and what may be unknown.
    pub usage: bool,
    /// Aborts.
    pub abort: u32,
    /// Stops without grace.
    pub hurry: u32,
    /// Looks at which a prompt has joined.
    pub steer: u32,
    /// Looks at which something from outside waits.
    pub notify: u32,
    /// Looks at which a result has left something.
    pub deliver: u32,
    /// Looks at which the agent is paused.
    pub pause: u32,
    /// Looks at which background calls are to be waited for.
    pub wait: u32,
    /// Whether a result may end the turn.
    pub stop_turn: bool,
    /// Whether calls may repeat themselves, or fail fatally.
    pub bad_calls: bool,
    /// Attempts that go silent.
    pub silence: u32,
    /// Crashes of the process.
    pub crash: u32,
    /// Faults of the engine.
    pub fault: u32,
    /// Whether answers come that fit nothing.
    pub stray: bool,
}

/// A turn and what is around it.
#[derive(Clone, Debug)]
pub struct TurnWorld {
    machine: Machine<Turn>,
    asks: Outstanding,
    /// What waits is asked for.
    looks: bool,
    /// Something of the turn's own waits for its next step.
    inside: bool,
    now: u64,
    /// Pieces of the open attempt that came or were left out.
    streamed: usize,
    /// What may still come.
    left: TurnSettings,
    monitor: Monitor,
    config: Arc<Config>,
    settings: Arc<TurnSettings>,
}

const TURN: TurnId = TurnId { branch: 1, turn: 1 };

/// What never changes is left out.
impl Hash for TurnWorld {
    fn hash<H: Hasher>(&self, to: &mut H) {
        let Self { machine, asks, looks, inside, now, streamed, left, monitor, config: _, settings: _ } =
            self;
        (machine, asks, looks, inside, now, streamed, left, monitor).hash(to);
    }
}

impl TurnWorld {
    /// A turn that was just begun. An attempt is repeated once.
    ///
    /// # Errors
    /// A rule that is broken by its first step, or settings that are no sound configuration.
    pub fn new(settings: TurnSettings) -> Result<Self, String> {
        let (ask, turn) = (settings.ask, settings.limits);
        let retry = Retry { attempts: 2, ..Retry::default() };
        let config = Config { ask, turn, retry, ..Config::default() };
        config.check().map_err(|error| error.to_string())?;
        let mut signals = Vec::new();
        let mut ctx = Ctx { signals: &mut signals, config: &config, now: 0 };
        let machine = machine_turn::start(Turn::new(TURN, &config.request), &mut ctx);
        let mut world = Self {
            machine,
            asks: Outstanding::default(),
            looks: false,
            inside: false,
            now: 0,
            streamed: 0,
            left: settings.clone(),
            monitor: Monitor::default(),
            config: Arc::new(config),
            settings: Arc::new(settings),
        };
        // Its beginning is no event of the machine: the monitor is shown one that changes nothing.
        world.take(&Event::BackoffOver, &signals)?;
        Ok(world)
    }

    /// The machine.
    pub fn machine(&self) -> &Machine<Turn> {
        &self.machine
    }

    /// What it is configured with.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// What is asked now.
    pub fn open(&self) -> impl Iterator<Item = &Question> {
        self.asks.subjects().filter_map(|subject| self.asks.about(subject))
    }

    fn attempt_is_open(&self) -> bool {
        self.asks.subjects().any(|subject| matches!(subject, Subject::Attempt(_)))
    }

    fn idle_is_armed(&self) -> bool {
        self.asks.subjects().any(|subject| matches!(subject, Subject::Timer(Timer::StreamIdle(_))))
    }

    /// The pieces that may come next.
    fn pieces(&self) -> Vec<Event> {
        let calls = if self.machine.data().step <= self.settings.steps { self.settings.calls } else { 0 };
        words::pieces(&self.settings, calls).into_iter().skip(self.streamed).map(Event::Model).collect()
    }

    fn ends(&self) -> Vec<Event> {
        let mut events = words::ends(&self.settings);
        if self.left.retries > 0 {
            events.extend(words::failures(&self.settings));
        }
        events
    }

    fn batch_ends(&self) -> Vec<Event> {
        let stopping: CallId = self.machine.data().step_id().call(0);
        let mut all = vec![Event::BatchDone { stopped_by: None }];
        if self.settings.stop_turn {
            all.push(Event::BatchDone { stopped_by: Some((stopping, "enough".into())) });
        }
        all
    }

    fn interference(&self) -> Vec<Happening<Event>> {
        let left = &self.left;
        let mut moves = Vec::new();
        let mut offer = |times: u32, event: Event| {
            if times > 0 {
                moves.push(Happening::now(event))
            }
        };
        let fault = Event::Fault("disk".into());
        if self.looks {
            // It is left in the `handle` in which it is entered: only a check may fail there.
            offer(left.fault, fault);
            return moves;
        }
        let by = if left.abort == self.settings.abort { By::User } else { By::Program };
        offer(left.abort, Event::Abort(Cause::by(by)));
        offer(left.hurry, Event::Hurry);
        offer(left.fault, fault);
        offer(left.crash, Event::Crash { waiting: false });
        let batch = u32::from(self.monitor.has_batch());
        // Once a turn is being stopped no call waits for an approval.
        let waits = u32::from(matches!(self.machine.state(), State::Running(_)));
        offer(left.crash.min(waits), Event::Crash { waiting: true });
        if self.settings.bad_calls {
            let call = self.machine.data().step_id().call(0);
            let text = "fatal".into();
            offer(batch, Event::Repeated);
            offer(batch, Event::FatalCall(Arc::new(TurnError::FatalCall { call, text })));
        }
        offer(matches!(self.machine.state(), State::Waiting { .. }).into(), Event::Stirred);
        if self.idle_is_armed() {
            // Something came meanwhile; or nothing did.
            moves.push(Happening::now(Event::IdleOver));
            if left.silence > 0 {
                moves.push(Happening::after(Event::IdleOver, self.settings.limits.stream_idle_ms));
            }
        }
        moves
    }

    /// Second answers, and those to what was taken back.
    fn strays(&self) -> Vec<Event> {
        let step = self.machine.data().step_id();
        let attempt = self.machine.data().attempt_id();
        let over = |subject: Subject| self.asks.is_over(&subject);
        let settings = TurnSettings { refusals: true, ..TurnSettings::default() };
        let mut events = Vec::new();
        let mut answers = |question: Question| {
            if over(question.subject()) {
                events.extend(words::answers(&question, &settings));
            }
        };
        let timer = |timer| Question::Timer { timer, ms: 0 };
        let error = machine_core::response::ModelError::new(machine_core::response::Failure::Unknown, "");
        answers(Question::Gate { step });
        answers(Question::Recover { attempt, error: Arc::new(error), tried: Arc::from([]) });
        answers(Question::Stop { turn: TURN, continued: 0 });
        answers(timer(Timer::Backoff(step)));
        answers(timer(Timer::TurnWait(TURN)));
        if over(Subject::Attempt(attempt)) {
            events.extend(words::ends(&settings));
            events.extend(words::failures(&settings));
            events.extend(words::pieces(&settings, 1).into_iter().map(Event::Model));
        }
        if over(Subject::Timer(Timer::StreamIdle(attempt))) {
            events.push(Event::IdleOver);
        }
        if !self.monitor.has_batch() {
            events.push(Event::Hurry);
        }
        let hooked =
            |subject: &Subject| matches!(subject, Subject::Gate(_) | Subject::Recover(_) | Subject::Stop(_));
        events.retain(|event| !matches!(event, Event::HookFailed(_)) || !self.asks.subjects().any(hooked));
        events
    }

    /// The ask that an event answers, and closes.
    fn answered(&self, event: &Event) -> Option<Subject> {
        let like = |of: fn(&Subject) -> bool| self.asks.subjects().find(|subject| of(subject)).cloned();
        match event {
            Event::Gated(_) => like(|subject| matches!(subject, Subject::Gate(_))),
            Event::Finished(_) | Event::Failed(_) => like(|subject| matches!(subject, Subject::Attempt(_))),
            Event::Recovered(_) => like(|subject| matches!(subject, Subject::Recover(_))),
            Event::Stopped(_) => like(|subject| matches!(subject, Subject::Stop(_))),
            Event::HookFailed(_) => {
                like(|subject| matches!(subject, Subject::Gate(_) | Subject::Recover(_) | Subject::Stop(_)))
            }
            Event::IdleOver => like(|subject| matches!(subject, Subject::Timer(Timer::StreamIdle(_)))),
            Event::BackoffOver => like(|subject| matches!(subject, Subject::Timer(Timer::Backoff(_)))),
            Event::WaitOver => like(|subject| matches!(subject, Subject::Timer(Timer::TurnWait(_)))),
            Event::Model(_) | Event::BatchDone { .. } | Event::Repeated | Event::FatalCall(_) => None,
            Event::Pending(_) | Event::Stirred | Event::Abort(_) | Event::Hurry => None,
            Event::Crash { .. } | Event::Fault(_) => None,
        }
    }

    fn spend(&mut self, happening: &Happening<Event>) {
        let left = &mut self.left;
        let less = |left: &mut u32, spent: bool| *left = left.saturating_sub(spent.into());
        match &happening.event {
            Event::Abort(_) => less(&mut left.abort, true),
            Event::Hurry => less(&mut left.hurry, true),
            Event::Crash { .. } => less(&mut left.crash, true),
            Event::Fault(_) => less(&mut left.fault, true),
            Event::Failed(_) => less(&mut left.retries, true),
            Event::IdleOver => less(&mut left.silence, happening.after_ms > 0),
            Event::Pending(pending) => {
                less(&mut left.steer, pending.steered);
                less(&mut left.notify, pending.outside);
                less(&mut left.deliver, pending.inside && !self.inside);
                less(&mut left.pause, pending.paused);
                less(&mut left.wait, pending.wait_ms > 0);
            }
            Event::Model(piece) => {
                let place = |pieces: Vec<_>| pieces.iter().position(|one| one == piece);
                self.streamed =
                    place(words::pieces(&self.settings, self.settings.calls)).map_or(0, |at| at + 1);
            }
            _ => {}
        }
    }

    fn take(&mut self, event: &Event, signals: &[Signal]) -> Result<(), String> {
        for signal in signals {
            match signal {
                Signal::Ask(question) => self.asks.ask(question)?,
                Signal::Withdraw(subject) => self.asks.withdraw(subject),
                Signal::Request(attempt) => {
                    self.streamed = 0;
                    self.asks.ask(&Question::Attempt { attempt: *attempt })?;
                }
                Signal::Wait { ms } => {
                    self.asks.ask(&Question::Timer { timer: Timer::TurnWait(TURN), ms: *ms })?;
                }
                Signal::Look => self.looks = true,
                Signal::Drain => self.inside = false,
                Signal::Continue(_) => self.inside = true,
                Signal::Ended(_) => self.looks = false,
                _ => {}
            }
        }
        self.monitor.taken(event, signals, &self.config)?;
        self.monitor.holds(&self.machine, &self.asks, self.looks, &self.config)
    }
}

impl World for TurnWorld {
    type Move = Happening<Event>;

    fn owed(&self) -> Vec<Self::Move> {
        let mut events: Vec<_> =
            self.open().flat_map(|question| words::answers(question, &self.settings)).collect();
        if self.attempt_is_open() {
            events.extend(self.ends());
        }
        if self.monitor.has_batch() {
            events.extend(self.batch_ends());
        }
        if self.looks {
            events.extend(words::pending(&self.left, self.inside).into_iter().map(Event::Pending));
        }
        events.into_iter().map(Happening::now).collect()
    }

    fn volunteered(&self) -> Vec<Self::Move> {
        let mut moves = self.interference();
        if self.attempt_is_open() {
            moves.extend(self.pieces().into_iter().map(Happening::now));
        }
        if self.settings.stray && !self.looks {
            moves.extend(self.strays().into_iter().map(Happening::stray));
        }
        moves
    }

    fn apply(&mut self, happening: &Self::Move) -> Result<(), String> {
        let Happening { event, stray, after_ms } = happening;
        let before = self.machine.clone();
        let answers = if *stray { None } else { self.answered(event) };
        let mut signals = Vec::new();
        let now = self.now + after_ms;
        let step = self.machine.step(event, &mut Ctx { signals: &mut signals, config: &self.config, now });
        if step == Step::Ignored {
            let owed = answers.is_some() || matches!(event, Event::Pending(_) | Event::BatchDone { .. });
            return match () {
                () if self.machine != before || !signals.is_empty() => {
                    Err(format!("P17: {event:?} is ignored, and something changed"))
                }
                () if owed => Err(format!("E07: {event:?} was asked for, and is ignored")),
                () => self.monitor.ignored(event),
            };
        }
        if *stray {
            return Err(format!("E07: {event:?} fits nothing, and is taken"));
        }
        self.now = now;
        answers.iter().for_each(|subject| self.asks.close(subject));
        match event {
            Event::Pending(_) => self.looks = false,
            // Whatever was asked is gone with its process.
            Event::Crash { .. } => self.asks.retain(|_| false),
            _ => {}
        }
        self.spend(happening);
        self.take(event, &signals)
    }

    fn at_rest(&self) -> Result<(), String> {
        match self.machine.state() {
            State::Ended(_) => Ok(()),
            other => Err(format!("hang: nothing is owed, and the turn is {}", other.leaf())),
        }
    }

    fn reached(&self, happening: &Self::Move, after: &Self) -> Option<Reached> {
        Some(crate::happening::reached(&self.machine, happening.event.kind(), &after.machine))
    }
}
