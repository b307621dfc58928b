//! The whole engine as a world: its host answers from a [`Menu`], its user interferes within a budget, and the
//! [`Monitor`] sees everything. After every input the same answer is sent again: it must be stray and change nothing
//! (P17).
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use machine_adapter::asks::Open;
use machine_adapter::{Engine, Out};
use machine_core::ask::{Answer, By, Cause, Prepared, Question};
use machine_core::config::{CallLimits, Config, InboxLimits, Questions, TurnLimits};
use machine_core::event::Event;
use machine_core::ids::{AskId, CallId};
use machine_core::input::{Abort, Command, Input, Lane, Note, Submit};

use crate::engine::menu::{Menu, Policies, Reply, failed_attempt, finished, is_owed, pieces};
use crate::engine::monitor::Monitor;
use crate::explore::World;

/// An engine, its host and its user.
#[derive(Clone, Debug, Hash)]
pub struct EngineWorld {
    engine: Engine,
    monitor: Monitor,
    /// What may still happen.
    left: Menu,
    /// How many inputs with an id were sent.
    sent: u32,
    /// Changes the engine after each input: a planted fault, to prove that it is found.
    plant: Option<Plant>,
}

/// A fault that is put into an engine on purpose.
pub type Plant = fn(Engine) -> Engine;

/// One thing that happens: usually one input.
#[derive(Clone, PartialEq, Eq)]
pub struct Happens {
    /// Short, for traces.
    what: String,
    /// Delivered one after the other.
    pub inputs: Vec<Input>,
}

impl fmt::Debug for Happens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
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
        let turns = 1
            + menu.may.prompts
            + menu.may.steer
            + menu.may.notify
            + menu.may.detach
            + menu.may.pause
            + menu.may.crash;
        let steps = (menu.steps + 1) * turns + menu.may.steer + menu.may.notify + menu.may.detach + turns;
        let requests = steps + menu.failures + steps;
        let monitor = Monitor::new(max_parallel, requests as usize);
        let mut world = Self { engine, monitor, left: menu, sent: 0, plant: None };
        world.apply(&Happens::one("submit", Command::Submit(Submit::text("first", "go")).into()))?;
        Ok(world)
    }

    /// The same with a planted fault.
    pub fn planted(self, plant: Plant) -> Self {
        Self { plant: Some(plant), ..self }
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
        let (ask, kind) = (open.ask.id, name(&open.ask.question));
        let receiving =
            self.engine.turn().is_some_and(|t| matches!(t.state(), machine_turn::State::Receiving(_)));
        Some(match reply {
            Reply::Answer(answer) => Happens::answer(format!("{kind}: {}", brief(&answer)), ask, answer),
            Reply::FailAttempt => Happens::answer(format!("{kind}: overloaded"), ask, failed_attempt()),
            Reply::Respond { .. } if receiving => {
                Happens::answer(format!("{kind}: finished"), ask, finished())
            }
            Reply::Respond { calls } => Happens {
                what: format!("{kind}: streams text and {calls} calls"),
                inputs: pieces(calls).into_iter().map(|piece| Input::Piece { ask, piece }).collect(),
            },
            Reply::Detach => {
                let attached = |call: &CallId| {
                    let found = self.engine.calls().find(|c| c.data().id == *call);
                    found.is_some_and(|c| matches!(c.state(), machine_tool::State::Attached(_)))
                };
                let Question::Execute { call, .. } = &open.ask.question else { return None };
                if !attached(call) {
                    return None;
                }
                let piece = machine_core::ask::Piece::Detached(machine_core::message::text_content(
                    "in the background",
                ));
                Happens::one(format!("{kind}: detaches"), Input::Piece { ask, piece })
            }
        })
    }

    fn choices(&self, owed: bool) -> Vec<Happens> {
        let open =
            self.engine.outstanding().filter(|open| is_owed(&open.ask.question, open.withdrawn) == owed);
        open.flat_map(|open| {
            let detach = if open.withdrawn { 0 } else { self.left.may.detach };
            let replies = self.left.answers(&open.ask.question, self.left.failures, detach);
            replies.into_iter().filter_map(|reply| self.reply(open, reply))
        })
        .collect()
    }

    fn interference(&self) -> Vec<Happens> {
        let may = &self.left.may;
        let n = self.sent;
        let user = Cause::by(By::User);
        let mut all = Vec::new();
        let mut offer = |left: u32, what: &str, command: Command| {
            if left > 0 {
                all.push(Happens::one(what.to_owned(), command.into()));
            }
        };
        let busy = !self.engine.is_idle();
        offer(if busy { may.abort } else { 0 }, "abort", abort(&user));
        offer(may.steer, "steer", steer(n));
        offer(may.notify, "notify", Command::Notify(Note::text(format!("n{n}"), "news")));
        offer(may.prompts, "prompt", Command::Submit(Submit::text(format!("p{n}"), "more")));
        offer(may.pause, "pause", Command::Pause);
        offer(u32::from(self.engine.agent().data().paused), "resume", Command::Resume);
        offer(may.maintain, "maintain", Command::Maintain);
        offer(may.close, "close", Command::Close);
        for call in self.engine.calls() {
            offer(
                may.cancel,
                &format!("cancel {}", call.data().id),
                Command::CancelCall(call.data().id, user.clone()),
            );
        }
        for open in self.engine.outstanding().filter(|_| may.lost > 0) {
            if matches!(open.ask.question, Question::Execute { .. } | Question::Attempt { .. }) {
                all.push(Happens::one(
                    format!("{}: lost", name(&open.ask.question)),
                    Input::Lost { ask: open.ask.id },
                ));
            }
        }
        if may.crash > 0 {
            // Whatever was asked has left.
            let runs = |open: &Open| match open.ask.question {
                Question::Execute { call, .. } => Some(call),
                _ => None,
            };
            let ran: BTreeSet<CallId> = self.engine.outstanding().filter_map(runs).collect();
            all.push(Happens::one("crash", Input::Recovered { ran: ran.into_iter().collect() }));
        }
        all.retain(|happens| happens.inputs.iter().all(|input| self.engine.admit(input).is_ok()));
        all
    }

    /// Takes note of what the monitor cannot see in what comes out.
    fn note(&mut self, input: &Input) {
        let question = |engine: &Engine, ask: &AskId| {
            engine.outstanding().find(|open| open.ask.id == *ask).map(|open| open.ask.question.clone())
        };
        let may = &mut self.left.may;
        match input {
            Input::Answer { ask, answer } => match (question(&self.engine, ask), answer) {
                (Some(Question::Prepare { call, .. }), Answer::Prepare(Prepared::Ready(plan))) => {
                    self.monitor.declared(call, plan.access.clone());
                }
                (Some(Question::Execute { call, .. }), _) => self.monitor.ended(call),
                (Some(Question::Attempt { .. }), Answer::AttemptFailed(_)) => self.left.failures -= 1,
                _ => {}
            },
            Input::Piece { piece: machine_core::ask::Piece::Detached(_), .. } => may.detach -= 1,
            Input::Lost { ask } => {
                may.lost -= 1;
                if let Some(Question::Execute { call, .. }) = question(&self.engine, ask) {
                    self.monitor.ended(call);
                }
            }
            Input::Recovered { .. } => {
                may.crash -= 1;
                let calls: Vec<CallId> = self.engine.calls().map(|call| call.data().id).collect();
                calls.into_iter().for_each(|call| self.monitor.ended(call));
            }
            Input::Command(command) => self.note_command(command),
            Input::Piece { .. } | Input::Fault { .. } => {}
        }
    }

    fn note_command(&mut self, command: &Command) {
        let may = &mut self.left.may;
        let left = match command {
            Command::Abort(_) => {
                self.monitor.aborted();
                &mut may.abort
            }
            Command::Submit(submit) if submit.lane == Lane::NextStep => &mut may.steer,
            Command::Submit(_) if self.sent > 0 => &mut may.prompts,
            Command::Notify(_) => &mut may.notify,
            Command::CancelCall(..) => &mut may.cancel,
            Command::Pause => &mut may.pause,
            Command::Maintain => &mut may.maintain,
            Command::Close => {
                self.monitor.aborted();
                &mut may.close
            }
            _ => &mut self.sent,
        };
        *left = left.saturating_sub(1);
        if matches!(command, Command::Submit(_) | Command::Notify(_)) {
            self.sent += 1;
        }
    }

    /// The same answer again fits nothing: the engine is as before (E07, P17).
    fn repeat(&mut self, input: &Input) -> Result<(), String> {
        let (Input::Answer { ask, .. } | Input::Lost { ask }) = input else { return Ok(()) };
        if self.engine.outstanding().any(|open| open.ask.id == *ask) {
            return Ok(());
        }
        let (before, mut out) = (self.engine.clone(), Out::default());
        self.engine
            .feed(9, input, &mut out)
            .map_err(|error| format!("E07: a repeated answer is refused: {error}"))?;
        match (out.events.as_slice(), out.now.is_empty() && out.acts.is_empty()) {
            ([Event::Stray { ask: named }], true) if named == ask && before == self.engine => Ok(()),
            _ => Err(format!("P17: a repeated answer does something: {:?}", out.events)),
        }
    }
}

impl World for EngineWorld {
    type Move = Happens;

    fn owed(&self) -> Vec<Happens> {
        self.choices(true)
    }

    fn volunteered(&self) -> Vec<Happens> {
        let mut all = self.choices(false);
        all.retain(|happens| self.left.may.timeout || !happens.what.starts_with("timer CallTimeout"));
        all.extend(self.interference());
        all
    }

    fn apply(&mut self, happens: &Happens) -> Result<(), String> {
        for input in &happens.inputs {
            self.note(input);
            let mut out = Out::default();
            self.engine
                .feed(0, input, &mut out)
                .map_err(|error| format!("{} was offered and refused: {error}", input.kind()))?;
            if let Some(plant) = self.plant {
                self.engine = plant(self.engine.clone());
            }
            if out.events.iter().any(|event| matches!(event, Event::Stray { .. })) {
                return Err(format!("E07: {happens:?} was asked for and is stray"));
            }
            self.monitor.observe(&self.engine, &out)?;
            self.repeat(input)?;
        }
        Ok(())
    }

    fn at_rest(&self) -> Result<(), String> {
        if !self.engine.is_idle() {
            return Err(format!("hang: nothing is owed and the agent is {:?}", self.engine.state().agent));
        }
        self.monitor.at_rest(|id| self.engine.agent().data().inbox.is_pending(id))
    }
}

impl Happens {
    fn one(what: impl Into<String>, input: Input) -> Self {
        Self { what: what.into(), inputs: vec![input] }
    }

    fn answer(what: String, ask: AskId, answer: Answer) -> Self {
        Self::one(what, Input::Answer { ask, answer })
    }
}

fn abort(cause: &Arc<Cause>) -> Command {
    Command::Abort(Arc::new(Abort { cause: cause.clone(), target: None }))
}

fn steer(n: u32) -> Command {
    let submit = Submit { lane: Lane::NextStep, ..(*Submit::text(format!("s{n}"), "also")).clone() };
    Command::Submit(Arc::new(submit))
}

fn name(question: &Question) -> String {
    match question {
        Question::Timer { timer, .. } => format!("timer {timer:?}"),
        Question::Attempt { attempt } => format!("attempt {attempt}"),
        Question::Prepare { call, .. }
        | Question::Approve { call, .. }
        | Question::Execute { call, .. }
        | Question::Finalize { call, .. } => {
            format!("{} {call}", question.kind().to_lowercase())
        }
        other => other.kind().to_lowercase(),
    }
}

fn brief(answer: &Answer) -> String {
    let text = format!("{answer:?}");
    text.chars().take(40).collect()
}
