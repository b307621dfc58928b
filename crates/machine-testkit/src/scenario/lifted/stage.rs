//! The engine alongside: what it is given, and what comes to the machine that is looked at.
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use machine_adapter::trace::{Transition, Who};
use machine_adapter::{Engine, Out};
use machine_core::ask::{
    Answer, Approval, Approved, By, Cause, Executed, HookError, Piece, Plan, Prepared, Question, Subject,
    Timer,
};
use machine_core::config::Config;
use machine_core::event::Event;
use machine_core::ids::{CallId, TurnId};
use machine_core::input::{Abort, Command, Input, Lane, Note, Submit};
use machine_core::message::text_content;
use machine_core::outcome::ToolResult;

use crate::engine::menu::{finished, pieces};
use crate::scenario::lifted::no_words;
use crate::scenario::says::BRANCH;
use crate::scenario::written::Unwritable;

type Given = Result<(), Unwritable>;

/// The first turn.
pub(super) const TURN: TurnId = TurnId { branch: BRANCH, turn: 1 };

/// An engine and what it was given so far.
#[derive(Clone)]
pub(super) struct Stage {
    pub engine: Engine,
    /// Each is what comes at one moment.
    pub moves: Vec<Vec<Input>>,
    /// What came to the machine, since that was last looked at.
    pub came: Vec<Transition>,
    /// Whether the last input led to a panic.
    pub panicked: bool,
    watched: Who,
    /// How many inputs were said that only have to be there.
    said: u32,
}

impl Stage {
    pub fn new(config: &Config, watched: Who) -> Result<Self, Unwritable> {
        let engine = Engine::new(BRANCH, Arc::new(config.clone()))?;
        Ok(Self { engine, moves: Vec::new(), came: Vec::new(), panicked: false, watched, said: 0 })
    }

    /// One move. Each of its inputs must fit.
    pub fn give(&mut self, inputs: Vec<Input>) -> Given {
        for input in &inputs {
            let mut out = Out::default();
            let (watched, came) = (self.watched, &mut self.came);
            let Ok(admitted) = self.engine.admit(input) else {
                return no_words(&format!("{} is refused here", input.kind()));
            };
            let mut see = |transition: Transition| {
                if transition.machine == watched {
                    came.push(transition);
                }
            };
            let engine = &mut self.engine;
            let handled =
                catch_unwind(AssertUnwindSafe(|| engine.handle_traced(0, admitted, &mut out, &mut see)));
            // Where a panic is what breaks the rule, the run ends with it.
            if handled.is_err() {
                self.moves.push(inputs);
                self.panicked = true;
                return Ok(());
            }
            if out.events.iter().any(|event| matches!(event, Event::Stray { .. })) {
                return no_words(&format!("{} fits nothing here", input.kind()));
            }
        }
        self.moves.push(inputs);
        Ok(())
    }

    pub fn command(&mut self, command: Command) -> Given {
        self.give(vec![command.into()])
    }

    pub fn abort(&mut self, cause: &Arc<Cause>) -> Given {
        self.command(Command::Abort(Arc::new(Abort { cause: cause.clone(), target: None })))
    }

    /// A second stop: of the turn, or of the session that closes.
    pub fn hurry(&mut self) -> Given {
        let state = self.engine.agent().state();
        if !matches!(state, machine_agent::State::Aborting(_) | machine_agent::State::Closing(_)) {
            self.command(Command::Close)?;
        }
        self.abort(&Cause::by(By::User))
    }

    /// The first prompt, which opens a turn.
    pub fn prompt(&mut self) -> Given {
        self.command(Command::Submit(Submit::text("first", "go")))
    }

    /// Another prompt, for the running turn.
    pub fn join(&mut self) -> Given {
        self.said += 1;
        let submit = Submit::text(format!("s{}", self.said), "also");
        self.command(Command::Submit(Arc::new(Submit { lane: Lane::NextStep, ..(*submit).clone() })))
    }

    pub fn notify(&mut self) -> Given {
        self.said += 1;
        self.command(Command::Notify(Note::text(format!("n{}", self.said), "news")))
    }

    pub fn is_open(&self, subject: &Subject) -> bool {
        self.engine.ask_about(subject).is_some()
    }

    pub fn answer(&mut self, subject: &Subject, answer: Answer) -> Given {
        match self.engine.ask_about(subject) {
            Some(ask) => self.give(vec![Input::Answer { ask, answer }]),
            None => no_words(&format!("nobody asks about {subject:?} here")),
        }
    }

    pub fn piece(&mut self, subject: &Subject, piece: Piece) -> Given {
        match self.engine.ask_about(subject) {
            Some(ask) => self.give(vec![Input::Piece { ask, piece }]),
            None => no_words(&format!("nobody asks about {subject:?} here")),
        }
    }

    /// The hook behind the first of these questions that is open fails.
    pub fn hook_fails(&mut self, subjects: &[Subject], error: &Arc<HookError>) -> Given {
        match subjects.iter().find(|subject| self.is_open(subject)) {
            Some(subject) => self.answer(subject, Answer::Failed(error.clone())),
            None => no_words("no hook is asked here"),
        }
    }

    pub fn fire(&mut self, timer: Timer) -> Given {
        self.answer(&Subject::Timer(timer), Answer::Fired)
    }

    pub fn lost(&mut self, subject: &Subject) -> Given {
        match self.engine.ask_about(subject) {
            Some(ask) => self.give(vec![Input::Lost { ask }]),
            None => no_words(&format!("nobody asks about {subject:?} here")),
        }
    }

    /// The process dies, and another one opens the session. Whatever was asked had left.
    pub fn crash(&mut self) -> Given {
        let runs = self.engine.outstanding().filter_map(|open| match open.ask.question {
            Question::Execute { call, .. } => Some(call),
            _ => None,
        });
        let ran: std::collections::BTreeSet<CallId> = runs.collect();
        self.give(vec![Input::Recovered { ran: ran.into_iter().collect() }])
    }

    /// The open attempt.
    pub fn attempt(&self) -> Result<Subject, Unwritable> {
        let attempt = self.engine.turn().map(|turn| Subject::Attempt(turn.data().attempt_id()));
        match attempt.filter(|subject| self.is_open(subject)) {
            Some(subject) => Ok(subject),
            None => no_words("no response is awaited here"),
        }
    }

    /// A whole response with so many calls; none: the final answer.
    pub fn respond(&mut self, calls: u32) -> Given {
        let attempt = self.attempt()?;
        let Some(ask) = self.engine.ask_about(&attempt) else { return no_words("no response is awaited") };
        self.give(pieces(calls).into_iter().map(|piece| Input::Piece { ask, piece }).collect())?;
        self.answer(&attempt, finished())
    }

    pub fn prepare(&mut self, call: CallId, plan: Plan) -> Given {
        self.answer(&Subject::Prepare(call), Answer::Prepare(Prepared::Ready(Arc::new(plan))))
    }

    pub fn decide(&mut self, call: CallId, approval: Approval, rule: Option<machine_core::Text>) -> Given {
        let subject = Subject::Approve(call);
        let open = self.engine.ask_about(&subject).and_then(|ask| self.engine.ask(ask));
        match open.map(|open| &open.ask.question) {
            Some(Question::Approve { digest, .. }) => {
                let digest = *digest;
                self.answer(&subject, Answer::Approve(Arc::new(Approved { digest, approval, rule })))
            }
            _ => no_words("nobody is to approve anything here"),
        }
    }

    /// A call ends with this result, through its approval and the finalizer, if they are asked.
    pub fn end(&mut self, call: CallId, result: ToolResult) -> Given {
        if self.is_open(&Subject::Approve(call)) {
            self.decide(call, Approval::Granted, None)?;
        }
        let result = Arc::new(result);
        let (execute, finalize) = (Subject::Execute(call), Subject::Finalize(call));
        if self.is_open(&execute) {
            self.answer(&execute, Answer::Execute(Executed::Done(result.clone())))?;
        }
        if self.is_open(&finalize) {
            self.answer(&finalize, Answer::Finalize(result))?;
        }
        Ok(())
    }

    pub fn detach(&mut self, call: CallId) -> Given {
        self.piece(&Subject::Execute(call), Piece::Detached(text_content("in the background")))
    }

    /// Whether a call runs and may go on in the background.
    pub fn is_attached(&self, call: CallId) -> bool {
        let attached = |state: &machine_tool::State| matches!(state, machine_tool::State::Attached(_));
        self.engine.calls().any(|other| other.data().id == call && attached(other.state()))
    }

    /// Calls of the running batch that are asked something, in call order, but for those that went on in the background.
    pub fn batch(&self) -> Vec<CallId> {
        let Some(step) = self.engine.turn().map(|turn| turn.data().step_id()) else { return Vec::new() };
        let calls = self.engine.calls().filter(|call| call.data().id.step() == step);
        let calls = calls.filter(|call| {
            let state = call.state();
            !state.is_detached() && !matches!(state, machine_tool::State::Deaf)
        });
        calls.map(|call| call.data().id).collect()
    }
}
