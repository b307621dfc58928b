//! What is around a call: the host, the batch, and whoever stops it.
use machine_core::ask::{By, Cause, Subject, Timer};
use machine_core::config::{CallLimits, Config, Questions, TurnLimits};
use machine_core::ids::CallId;
use machine_core::machine::{Kind, Machine, Path, Step};
use machine_core::outcome::{ErrorCode, Outcome, Settlement, SkipCode, ToolResult};
use machine_tool::{Call, Ctx, Event, Signal, State, answer, prepare};

use super::monitor::Monitor;
use super::words;
use crate::coverage::Reached;
use crate::explore::World;
use crate::happening::Happening;
use crate::outstanding::Outstanding;

/// What may come to a call, and how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CallSettings {
    /// Whether results are finalized.
    pub finalize: bool,
    /// Whether its answer is known as it is announced, so that it never runs.
    pub known: bool,
    /// Whether it may need an approval.
    pub approve: bool,
    /// Whether it has a timeout, which may fire.
    pub timeout: bool,
    /// Whether hooks may fail or say no, and the tool may misbehave.
    pub refusals: bool,
    /// Aborts of its turn.
    pub abort: u32,
    /// Stops without grace.
    pub hurry: u32,
    /// Cancellations of it alone.
    pub cancel: u32,
    /// Prompts that join its turn.
    pub steer: u32,
    /// Whether it may detach.
    pub detach: bool,
    /// Pieces of output.
    pub output: u32,
    /// Whether nobody may carry out its execution any more.
    pub lost: bool,
    /// Whether the batch may skip it.
    pub skip: bool,
    /// Crashes of the process.
    pub crash: u32,
    /// Faults of the engine.
    pub fault: u32,
    /// Whether answers come that fit nothing.
    pub stray: bool,
}

/// A call and what is around it.
#[derive(Clone, Debug, Hash)]
pub struct CallWorld {
    machine: Machine<Call>,
    asks: Outstanding,
    /// It wants to start, and the batch lets it.
    queued: bool,
    /// What may still come.
    left: CallSettings,
    monitor: Monitor,
    settings: CallSettings,
}

const ID: CallId = CallId { branch: 1, turn: 1, step: 1, index: 0 };

impl CallWorld {
    /// A call that was just announced.
    ///
    /// # Errors
    /// A rule that is broken by its first step.
    pub fn new(settings: CallSettings) -> Result<Self, String> {
        let call = Call { id: ID, tool: "tool".into(), args: "{}".into() };
        let known = Outcome::error(ErrorCode::BadJson);
        let mut signals = Vec::new();
        let mut ctx = context(&settings, false, &mut signals);
        let machine = match settings.known {
            true => answer(call, Settlement::bare(known.clone()), &mut ctx),
            false => prepare(call, &mut ctx),
        };
        let monitor = Monitor::new(settings.finalize, settings.known.then_some(known));
        let asks = Outstanding::default();
        let mut world = Self { machine, asks, queued: false, left: settings, monitor, settings };
        // Its announcement is no event of the machine: the monitor is shown one that changes nothing.
        world.take(&Event::Awaited { now: 0 }, &signals)?;
        Ok(world)
    }

    /// The machine.
    pub fn machine(&self) -> &Machine<Call> {
        &self.machine
    }

    /// What may come, and how often.
    pub fn settings(&self) -> &CallSettings {
        &self.settings
    }

    /// With what an engine runs the call as it runs here.
    pub fn config(&self) -> Config {
        let (output_chars, progress_chars) = (words::OUTPUT_CHARS, words::PROGRESS_CHARS);
        Config {
            ask: Questions { finalize: self.settings.finalize, ..Questions::default() },
            calls: CallLimits { output_chars, progress_chars, ..CallLimits::default() },
            turn: TurnLimits { stream_idle_ms: 0, ..TurnLimits::default() },
            ..Config::default()
        }
    }

    /// The answers to what is open. Of one that was taken back none is owed.
    fn answers(&self) -> Vec<(Subject, Vec<Event>)> {
        let menu = |subject: &Subject| (subject.clone(), self.menu(subject));
        self.asks.subjects().map(menu).collect()
    }

    fn menu(&self, subject: &Subject) -> Vec<Event> {
        let settings = &self.settings;
        let or_fails = |mut events: Vec<Event>| {
            if settings.refusals {
                events.push(Event::HookFailed(words::hook()));
            }
            events
        };
        match subject {
            Subject::Prepare(_) => {
                or_fails(words::prepared(settings).into_iter().map(Event::Prepared).collect())
            }
            Subject::Approve(_) => {
                let approved = |approval| Event::Approved { approval, rule: None };
                or_fails(words::approvals().map(approved).to_vec())
            }
            Subject::Execute(_) => words::executed(settings).into_iter().map(Event::Executed).collect(),
            Subject::Finalize(_) => or_fails(vec![Event::Finalized(ToolResult::text(words::FINAL).into())]),
            Subject::Timer(Timer::CallTimeout(_)) => vec![Event::TimeUp],
            Subject::Timer(_) => vec![Event::GraceOver],
            _ => Vec::new(),
        }
    }

    /// What comes on the way, or never.
    fn pieces(&self) -> Vec<Event> {
        let mut events = vec![Event::Progress(words::PROGRESS.into())];
        if self.left.output > 0 {
            events.push(Event::Output(words::content(words::PIECE)));
        }
        if self.settings.detach {
            events.push(Event::Detached(words::content(words::ACK)));
        }
        if self.settings.lost {
            events.push(Event::Lost);
        }
        events
    }

    fn interference(&self) -> Vec<Event> {
        let left = &self.left;
        let mut events = Vec::new();
        let mut offer = |times: u32, event: Event| {
            if times > 0 {
                events.push(event)
            }
        };
        let aborter = if left.abort == self.settings.abort { By::User } else { By::Program };
        offer(left.abort, Event::Abort(Cause::by(aborter)));
        offer(left.cancel, Event::Cancel(Cause::by(By::Parent)));
        offer(left.hurry, Event::Hurry);
        offer(left.steer, Event::Steered);
        offer(left.skip.into(), Event::Skip(SkipCode::Busy));
        offer(left.fault, Event::Fault);
        offer(left.detach.into(), Event::Awaited { now: 0 });
        let ran = self.monitor.due.executed;
        // What detached has told so: it did leave. What never started left under the rules of an earlier version.
        offer(left.crash, Event::Crash { left: true });
        offer(left.crash.min((!(ran && self.monitor.is_answered())).into()), Event::Crash { left: false });
        events
    }

    /// Second answers, and those to what was taken back.
    fn strays(&self) -> Vec<Event> {
        let subjects = [
            Subject::Prepare(ID),
            Subject::Approve(ID),
            Subject::Execute(ID),
            Subject::Finalize(ID),
            Subject::Timer(Timer::Grace(ID)),
            Subject::Timer(Timer::CallTimeout(ID)),
        ];
        let over = |subject: &&Subject| self.asks.is_over(subject);
        let mut events: Vec<_> =
            subjects.iter().filter(over).flat_map(|subject| self.menu(subject)).collect();
        if self.monitor.due.executed {
            events.push(Event::Start);
        }
        if self.asks.is_over(&Subject::Execute(ID)) {
            events.push(Event::Lost);
            events.extend([Event::Output, Event::Detached].map(|of| of(words::content(words::RAW))));
            events.push(Event::Progress(words::PROGRESS.into()));
        }
        let hooked = |subject: &Subject| {
            matches!(subject, Subject::Prepare(_) | Subject::Approve(_) | Subject::Finalize(_))
        };
        events.push(Event::HookFailed(words::hook()));
        events.retain(|event| !matches!(event, Event::HookFailed(_)) || !self.asks.subjects().any(hooked));
        events
    }

    /// Which ask an event answers, and closes.
    fn answered(event: &Event, asks: &Outstanding) -> Option<Subject> {
        let open = |subject: Subject| asks.about(&subject).is_some().then_some(subject);
        match event {
            Event::Prepared(_) => open(Subject::Prepare(ID)),
            Event::Approved { .. } => open(Subject::Approve(ID)),
            Event::Executed(_) | Event::Lost => open(Subject::Execute(ID)),
            Event::Finalized(_) => open(Subject::Finalize(ID)),
            Event::TimeUp => open(Subject::Timer(Timer::CallTimeout(ID))),
            Event::GraceOver => open(Subject::Timer(Timer::Grace(ID))),
            Event::HookFailed(_) => open(Subject::Prepare(ID))
                .or_else(|| open(Subject::Approve(ID)))
                .or_else(|| open(Subject::Finalize(ID))),
            Event::Start | Event::Skip(_) | Event::Output(_) | Event::Progress(_) | Event::Detached(_) => {
                None
            }
            Event::Cancel(_) | Event::Abort(_) | Event::Steered | Event::Awaited { .. } => None,
            Event::Hurry | Event::Crash { .. } | Event::Fault => None,
        }
    }

    fn spend(&mut self, event: &Event) {
        let left = &mut self.left;
        let spent = match event {
            Event::Abort(_) => &mut left.abort,
            Event::Cancel(_) => &mut left.cancel,
            Event::Hurry => &mut left.hurry,
            Event::Steered => &mut left.steer,
            Event::Output(_) => &mut left.output,
            Event::Crash { .. } => &mut left.crash,
            Event::Fault => &mut left.fault,
            _ => return,
        };
        *spent = spent.saturating_sub(1);
    }

    fn take(&mut self, event: &Event, signals: &[Signal]) -> Result<(), String> {
        for signal in signals {
            match signal {
                Signal::Ask(question) => self.asks.ask(question)?,
                Signal::Withdraw(subject, _) => self.asks.withdraw(subject),
                Signal::Enqueue => self.queued = true,
                Signal::NeverRuns | Signal::Answered { .. } => self.queued = false,
                _ => {}
            }
        }
        self.monitor.taken(event, signals, &self.asks)?;
        if *self.machine.state() == State::Settled {
            self.asks.close(&Subject::Execute(ID));
        }
        let timeout = self.monitor.due.plan.as_ref().is_some_and(|plan| plan.timeout_ms.is_some());
        self.monitor.holds(&self.machine, &self.asks, timeout)
    }
}

fn context<'c>(settings: &CallSettings, steered: bool, signals: &'c mut Vec<Signal>) -> Ctx<'c> {
    let (output_chars, progress_chars) = (words::OUTPUT_CHARS, words::PROGRESS_CHARS);
    Ctx { signals, finalize: settings.finalize, grace_ms: 2_500, output_chars, progress_chars, steered }
}

impl World for CallWorld {
    type Move = Happening<Event>;

    fn owed(&self) -> Vec<Self::Move> {
        let owed = |subject: &Subject| {
            !self.asks.is_withdrawn(subject) && !matches!(subject, Subject::Timer(Timer::CallTimeout(_)))
        };
        let answers = self.answers().into_iter().filter(|(subject, _)| owed(subject));
        let events = answers.flat_map(|(_, events)| events);
        events.chain(self.queued.then_some(Event::Start)).map(Happening::now).collect()
    }

    fn volunteered(&self) -> Vec<Self::Move> {
        let may = |subject: &Subject| {
            self.asks.is_withdrawn(subject) || matches!(subject, Subject::Timer(Timer::CallTimeout(_)))
        };
        let mut events: Vec<_> =
            self.answers().into_iter().filter(|(s, _)| may(s)).flat_map(|(_, events)| events).collect();
        if self.asks.about(&Subject::Execute(ID)).is_some() {
            events.extend(self.pieces());
        }
        events.extend(self.interference());
        let mut moves: Vec<_> = events.into_iter().map(Happening::now).collect();
        if self.settings.stray {
            moves.extend(self.strays().into_iter().map(Happening::stray));
        }
        moves
    }

    fn apply(&mut self, happening: &Self::Move) -> Result<(), String> {
        let Happening { event, stray, .. } = happening;
        let before = self.machine.clone();
        let answers = if *stray { None } else { Self::answered(event, &self.asks) };
        let (joined, mut signals) = (self.monitor.due.joined, Vec::new());
        let mut ctx = context(&self.settings, joined, &mut signals);
        let step = self.machine.step(event, &mut ctx);
        if *event == Event::Steered {
            self.monitor.due.joined = true;
            self.spend(event);
        }
        if step == Step::Ignored {
            return match () {
                () if self.machine != before || !signals.is_empty() => {
                    Err(format!("P17: {event:?} is ignored, and something changed"))
                }
                () if answers.is_some() => Err(format!("E07: {event:?} was asked for, and is ignored")),
                () => self.monitor.ignored(event),
            };
        }
        if *stray {
            return Err(format!("E07: {event:?} fits nothing, and is taken"));
        }
        answers.iter().for_each(|subject| self.asks.close(subject));
        match event {
            Event::Start => self.queued = false,
            // Whatever was asked is gone with its process; but for an approval, which is asked again.
            Event::Crash { .. } => self.asks.retain(|subject| matches!(subject, Subject::Approve(_))),
            _ => {}
        }
        if *event != Event::Steered {
            self.spend(event);
        }
        self.take(event, &signals)
    }

    fn at_rest(&self) -> Result<(), String> {
        match self.machine.state() {
            // Nobody can make an execution end that does not obey.
            State::Settled | State::Deaf => Ok(()),
            other => Err(format!("hang: nothing is owed, and the call is {}", other.leaf())),
        }
    }

    fn reached(&self, happening: &Self::Move, after: &Self) -> Option<Reached> {
        Some(crate::happening::reached(&self.machine, happening.event.kind(), &after.machine))
    }
}
