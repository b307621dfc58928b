//! A call's trace: a prompt, a response with the call, and whatever comes to it.
use std::sync::Arc;

use machine_adapter::trace::Who;
use machine_core::ask::{Answer, Piece, Plan, Subject, Timer};
use machine_core::config::Config;
use machine_core::ids::CallId;
use machine_core::input::{Command, Input};
use machine_core::outcome::ToolResult;
use machine_core::response::{Finish, Finished, ModelEvent};
use machine_tool::Event;

use crate::call::{CallSettings, CallWorld};
use crate::happening::Happening;
use crate::scenario::lifted::stage::{Stage, TURN};
use crate::scenario::lifted::{Lifted, Lifter, Took, alone, lift, no_words};
use crate::scenario::written::Unwritable;

/// The trace of a call in this world, from its start.
///
/// # Errors
/// No input of an engine brings this.
pub fn call(world: &CallWorld, trace: &[Happening<Event>]) -> Result<Lifted, Unwritable> {
    let took = alone(world, trace, CallWorld::machine)?;
    let config = world.config();
    let lifted = |behind| lift(Call::begin(&config, world.settings(), behind)?, &took);
    // A call that is alone starts as soon as it may. One that waits, or is skipped, stands behind another one.
    let moves = lifted(false).or_else(|why| lifted(true).map_err(|_| why))?;
    Ok((config, moves))
}

#[derive(Clone)]
struct Call {
    stage: Stage,
    id: CallId,
    /// An earlier call that may end the batch: until it ends this one waits.
    first: Option<CallId>,
}

impl Call {
    fn begin(config: &Config, settings: &CallSettings, behind: bool) -> Result<Self, Unwritable> {
        let step = TURN.step(1);
        let id = step.call(behind.into());
        let mut stage = Stage::new(config, Who::Call(id))?;
        stage.prompt()?;
        let attempt = stage.attempt()?;
        let Some(ask) = stage.engine.ask_about(&attempt) else { return no_words("no response is awaited") };
        let start = |index| ModelEvent::CallStart { index, id: "id".into(), tool: "tool".into() };
        let mut events: Vec<_> = (0..=id.index).map(start).collect();
        if settings.known {
            events.push(ModelEvent::CallArgs { index: Some(id.index), piece: "{".into() });
        }
        stage.give(
            events.into_iter().map(|event| Input::Piece { ask, piece: Piece::Model(event) }).collect(),
        )?;
        stage.answer(&attempt, Answer::Finished(Arc::new(Finished::new(Finish::ToolUse))))?;
        let first = behind.then_some(step.call(0));
        if let Some(first) = first {
            stage.prepare(first, Plan { stop_batch: true, ..Plan::default() })?;
        }
        Ok(Self { stage, id, first })
    }

    fn end_first(&mut self, result: ToolResult) -> Result<(), Unwritable> {
        match self.first.take() {
            Some(first) => self.stage.end(first, result),
            None => no_words("it starts by itself"),
        }
    }

    /// A call that had not left when its process died, or had: an engine knows that by itself.
    fn crash(&mut self, left: bool) -> Result<(), Unwritable> {
        use machine_tool::State::{Attached, Authorizing, Cancelling, Preparing, Queued};
        let machine = self.stage.engine.calls().find(|call| call.data().id == self.id);
        let matters = machine.is_some_and(|call| {
            matches!(call.state(), Preparing | Authorizing(_) | Queued(_) | Attached(_) | Cancelling { .. })
        });
        if matters && left != self.stage.is_open(&Subject::Execute(self.id)) {
            return no_words("a call that left under the rules of an earlier version");
        }
        self.stage.crash()
    }
}

impl Lifter<Event> for Call {
    fn stage(&mut self) -> &mut Stage {
        &mut self.stage
    }

    fn bring(&mut self, event: &Event, _then: &[Took<Event>]) -> Result<(), Unwritable> {
        let (id, stage) = (self.id, &mut self.stage);
        let execute = Subject::Execute(id);
        match event.clone() {
            Event::Prepared(prepared) => stage.answer(&Subject::Prepare(id), Answer::Prepare(prepared)),
            Event::Approved { approval, rule } => stage.decide(id, approval, rule),
            Event::Start => self.end_first(ToolResult::error("no")),
            Event::Skip(_) => self.end_first(ToolResult::text("ok")),
            Event::Executed(end) => stage.answer(&execute, Answer::Execute(end)),
            Event::Lost => stage.lost(&execute),
            Event::Output(parts) => stage.piece(&execute, Piece::Output(parts)),
            Event::Progress(text) => stage.piece(&execute, Piece::Progress(text)),
            Event::Detached(ack) => stage.piece(&execute, Piece::Detached(ack)),
            Event::Finalized(result) => stage.answer(&Subject::Finalize(id), Answer::Finalize(result)),
            Event::HookFailed(error) => {
                let subjects = [Subject::Prepare(id), Subject::Approve(id), Subject::Finalize(id)];
                stage.hook_fails(&subjects, &error)
            }
            Event::TimeUp => stage.fire(Timer::CallTimeout(id)),
            Event::GraceOver => stage.fire(Timer::Grace(id)),
            Event::Cancel(cause) => stage.command(Command::CancelCall(id, cause)),
            Event::Abort(cause) => stage.abort(&cause),
            Event::Steered => stage.join(),
            // The turn waits for it at its end.
            Event::Awaited { .. } => stage.respond(0),
            Event::Hurry => stage.hurry(),
            Event::Crash { left } => self.crash(left),
            Event::Fault => stage.give(vec![Input::Fault { cause: "fault".into() }]),
        }
    }
}
