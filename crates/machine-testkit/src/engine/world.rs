//! The whole engine as a world: its host answers from a [`Menu`], its user interferes within a budget, and the
//! [`Monitor`] sees everything.
use std::collections::BTreeSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use machine_adapter::asks::Open;
use machine_adapter::{Engine, Out};
use machine_core::ask::{Answer, By, Cause, Piece, Question, Subject, Timer};
use machine_core::config::{CallLimits, Config, InboxLimits, Questions, TurnLimits};
use machine_core::event::Event;
use machine_core::ids::CallId;
use machine_core::input::{Abort, Command, Input, Lane, Note, Submit};
use machine_core::message::text_content;

use crate::engine::menu::{Allowed, Menu, Policies, Reply, failed_attempt, finished, is_owed, pieces};
use crate::engine::monitor::Monitor;
use crate::engine::strays;
use crate::explore::World;

/// An engine, its host and its user.
///
/// Worlds are hashed without the numbers of asks, unless [`Reduce`] says otherwise: what was asked in another order and
/// is open alike goes on alike.
#[derive(Clone, Debug)]
pub struct EngineWorld {
    engine: Engine,
    monitor: Monitor,
    /// What may still happen.
    left: Menu,
    reduce: Reduce,
}

/// What is left out of an exploration, to make it smaller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reduce {
    /// Nothing is: states differ by the numbers of their asks too. These name an answer's ask and mean nothing else, but
    /// for the order in which many are asked again or given up at once.
    pub exact: bool,
    /// Where the same is open for several calls of a batch, the first in call order is answered first. So no call
    /// overtakes another one that is alike, and batches may be larger.
    pub in_call_order: bool,
}

/// One thing that happens: usually one input, delivered one after the other.
#[derive(Clone, PartialEq, Eq)]
pub struct Happens {
    /// Whose answer it is.
    about: Option<Subject>,
    /// What is delivered.
    pub inputs: Vec<Input>,
}

impl EngineWorld {
    /// A world in which one prompt was submitted.
    ///
    /// # Errors
    /// A broken property, or a configuration that is refused.
    pub fn new(menu: Menu, ask: Questions, calls: CallLimits) -> Result<Self, String> {
        let turn =
            TurnLimits { stream_idle_ms: 0, stop_hook: 1, empty: 1, recoveries: 1, ..TurnLimits::default() };
        let max_parallel = calls.max_parallel as usize;
        let Policies { after_failure, after_abort, screen_notifications, .. } = menu.may.policies;
        let screen_notifications = screen_notifications && ask.screen;
        let inbox =
            InboxLimits { after_failure, after_abort, screen_notifications, ..InboxLimits::default() };
        let config = Config { ask, calls, turn, inbox, ..Config::default() };
        let engine = Engine::new(1, Arc::new(config)).map_err(|error| error.to_string())?;
        let monitor = Monitor::new(max_parallel, most_requests(&menu));
        let prompts = menu.may.prompts;
        let mut world = Self { engine, monitor, left: menu, reduce: Reduce::default() };
        world.start().iter().try_for_each(|input| world.deliver(input))?;
        world.left.may.prompts = prompts;
        Ok(world)
    }

    /// The same, with that much left out.
    pub fn reduced(self, reduce: Reduce) -> Self {
        Self { reduce, ..self }
    }

    /// What was handled before the first choice: the first prompt.
    pub fn start(&self) -> Vec<Input> {
        vec![Command::Submit(Submit::text("first", "go")).into()]
    }

    /// The engine as it is.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The same world around another engine: one that was saved and restored.
    pub fn with_engine(self, engine: Engine) -> Self {
        Self { engine, ..self }
    }

    fn reply(&self, open: &Open, reply: Reply) -> Option<Happens> {
        let ask = open.ask.id;
        let receiving =
            || self.engine.turn().is_some_and(|t| matches!(t.state(), machine_turn::State::Receiving(_)));
        let inputs = match reply {
            Reply::Answer(answer) => vec![Input::Answer { ask, answer }],
            Reply::FailAttempt => vec![Input::Answer { ask, answer: failed_attempt() }],
            Reply::Respond { .. } if receiving() => vec![Input::Answer { ask, answer: finished() }],
            Reply::Respond { calls } => {
                pieces(calls).into_iter().map(|piece| Input::Piece { ask, piece }).collect()
            }
            Reply::Detach => {
                let attached = |call: &CallId| {
                    let found = self.engine.calls().find(|c| c.data().id == *call);
                    found.is_some_and(|c| matches!(c.state(), machine_tool::State::Attached(_)))
                };
                let Question::Execute { call, .. } = &open.ask.question else { return None };
                if !attached(call) {
                    return None;
                }
                vec![Input::Piece { ask, piece: Piece::Detached(text_content("in the background")) }]
            }
        };
        Some(Happens { about: Some(open.ask.question.subject()), inputs })
    }

    fn answers(&self, owed: bool) -> Vec<Happens> {
        let open =
            self.engine.outstanding().filter(|open| is_owed(&open.ask.question, open.withdrawn) == owed);
        let open = open.filter(|open| !self.reduce.in_call_order || self.comes_first(open));
        open.flat_map(|open| {
            let detach = if open.withdrawn { 0 } else { self.left.may.detach };
            let replies = self.left.answers(&open.ask.question, self.left.failures, detach);
            replies.into_iter().filter_map(|reply| self.reply(open, reply))
        })
        .collect()
    }

    /// Whether no earlier call has the same question open.
    fn comes_first(&self, open: &Open) -> bool {
        let Some(call) = open.ask.question.call() else { return true };
        let same = |other: &Open| {
            other.ask.question.kind() == open.ask.question.kind() && other.withdrawn == open.withdrawn
        };
        let earlier = |other: &Open| other.ask.question.call().is_some_and(|other| other < call);
        !self.engine.outstanding().any(|other| same(other) && earlier(other))
    }

    fn interference(&self) -> Vec<Happens> {
        let may = &self.left.may;
        let user = Cause::by(By::User);
        let mut all = Vec::new();
        let mut offer = |left: u32, command: &dyn Fn() -> Command| {
            if left > 0 {
                all.push(Happens::one(command()));
            }
        };
        let busy = !self.engine.is_idle();
        offer(if busy { may.abort } else { 0 }, &|| abort(&user));
        offer(may.steer, &|| steer(may.steer));
        offer(may.notify, &|| Command::Notify(Note::text(format!("n{}", may.notify), "news")));
        offer(may.prompts, &|| Command::Submit(Submit::text(format!("p{}", may.prompts), "more")));
        offer(may.pause, &|| Command::Pause);
        offer(u32::from(self.engine.agent().data().paused), &|| Command::Resume);
        offer(may.maintain, &|| Command::Maintain);
        offer(may.close, &|| Command::Close);
        for call in self.engine.calls() {
            offer(may.cancel, &|| Command::CancelCall(call.data().id, user.clone()));
        }
        for open in self.engine.outstanding().filter(|_| may.lost > 0) {
            if open.ask.question.is_act() {
                let about = Some(open.ask.question.subject());
                all.push(Happens { about, inputs: vec![Input::Lost { ask: open.ask.id }] });
            }
        }
        if may.crash > 0 {
            // Whatever was asked has left.
            let runs = |open: &Open| match open.ask.question {
                Question::Execute { call, .. } => Some(call),
                _ => None,
            };
            let ran: BTreeSet<CallId> = self.engine.outstanding().filter_map(runs).collect();
            all.push(Happens::one(Input::Recovered { ran: ran.into_iter().collect() }));
        }
        all.retain(|happens| happens.inputs.iter().all(|input| self.engine.admit(input).is_ok()));
        all
    }

    /// What was used up by an input.
    fn count(&mut self, input: &Input) {
        let may = &mut self.left.may;
        let left = match input {
            Input::Answer { answer: Answer::AttemptFailed(_), .. } => &mut self.left.failures,
            Input::Piece { piece: Piece::Detached(_), .. } => &mut may.detach,
            Input::Lost { .. } => &mut may.lost,
            Input::Recovered { .. } => &mut may.crash,
            Input::Command(Command::Abort(_)) => &mut may.abort,
            Input::Command(Command::Submit(submit)) if submit.lane == Lane::NextStep => &mut may.steer,
            Input::Command(Command::Submit(_)) => &mut may.prompts,
            Input::Command(Command::Notify(_)) => &mut may.notify,
            Input::Command(Command::CancelCall(..)) => &mut may.cancel,
            Input::Command(Command::Pause) => &mut may.pause,
            Input::Command(Command::Maintain) => &mut may.maintain,
            Input::Command(Command::Close) => &mut may.close,
            _ => return,
        };
        *left = left.saturating_sub(1);
    }

    fn deliver(&mut self, input: &Input) -> Result<(), String> {
        self.monitor.expect(&self.engine, input);
        self.count(input);
        let mut out = Out::default();
        self.engine
            .feed(0, input, &mut out)
            .map_err(|error| format!("{} was offered and refused: {error}", input.kind()))?;
        if out.events.iter().any(|event| matches!(event, Event::Stray { .. })) {
            return Err(format!("E07: {input:?} was asked for and is stray"));
        }
        self.monitor.observe(&self.engine, &out)?;
        strays::fit_nothing(&mut self.engine, input, self.left.may.stray)
    }
}

/// More requests than these are too many (P9).
fn most_requests(menu: &Menu) -> usize {
    let sum = |counts: &[u32]| counts.iter().fold(0_usize, |sum, count| sum.saturating_add(*count as usize));
    let Allowed { prompts, steer, notify, detach, pause, crash, .. } = menu.may;
    let turns = sum(&[1, prompts, steer, notify, detach, pause, crash]);
    let steps = sum(&[menu.steps, 1]).saturating_mul(turns);
    let steps = steps.saturating_add(sum(&[steer, notify, detach])).saturating_add(turns);
    steps.saturating_mul(2).saturating_add(menu.failures as usize)
}

impl World for EngineWorld {
    type Move = Happens;

    fn owed(&self) -> Vec<Happens> {
        self.answers(true)
    }

    fn volunteered(&self) -> Vec<Happens> {
        let mut all = self.answers(false);
        let is_timeout =
            |happens: &Happens| matches!(happens.about, Some(Subject::Timer(Timer::CallTimeout(_))));
        all.retain(|happens| self.left.may.timeout || !is_timeout(happens));
        all.extend(self.interference());
        all
    }

    fn apply(&mut self, happens: &Happens) -> Result<(), String> {
        happens.inputs.iter().try_for_each(|input| self.deliver(input))
    }

    fn at_rest(&self) -> Result<(), String> {
        self.monitor.at_rest(&self.engine)
    }
}

impl Hash for EngineWorld {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { engine, monitor, left, reduce } = self;
        match reduce.exact {
            true => engine.hash(state),
            false => engine.hash_unnumbered(state),
        }
        (monitor, left).hash(state);
    }
}

impl Happens {
    fn one(input: impl Into<Input>) -> Self {
        Self { about: None, inputs: vec![input.into()] }
    }
}

/// One line: who is answered, and how; or what comes by itself.
impl fmt::Debug for Happens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(about) = &self.about {
            write!(f, "{about:?}: ")?;
        }
        match self.inputs.as_slice() {
            [Input::Answer { answer, .. }] => f.write_str(&brief(answer)),
            [Input::Piece { piece, .. }] => f.write_str(&brief(piece)),
            [Input::Lost { .. }] => f.write_str("nobody will answer"),
            [Input::Command(command)] => f.write_str(&brief(command)),
            [other] => f.write_str(&brief(other)),
            pieces => write!(f, "{} pieces", pieces.len()),
        }
    }
}

fn brief(what: &impl fmt::Debug) -> String {
    const LONGEST: usize = 100;
    let text = format!("{what:?}");
    text.chars().take(LONGEST).collect()
}

fn abort(cause: &Arc<Cause>) -> Command {
    Command::Abort(Arc::new(Abort { cause: cause.clone(), target: None }))
}

fn steer(n: u32) -> Command {
    let submit = Submit { lane: Lane::NextStep, ..(*Submit::text(format!("s{n}"), "also")).clone() };
    Command::Submit(Arc::new(submit))
}
