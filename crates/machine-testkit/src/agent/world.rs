//! What is around an agent: the running turn, the calls that outlive it, the host behind the screens and the maintenance,
//! and everybody who sends or commands.
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use machine_agent::inbox::Waiting;
use machine_agent::{Agent, Ctx, Event, Signal, State, admit};
use machine_core::ask::{By, Cause, Question, Subject};
use machine_core::config::{AfterAbort, AfterFailure, Config, InboxLimits, Questions};
use machine_core::event::{EndReason, TurnError};
use machine_core::ids::{CallId, InputId, TurnId};
use machine_core::machine::{Kind, Machine, Path, Step};
use machine_core::message::text_content;

use super::monitor::{Monitor, Taken};
use super::words;
use crate::coverage::Reached;
use crate::explore::World;
use crate::happening::Happening;
use crate::outstanding::Outstanding;

/// What may come to an agent, and how often.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AgentSettings {
    /// Prompts for a turn of their own.
    pub prompts: u32,
    /// Prompts that join the running turn, by themselves or out of the queue.
    pub steer: u32,
    /// Whether prompts and ends of background calls may come that do not wake.
    pub park: bool,
    /// Notifications.
    pub notify: u32,
    /// Injections.
    pub inject: u32,
    /// Reminders, all with one key.
    pub remind: u32,
    /// Inputs that are taken back or changed.
    pub change: u32,
    /// Whether prompts are screened.
    pub screen: bool,
    /// After so many screenings were asked, none is wanted any more; 0: they always are.
    pub screens: u32,
    /// Whether notifications are.
    pub screen_notes: bool,
    /// Whether hooks may fail or say no, and turns fail.
    pub refusals: bool,
    /// Aborts.
    pub abort: u32,
    /// Pauses; `resume` may come as often, and once in any case.
    pub pause: u32,
    /// Maintenance.
    pub maintain: u32,
    /// Whether the session is closed.
    pub close: bool,
    /// Calls that work on in the background.
    pub detach: u32,
    /// Calls that do not stop.
    pub deaf: u32,
    /// Messages of the turn's own.
    pub deliver: u32,
    /// Crashes of the process.
    pub crash: u32,
    /// Faults of the engine.
    pub fault: u32,
    /// After a failed turn.
    pub after_failure: AfterFailure,
    /// After an aborted turn.
    pub after_abort: AfterAbort,
    /// Whether answers come that fit nothing.
    pub stray: bool,
}

/// An agent and what is around it.
#[derive(Clone, Debug)]
pub struct AgentWorld {
    machine: Machine<Agent>,
    asks: Outstanding,
    turn: Option<Running>,
    calls: BTreeMap<CallId, Work>,
    /// The process or the engine is gone: what it left ends first.
    gone: bool,
    /// What may still come.
    left: Left,
    monitor: Monitor,
    config: Arc<Config>,
    settings: Arc<AgentSettings>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Left {
    may: AgentSettings,
    resume: u32,
    /// Screenings, until none is wanted any more.
    screens: u32,
}

/// The running turn.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Running {
    id: TurnId,
    /// How it must end, if it must.
    ends: Option<EndReason>,
}

/// A call that outlives its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Work {
    Background,
    /// Its end is told; in the same `handle` it goes, or is said to be deaf.
    Told,
    Deaf,
    /// In the same `handle` it goes.
    Going,
}

/// What never changes is left out.
impl Hash for AgentWorld {
    fn hash<H: Hasher>(&self, to: &mut H) {
        let Self { machine, asks, turn, calls, gone, left, monitor, config: _, settings: _ } = self;
        (machine, asks, turn, calls, gone, left, monitor).hash(to);
    }
}

impl AgentWorld {
    /// An agent that has done nothing yet.
    ///
    /// # Errors
    /// Settings that are no sound configuration.
    pub fn new(settings: AgentSettings) -> Result<Self, String> {
        let ask = Questions { screen: settings.screen, ..Questions::default() };
        let AgentSettings { after_failure, after_abort, screen_notes: screen_notifications, .. } = settings;
        let inbox =
            InboxLimits { after_failure, after_abort, screen_notifications, ..InboxLimits::default() };
        let config = Config { ask, inbox, ..Config::default() };
        config.check().map_err(|error| error.to_string())?;
        Ok(Self {
            machine: Machine::resume(Agent::new(1), State::Ready),
            asks: Outstanding::default(),
            turn: None,
            calls: BTreeMap::new(),
            gone: false,
            left: Left {
                may: settings.clone(),
                resume: settings.pause.max(1),
                screens: if settings.screens == 0 { u32::MAX } else { settings.screens },
            },
            monitor: Monitor::default(),
            config: Arc::new(config),
            settings: Arc::new(settings),
        })
    }

    /// The machine.
    pub fn machine(&self) -> &Machine<Agent> {
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

    /// What comes next within the same `handle`, before anybody else has a word.
    fn within(&self) -> Vec<Event> {
        let told = self.calls.iter().find(|(_, work)| matches!(work, Work::Told | Work::Going));
        if let Some((call, work)) = told {
            let mut events = vec![Event::CallEnded(*call)];
            if *work == Work::Told && self.left.may.deaf > 0 && !self.gone {
                events.push(words::lingers(*call, false));
            }
            return events;
        }
        if !self.gone {
            return Vec::new();
        }
        if let Some(Running { id, ends: Some(reason) }) = &self.turn {
            return vec![words::ended(*id, reason.clone())];
        }
        let faulted = matches!(self.machine.state(), State::Faulted { .. });
        let next = self.calls.iter().next().map(|(call, work)| match work {
            Work::Background if !faulted => words::background_ended(*call, false),
            _ => Event::CallEnded(*call),
        });
        next.into_iter().collect()
    }

    /// What the host, the turn and the calls owe.
    fn answers(&self) -> Vec<Event> {
        let mut events = Vec::new();
        for subject in self.asks.subjects() {
            match subject {
                Subject::Screen(id) => events.extend(words::verdicts(id, &self.settings)),
                Subject::Maintain(_) => events.extend(self.maintained()),
                _ => {}
            }
        }
        if let Some(Running { id, ends }) = &self.turn {
            let mut reasons = vec![ends.clone().unwrap_or(EndReason::DONE)];
            if ends.is_none() && self.settings.refusals {
                reasons.push(words::failed());
            }
            events.extend(reasons.into_iter().map(|reason| words::ended(*id, reason)));
        }
        let background = self.calls.iter().filter(|(_, work)| **work == Work::Background);
        let wakes: &[bool] = if self.settings.park { &[true, false] } else { &[true] };
        events.extend(
            background.flat_map(|(call, _)| wakes.iter().map(|wake| words::background_ended(*call, *wake))),
        );
        events
    }

    fn maintained(&self) -> Vec<Event> {
        let mut events = [true, false].map(|edited| Event::Maintained { edited }).to_vec();
        if self.settings.refusals {
            events.push(Event::MaintainFailed(words::hook()));
        }
        events
    }

    /// What the turn and its calls may do.
    fn work(&self) -> Vec<Event> {
        let may = &self.left.may;
        let mut events = Vec::new();
        if let Some(Running { id, ends }) = &self.turn {
            let n = (self.settings.detach + self.settings.deaf) - (may.detach + may.deaf);
            let call = CallId { branch: id.branch, turn: id.turn, step: 1, index: n };
            let free = ends.is_none();
            if may.detach > 0 && free {
                events.push(words::lingers(call, true));
            }
            if may.deaf > 0 {
                events.push(words::lingers(call, false));
            }
            if may.deliver > 0 {
                events.push(Event::Own(vec![Waiting::Deliver { call, content: text_content("deliver") }]));
            }
            if may.deliver > 0 && free {
                events.push(Event::Own(vec![Waiting::StopHook(text_content("go on").into())]));
            }
            if free && !self.monitor.is_paused() {
                events.push(Event::Drain);
            }
        }
        for (call, _) in self.calls.iter().filter(|(_, work)| **work == Work::Deaf) {
            events.push(Event::LateResult { call: *call, content: text_content("late") });
            events.push(Event::CallEnded(*call));
        }
        events
    }

    /// What is commanded, as far as it is let through.
    fn commands(&self) -> Vec<Event> {
        let Left { may, resume, screens: _ } = &self.left;
        let mut events = words::inputs(&self.settings, may);
        let queue = &self.machine.data().inbox.queue;
        if may.steer > 0 {
            events.extend(queue.iter().map(|prompt| Event::Steer(Arc::from([prompt.id.clone()]))));
        }
        if may.change > 0 {
            let pending: Vec<InputId> = self.monitor.inputs().pending().cloned().collect();
            events.extend(pending.iter().cloned().map(Event::Withdraw));
            events.extend(pending.into_iter().map(|id| Event::Replace(id, text_content("replaced"))));
            let calls = self.machine.data().inbox.lane.iter().filter_map(|waiting| match waiting {
                Waiting::BackgroundEnd { call, .. } => Some(*call),
                _ => None,
            });
            events.extend(calls.chain(self.calls.keys().copied()).map(Event::Consume));
        }
        let mut offer = |times: u32, event: Event| {
            if times > 0 {
                events.push(event)
            }
        };
        offer(may.abort, Event::Abort(Cause::by(By::User)));
        offer(may.abort, Event::Abort(Cause::by(By::Program)));
        offer(may.pause, Event::Pause);
        offer(*resume, Event::Resume { unanswered: true });
        offer(*resume, Event::Resume { unanswered: false });
        offer(may.maintain, Event::Maintain);
        offer(may.close.into(), Event::Close);
        let admits = |event: &Event| {
            words::command(event).is_none_or(|command| admit(&self.machine, &command, &self.config).is_ok())
        };
        events.retain(admits);
        events
    }

    fn breakdowns(&self) -> Vec<Event> {
        let may = &self.left.may;
        let mut events = Vec::new();
        if may.crash > 0 {
            events.push(Event::Crash { alive: false });
            // Its turn waits for an approval.
            if matches!(self.machine.state(), State::Active(_)) {
                events.push(Event::Crash { alive: true });
            }
        }
        if may.fault > 0 {
            events.extend([false, true].map(|check| Event::Fault { why: "fault".into(), check }));
        }
        events
    }

    /// Answers that came before, the end of a turn that is over, of a call that is gone.
    fn strays(&self) -> Vec<Event> {
        let gone = InputId::from("gone");
        let call = CallId { branch: 1, turn: 0, step: 1, index: 0 };
        let mut events = vec![words::background_ended(call, true), Event::CallEnded(call)];
        if self.machine.data().inbox.lane.iter().all(|waiting| !matches!(waiting, Waiting::Prompt(_))) {
            events.extend(words::verdicts(
                &gone,
                &AgentSettings { refusals: true, ..AgentSettings::default() },
            ));
        }
        if !self.asks.subjects().any(|subject| matches!(subject, Subject::Maintain(_))) {
            events.extend([Event::Maintained { edited: false }, Event::MaintainFailed(words::hook())]);
        }
        if self.turn.is_none() {
            events.push(words::ended(TurnId { branch: 1, turn: 0 }, EndReason::DONE));
        }
        events
    }

    fn spend(&mut self, event: &Event) {
        let Left { may, resume, screens: _ } = &mut self.left;
        let spent = match event {
            Event::Submit(submit) if submit.id.0.starts_with('s') => &mut may.steer,
            Event::Submit(_) => &mut may.prompts,
            Event::Steer(_) => &mut may.steer,
            Event::Notify(_) => &mut may.notify,
            Event::Inject(_) => &mut may.inject,
            Event::Remind(_) => &mut may.remind,
            Event::Withdraw(_) | Event::Replace(..) | Event::Consume(_) => &mut may.change,
            Event::Abort(_) => &mut may.abort,
            Event::Pause => &mut may.pause,
            Event::Resume { .. } => resume,
            Event::Maintain => &mut may.maintain,
            Event::Lingers { detached: true, .. } => &mut may.detach,
            Event::Lingers { detached: false, .. } => &mut may.deaf,
            Event::Own(_) => &mut may.deliver,
            Event::Crash { .. } => &mut may.crash,
            Event::Fault { .. } => &mut may.fault,
            _ => return,
        };
        *spent = spent.saturating_sub(1);
    }

    /// What an event means around the machine, before it comes.
    fn happens(&mut self, event: &Event) {
        match event {
            Event::Screened(id, _) | Event::ScreenFailed(id, _) => {
                self.asks.close(&Subject::Screen(id.clone()))
            }
            Event::Maintained { .. } | Event::MaintainFailed(_) => {
                self.asks.close(&Subject::Maintain(self.machine.data().maintenance));
            }
            Event::TurnEnded(_) => self.turn = None,
            Event::Lingers { call, detached, .. } => {
                let work = if *detached { Work::Background } else { Work::Deaf };
                self.calls.insert(*call, work);
            }
            Event::BackgroundEnded { call, .. } => drop(self.calls.insert(*call, Work::Told)),
            Event::LateResult { call, .. } => drop(self.calls.insert(*call, Work::Going)),
            Event::CallEnded(call) => drop(self.calls.remove(call)),
            Event::Crash { alive } => {
                self.gone = true;
                if let Some(turn) = self.turn.as_mut().filter(|_| !alive) {
                    turn.ends.get_or_insert(EndReason::Interrupted);
                }
            }
            Event::Fault { why, .. } => {
                self.gone = true;
                let reason = EndReason::Failed(Arc::new(TurnError::Faulted(why.clone())));
                if let Some(turn) = &mut self.turn {
                    turn.ends = Some(reason);
                }
            }
            _ => {}
        }
    }

    fn take(&mut self, step: &Taken<'_>) -> Result<(), String> {
        for signal in step.signals {
            match signal {
                Signal::Ask(question) => {
                    self.asks.ask(question)?;
                    let screens = u32::from(matches!(question, Question::Screen { .. }));
                    self.left.screens = self.left.screens.saturating_sub(screens);
                }
                Signal::Withdraw(subject) => self.asks.withdraw(subject),
                Signal::StartTurn(id) => self.turn = Some(Running { id: *id, ends: None }),
                Signal::AbortTurn(cause) => {
                    if let Some(turn) = &mut self.turn {
                        turn.ends.get_or_insert(EndReason::Aborted(cause.clone()));
                    }
                }
                _ => {}
            }
        }
        self.monitor.taken(step)
    }
}

impl World for AgentWorld {
    type Move = Happening<Event>;

    fn owed(&self) -> Vec<Self::Move> {
        let within = self.within();
        let events = if within.is_empty() { self.answers() } else { within };
        events.into_iter().map(Happening::now).collect()
    }

    fn volunteered(&self) -> Vec<Self::Move> {
        if !self.within().is_empty() {
            return Vec::new();
        }
        let events = [self.work(), self.commands(), self.breakdowns()].concat();
        let mut moves: Vec<_> = events.into_iter().map(Happening::now).collect();
        if self.settings.stray {
            moves.extend(self.strays().into_iter().map(Happening::stray));
        }
        moves
    }

    fn apply(&mut self, happening: &Self::Move) -> Result<(), String> {
        let Happening { event, stray, .. } = happening;
        let before = self.machine.clone();
        let mut signals = Vec::new();
        let step = self.machine.step(event, &mut Ctx { signals: &mut signals, config: &self.config });
        let same = self.machine == before && signals.is_empty();
        if *stray {
            return if same {
                Ok(())
            } else {
                Err(format!("E07: {event:?} fits nothing, and something changed"))
            };
        }
        let ignored = step == Step::Ignored;
        if ignored && !same {
            return Err(format!("P17: {event:?} is ignored, and something changed"));
        }
        if ignored && self.owed().contains(happening) {
            return Err(format!("E07: {event:?} was owed, and is ignored"));
        }
        self.happens(event);
        // One that starts nothing may come again.
        if !(same && matches!(event, Event::Resume { .. })) {
            self.spend(event);
        }
        let after = self.machine.clone();
        let config = self.config.clone();
        let taken = Taken { event, before: &before, after: &after, signals: &signals, config: &config };
        if ignored {
            self.monitor.ignored(&taken)?;
        }
        self.take(&taken)?;
        self.gone &= !self.within().is_empty();
        let background = self.calls.values().any(|work| *work == Work::Background);
        if self.left.screens == 0 && self.config.ask.screen {
            Arc::make_mut(&mut self.config).ask.screen = false;
            self.monitor.nobody_screens();
        }
        self.monitor.holds(&self.machine, &self.asks, &self.config, background)?;
        let roster = self.machine.data().roster.iter().map(|(call, _)| call);
        if roster.eq(self.calls.keys()) {
            Ok(())
        } else {
            Err("A25: the roster is not what lingers".to_owned())
        }
    }

    fn at_rest(&self) -> Result<(), String> {
        match self.machine.state() {
            State::Ready | State::Waiting | State::Held(_) | State::Closed => Ok(()),
            State::Faulted { active: None, .. } => Ok(()),
            other => Err(format!("hang: nothing is owed, and the agent is {}", other.leaf())),
        }
    }

    fn reached(&self, happening: &Self::Move, after: &Self) -> Option<Reached> {
        Some(crate::happening::reached(&self.machine, happening.event.kind(), &after.machine))
    }
}
