//! An agent's trace: its commands as they are, and turns with calls that bring what a turn and its calls tell it.
use std::collections::BTreeMap;

use machine_adapter::trace::Who;
use machine_agent::inbox::Waiting;
use machine_agent::{Event, State};
use machine_core::access::Access;
use machine_core::ask::{Answer, By, Cause, Executed, Plan, StopVerdict, Subject, Timer};
use machine_core::config::{CallLimits, Config, Fatal, LateResults, Questions, TurnLimits};
use machine_core::event::{EndReason, TurnEnd};
use machine_core::ids::CallId;
use machine_core::input::{Command, Input};
use machine_core::message::Said;
use machine_core::outcome::ToolResult;
use machine_core::response::{Failure, ModelError};
use machine_turn::State as Turn;

use crate::agent::{AgentWorld, command};
use crate::happening::Happening;
use crate::scenario::lifted::stage::Stage;
use crate::scenario::lifted::{Lifted, Lifter, Took, alone, lift, no_words};
use crate::scenario::written::Unwritable;

/// The trace of an agent in this world, from its start.
///
/// # Errors
/// No input of an engine brings this.
pub fn agent(world: &AgentWorld, trace: &[Happening<Event>]) -> Result<Lifted, Unwritable> {
    let took = alone(world, trace, AgentWorld::machine)?;
    let is_stop =
        |event: &Event| matches!(event, Event::Own(own) if matches!(own[..], [Waiting::StopHook(_)]));
    let stop = took.iter().any(|took| is_stop(&took.event));
    let ask = Questions { gate: false, recover: false, finalize: false, stop, ..world.config().ask };
    let (fatal, late_results) = (Fatal::Stop, LateResults::Notify);
    let calls = CallLimits { fatal, late_results, max_parallel: 100, ..CallLimits::default() };
    let turn = TurnLimits { stream_idle_ms: 0, stop_first: true, ..TurnLimits::default() };
    let config = Config { ask, calls, turn, ..(**world.config()).clone() };
    let outlive = took.iter().filter(|took| matches!(took.event, Event::Lingers { .. })).count();
    let stage = Stage::new(&config, Who::Agent)?;
    let outlive = u32::try_from(outlive).unwrap_or(u32::MAX);
    let moves = lift(Agent { stage, outlive, calls: BTreeMap::new() }, &took)?;
    Ok((config, moves))
}

#[derive(Clone)]
struct Agent {
    stage: Stage,
    /// How many calls outlive their turn. Each batch has one more, which keeps it open.
    outlive: u32,
    /// What they are called in the engine.
    calls: BTreeMap<CallId, CallId>,
}

impl Agent {
    fn has_batch(&self) -> bool {
        let turn = self.stage.engine.turn();
        turn.is_some_and(|turn| matches!(turn.state(), Turn::Running(_) | Turn::Aborting(_)))
    }

    /// The turn has calls that run; the last of a new batch waits for an approval, if one is to.
    fn open_batch(&mut self, approval: bool) -> Result<(), Unwritable> {
        if self.has_batch() {
            return Ok(());
        }
        self.stage.respond(self.outlive + 1)?;
        for call in self.stage.batch() {
            let approval = approval && call.index == self.outlive;
            self.stage.prepare(call, Plan { approval, access: Access::None, ..Plan::default() })?;
        }
        Ok(())
    }

    /// Every call of the batch that is left ends; the last one like this.
    fn end_batch(&mut self, last: ToolResult) -> Result<(), Unwritable> {
        self.open_batch(false)?;
        let calls = self.stage.batch();
        let Some((end, others)) = calls.split_last() else { return no_words("a batch without calls") };
        for call in others {
            self.stage.end(*call, ToolResult::text("ok"))?;
        }
        self.stage.end(*end, last)
    }

    /// Another call of the batch, which outlives its turn.
    fn next_call(&mut self, call: CallId) -> Result<CallId, Unwritable> {
        self.open_batch(false)?;
        match self.stage.batch().first() {
            Some(of) if of.index < self.outlive => {
                self.calls.insert(call, *of);
                Ok(*of)
            }
            _ => no_words("no more calls run here"),
        }
    }

    fn known(&self, call: CallId) -> Result<CallId, Unwritable> {
        match self.calls.get(&call) {
            Some(of) => Ok(*of),
            None => no_words(&format!("nobody announced call {call}")),
        }
    }

    /// Nobody hears that it is told to stop.
    fn deafen(&mut self, call: CallId) -> Result<(), Unwritable> {
        let stopped = Command::CancelCall(call, Cause::by(By::User));
        if self.stage.engine.admit(&stopped.clone().into()).is_ok() {
            self.stage.command(stopped)?;
        }
        self.stage.fire(Timer::Grace(call))
    }

    fn execution_ends(&mut self, call: CallId, end: Executed) -> Result<(), Unwritable> {
        let call = self.known(call)?;
        self.stage.answer(&Subject::Execute(call), Answer::Execute(end))
    }

    fn end_turn(&mut self, end: &TurnEnd) -> Result<(), Unwritable> {
        let open = self.stage.attempt();
        match (&end.reason, open) {
            (EndReason::Failed(_), Ok(open)) => {
                let error = ModelError::new(Failure::Auth, "failed");
                self.stage.answer(&open, Answer::AttemptFailed(error.into()))
            }
            (EndReason::Failed(_), Err(_)) => {
                self.end_batch(ToolResult { fatal: true, ..ToolResult::error("fatal") })
            }
            // What waits would begin another step: the result of a call ends the turn.
            (EndReason::Completed { .. }, Ok(_))
                if self.stage.engine.agent().data().inbox.lane.is_empty() =>
            {
                self.stage.respond(0)?;
                self.answer_stop(StopVerdict::End).or(Ok(()))
            }
            (EndReason::Completed { .. }, _) => {
                self.end_batch(ToolResult { stop_turn: Some("enough".into()), ..ToolResult::text("ok") })
            }
            _ if self.has_batch() => self.end_batch(ToolResult::text("ok")),
            (reason, _) => no_words(&format!("a turn that ends: {reason:?}")),
        }
    }

    fn answer_stop(&mut self, verdict: StopVerdict) -> Result<(), Unwritable> {
        match self.stage.engine.turn().map(|turn| turn.data().id) {
            Some(turn) => self.stage.answer(&Subject::Stop(turn), Answer::Stop(verdict)),
            None => no_words("no turn would end here"),
        }
    }

    fn own(&mut self, messages: &[Waiting]) -> Result<(), Unwritable> {
        match messages {
            [Waiting::Deliver { content, .. }] => {
                self.end_batch(ToolResult { deliver: Some(content.clone()), ..ToolResult::text("ok") })
            }
            [Waiting::StopHook(said)] => {
                let said: Said = said.clone();
                self.stage.respond(0)?;
                self.answer_stop(StopVerdict::Continue([said].into()))
            }
            _ => no_words("several messages of a turn's own"),
        }
    }

    /// Something that ends the turn at once, unless a call runs that takes its time.
    fn stop(&mut self, event: &Event, next: Option<&Event>) -> Result<(), Unwritable> {
        let runs = matches!(self.stage.engine.agent().state(), State::Active(_));
        if runs && !matches!(next, Some(Event::TurnEnded(_))) {
            self.open_batch(*event == Event::Crash { alive: true })?;
        }
        match command(event) {
            Some(command) => self.stage.command(command),
            None => self.stage.crash(),
        }
    }
}

impl Lifter<Event> for Agent {
    fn stage(&mut self) -> &mut Stage {
        &mut self.stage
    }

    fn bring(&mut self, event: &Event, then: &[Took<Event>]) -> Result<(), Unwritable> {
        let next = then.iter().find(|took| !took.stays).map(|took| &took.event);
        match event {
            Event::Abort(_) | Event::Close | Event::Crash { .. } => self.stop(event, next),
            Event::Consume(call) => {
                let call = self.known(*call)?;
                self.stage.command(Command::Consume(call))
            }
            Event::Screened(id, verdict) => {
                self.stage.answer(&Subject::Screen(id.clone()), Answer::Screen(verdict.clone()))
            }
            Event::ScreenFailed(id, error) => {
                self.stage.answer(&Subject::Screen(id.clone()), Answer::Failed(error.clone()))
            }
            Event::Maintained { .. } => self.stage.answer(&self.maintenance(), Answer::Maintained),
            Event::MaintainFailed(error) => {
                self.stage.answer(&self.maintenance(), Answer::Failed(error.clone()))
            }
            Event::Drain => self.end_batch(ToolResult::text("ok")),
            Event::Own(messages) => self.own(messages),
            Event::TurnEnded(end) => self.end_turn(end),
            Event::Lingers { call, detached, .. } => {
                let call = self.next_call(*call)?;
                if *detached { self.stage.detach(call) } else { self.deafen(call) }
            }
            Event::BackgroundEnded { wake: false, .. } => {
                no_words("a background call whose end does not wake")
            }
            Event::BackgroundEnded { call, .. } => match next {
                Some(Event::Lingers { call: deaf, .. }) if deaf == call => {
                    let call = self.known(*call)?;
                    self.deafen(call)
                }
                _ => self.execution_ends(*call, Executed::Done(ToolResult::text("ok").into())),
            },
            Event::LateResult { call, .. } => {
                self.execution_ends(*call, Executed::Done(ToolResult::text("late").into()))
            }
            Event::CallEnded(call) => self.execution_ends(*call, Executed::Nothing),
            Event::Fault { why, check: false } => self.stage.give(vec![Input::Fault { cause: why.clone() }]),
            Event::Fault { .. } => no_words("an internal check that fails"),
            other => match command(other) {
                Some(command) => self.stage.command(command),
                None => no_words("it comes by itself"),
            },
        }
    }
}

impl Agent {
    fn maintenance(&self) -> Subject {
        Subject::Maintain(self.stage.engine.agent().data().maintenance)
    }
}
