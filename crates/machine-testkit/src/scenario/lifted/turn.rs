//! A turn's trace: the prompt that opens it, what the host answers, and what its calls and its inbox bring.
use machine_adapter::trace::Who;
use machine_core::access::Access;
use machine_core::ask::{Answer, AtTurnEnd, Piece, Plan, Subject, Timer};
use machine_core::config::{CallLimits, Config, Fatal, Questions};
use machine_core::drain::Pending;
use machine_core::ids::CallId;
use machine_core::input::{Command, Input};
use machine_core::message::text_content;
use machine_core::outcome::ToolResult;
use machine_turn::{Event, State};

use crate::happening::Happening;
use crate::scenario::lifted::stage::{Stage, TURN};
use crate::scenario::lifted::{Lifted, Lifter, Took, alone, lift, no_words};
use crate::scenario::written::Unwritable;
use crate::turn::TurnWorld;

/// The trace of a turn in this world, from its start.
///
/// # Errors
/// No input of an engine brings this.
pub fn turn(world: &TurnWorld, trace: &[Happening<Event>]) -> Result<Lifted, Unwritable> {
    let took = alone(world, trace, TurnWorld::machine)?;
    let ask = Questions { screen: false, finalize: false, ..world.config().ask };
    let calls = CallLimits { fatal: Fatal::Stop, max_parallel: 100, ..CallLimits::default() };
    let config = Config { ask, calls, ..(**world.config()).clone() };
    let mut stage = Stage::new(&config, Who::Turn(TURN))?;
    stage.prompt()?;
    let moves = lift(Turn { stage, waits: None }, &took)?;
    Ok((config, moves))
}

#[derive(Clone)]
struct Turn {
    stage: Stage,
    /// The call in the background that the turn waits for.
    waits: Option<CallId>,
}

impl Turn {
    fn is_acting(&self) -> bool {
        let turn = self.stage.engine.turn();
        turn.is_some_and(|turn| matches!(turn.state(), State::Running(_) | State::Aborting(_)))
    }

    /// Calls are prepared at once, so that they run when something comes to the turn; but for one whose approval a
    /// process is to die over.
    fn start_calls(&mut self, then: &[Took<Event>]) -> Result<(), Unwritable> {
        let in_batch = then.iter().take_while(|took| !matches!(took.event, Event::BatchDone { .. }));
        let mut approval =
            in_batch.map(|took| &took.event).any(|event| *event == Event::Crash { waiting: true });
        for call in self.stage.batch() {
            let wait = waits(then) && self.waits.is_none() && !approval;
            let at_turn_end = if wait { AtTurnEnd::Wait { ms: 100 } } else { AtTurnEnd::GoOn };
            let approval = std::mem::take(&mut approval);
            let plan = Plan { approval, access: Access::None, at_turn_end, ..Plan::default() };
            self.stage.prepare(call, plan)?;
        }
        Ok(())
    }

    /// Every call of the batch ends: the first one like this, the others well.
    fn end_calls(&mut self, first: ToolResult, then: &[Took<Event>]) -> Result<(), Unwritable> {
        let mut calls = self.stage.batch();
        if calls.is_empty() {
            return no_words("a batch without calls");
        }
        let mut results = vec![first];
        if waits(then) && self.waits.is_none() {
            // What goes on in the background ends nothing: another one does.
            self.waits = calls.pop();
            results.truncate(calls.len());
        }
        results.resize(calls.len(), ToolResult::text("ok"));
        let detached = self.waits.filter(|call| self.stage.is_attached(*call));
        detached.map_or(Ok(()), |call| self.stage.detach(call))?;
        calls.into_iter().zip(results).try_for_each(|(call, result)| self.stage.end(call, result))
    }

    /// What the look that comes next is to find has to be there before.
    fn before_look(&mut self, pending: Pending) -> Result<(), Unwritable> {
        if pending.steered {
            self.stage.join()?;
        }
        if pending.outside {
            self.stage.notify()?;
        }
        if pending.paused {
            self.stage.command(Command::Pause)?;
        }
        Ok(())
    }
}

/// Whether the turn is to wait for a call.
fn waits(then: &[Took<Event>]) -> bool {
    then.iter().any(|took| matches!(took.event, Event::Pending(Pending { wait_ms: 1.., .. })))
}

impl Lifter<Event> for Turn {
    fn stage(&mut self) -> &mut Stage {
        &mut self.stage
    }

    fn bring(&mut self, event: &Event, then: &[Took<Event>]) -> Result<(), Unwritable> {
        let pending = match then.iter().find(|took| !took.stays).map(|took| &took.event) {
            Some(Event::Pending(pending)) => *pending,
            _ => Pending::default(),
        };
        self.before_look(pending)?;
        let Some((turn, step, attempt)) = self
            .stage
            .engine
            .turn()
            .map(|turn| (turn.data().id, turn.data().step_id(), turn.data().attempt_id()))
        else {
            return no_words("no turn runs here");
        };
        let (gate, recover, stop) = (Subject::Gate(step), Subject::Recover(attempt), Subject::Stop(turn));
        let open = Subject::Attempt(attempt);
        match event.clone() {
            Event::Gated(verdict) => self.stage.answer(&gate, Answer::Gate(verdict)),
            Event::Recovered(answer) => self.stage.answer(&recover, Answer::Recover(answer)),
            Event::Stopped(verdict) => self.stage.answer(&stop, Answer::Stop(verdict)),
            Event::HookFailed(error) => self.stage.hook_fails(&[gate, recover, stop], &error),
            Event::Model(piece) => self.stage.piece(&open, Piece::Model(piece)),
            Event::Failed(error) => self.stage.answer(&open, Answer::AttemptFailed(error)),
            Event::Finished(end) => {
                self.stage.answer(&open, Answer::Finished(end))?;
                if self.is_acting() { self.start_calls(then) } else { Ok(()) }
            }
            Event::BackoffOver => self.stage.fire(Timer::Backoff(step)),
            Event::WaitOver => self.stage.fire(Timer::TurnWait(turn)),
            Event::BatchDone { stopped_by } => {
                let stop_turn = stopped_by.map(|(_, why)| why);
                let deliver = pending.inside.then(|| text_content("deliver"));
                self.end_calls(ToolResult { stop_turn, deliver, ..ToolResult::text("ok") }, then)
            }
            Event::FatalCall(_) => {
                self.end_calls(ToolResult { fatal: true, ..ToolResult::error("fatal") }, then)
            }
            // Something came just now, or the call ends.
            Event::Stirred if pending.steered || pending.outside || pending.paused => Ok(()),
            Event::Stirred => match self.waits {
                Some(call) => self.stage.end(call, ToolResult::text("ok")),
                None => no_words("it waits for nothing"),
            },
            Event::Abort(cause) => self.stage.abort(&cause),
            Event::Hurry => self.stage.hurry(),
            Event::Crash { .. } => self.stage.crash(),
            Event::Fault(cause) => self.stage.give(vec![Input::Fault { cause }]),
            Event::Pending(_) => no_words("what waits is looked at when a step is over"),
            Event::Repeated => no_words("calls that repeat themselves: no world has a limit for them"),
            // A run has no times before it is written, and silence is nothing but time.
            Event::IdleOver => no_words("a model that goes silent"),
        }
    }
}
