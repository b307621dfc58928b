//! Scenarios as they are told: a history and the ends of turns as short lines, and what holds at the end of each.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
#![allow(dead_code, reason = "each test file uses its own part")]
use std::collections::BTreeMap;
use std::sync::Arc;

use machine_adapter::{Engine, Order};
use machine_core::ask::{Answer, Ask, By, Cause, HookError, HookFailure};
use machine_core::config::Config;
use machine_core::event::{EndReason, Event, Receipt};
use machine_core::history::History;
use machine_core::ids::{AskId, CallId, InputId, TurnId};
use machine_core::input::{Abort, Command, Lane, Note, Reminder, Submit};
use machine_core::message::{Entry, Message, Origin, text_content};
use machine_core::outcome::Outcome;
use machine_core::response::{Failure, Finish, ModelError, ModelEvent};
use machine_testkit::script::{Response, Script};
use machine_testkit::sim::Sim;

pub type World = Sim<Script>;

/// The defaults with a few things set.
pub fn with(set: impl FnOnce(&mut Config)) -> Config {
    let mut config = Config::default();
    set(&mut config);
    config
}

pub fn world(config: Config, script: Script) -> World {
    Sim::new(config, script).unwrap()
}

/// The defaults, and a first prompt `go` at 0.
pub fn go(config: Config, script: Script) -> World {
    let mut world = world(config, script);
    world.arrange(0, submit("go"));
    world
}

pub fn model(responses: impl IntoIterator<Item = Response>) -> Script {
    Script::new(responses)
}

pub fn calls(tools: &[&str]) -> Response {
    Response::calls(tools)
}

pub fn text(text: &str) -> Response {
    Response::text(text)
}

/// Pieces, then a proper end.
pub fn streams(pieces: impl IntoIterator<Item = ModelEvent>, finish: Finish) -> Response {
    Response { pieces: pieces.into_iter().collect(), ..Response::nothing().finish(finish) }
}

pub fn start(index: u32, id: &str, tool: &str) -> ModelEvent {
    ModelEvent::CallStart { index, id: id.into(), tool: tool.into() }
}

pub fn args(index: impl Into<Option<u32>>, piece: &str) -> ModelEvent {
    ModelEvent::CallArgs { index: index.into(), piece: piece.into() }
}

pub fn thinking(text: &str) -> ModelEvent {
    ModelEvent::Thinking { text: text.into(), signature: None }
}

pub fn failure(error: ModelError) -> Response {
    Response { end: Some(Err(error)), ..Response::nothing() }
}

pub fn error(kind: Failure) -> ModelError {
    ModelError::new(kind, "scripted")
}

pub fn hook_failed() -> Answer {
    Answer::Failed(HookError::new(HookFailure::Failed, "scripted"))
}

/// A prompt that says its id.
pub fn submit(id: &str) -> Command {
    Command::Submit(Submit::text(id, id))
}

/// A prompt for the next step.
pub fn join(id: &str) -> Command {
    Command::Submit(Arc::new(Submit { lane: Lane::NextStep, ..(*Submit::text(id, id)).clone() }))
}

/// A prompt that does not wake.
pub fn park(id: &str) -> Command {
    Command::Submit(Arc::new(Submit { wake: false, ..(*Submit::text(id, id)).clone() }))
}

/// Queued prompts join the running turn.
pub fn steer(ids: &[&str]) -> Command {
    Command::Steer(ids.iter().map(|id| InputId::from(*id)).collect())
}

pub fn notify(id: &str) -> Command {
    Command::Notify(Note::text(id, id))
}

pub fn inject(id: &str) -> Command {
    Command::Inject(Note::text(id, id))
}

pub fn remind(key: &str, says: &str, only_if_changed: bool) -> Command {
    Command::Remind(Arc::new(Reminder { key: key.into(), message: text_content(says), only_if_changed }))
}

/// A user's abort.
pub fn abort() -> Command {
    abort_by(By::User)
}

pub fn abort_by(by: By) -> Command {
    Command::Abort(Arc::new(Abort { cause: Cause::by(by), target: None }))
}

pub fn cancel(call: CallId) -> Command {
    Command::CancelCall(call, Cause::by(By::User))
}

pub fn turn(turn: u32) -> TurnId {
    TurnId { branch: 1, turn }
}

pub fn call(of: u32, step: u32, index: u32) -> CallId {
    turn(of).step(step).call(index)
}

/// The history: `go | [a b] | a ok | b cancelled(may have run) | marker`.
pub fn told(world: &World) -> String {
    lines(world.engine.history())
}

pub fn lines(history: &History) -> String {
    history.iter().map(|entry| line(entry)).collect::<Vec<_>>().join(" | ")
}

fn line(entry: &Entry) -> String {
    let said = entry.message.text();
    match (&entry.origin, &entry.message) {
        (_, Message::Tool(tool)) => format!("{} {}", tool.tool, short(&tool.outcome)),
        (Origin::Model, message) => {
            let calls: Vec<_> = message.calls().map(|call| call.tool.to_string()).collect();
            match (said.is_empty(), calls.is_empty()) {
                (_, true) => said,
                (true, false) => format!("[{}]", calls.join(" ")),
                (false, false) => format!("{said} [{}]", calls.join(" ")),
            }
        }
        (Origin::Prompt { .. }, _) => said,
        (Origin::Notification { .. }, _) => format!("note {said}"),
        (Origin::Reminder { .. }, _) => format!("reminder {said}"),
        (Origin::BackgroundEnd { call }, _) => format!("end of {call}"),
        (Origin::LateResult { call }, _) => format!("late {call}"),
        (Origin::Deliver { .. }, _) => format!("deliver {said}"),
        (Origin::Salvaged, _) => format!("salvaged {said}"),
        (Origin::AbortMarker, _) => "marker".into(),
        (Origin::Summary, _) => format!("summary {said}"),
        (Origin::Gate { .. }, _) => format!("gate {said}"),
        (Origin::StopHook { .. }, _) => format!("hook {said}"),
        (Origin::Tool, _) => format!("V05: {said}"),
    }
}

pub fn short(outcome: &Outcome) -> String {
    let code = |code: &dyn std::fmt::Debug| format!("{code:?}").to_lowercase();
    match outcome {
        Outcome::Ok => "ok".into(),
        Outcome::Error { code: why } => format!("error({})", code(why)),
        Outcome::Denied { reason } => format!("denied({reason})"),
        Outcome::NotStarted { code: why } => format!("not started({})", code(why)),
        Outcome::Cancelled { may_have_run } => format!("cancelled{}", doubt(*may_have_run)),
        Outcome::TimedOut { may_have_run } => format!("timed out{}", doubt(*may_have_run)),
        Outcome::Unknown => "unknown".into(),
    }
}

fn doubt(may_have_run: bool) -> &'static str {
    if may_have_run { "(may have run)" } else { "" }
}

/// How the turns ended: `completed, aborted`.
pub fn ends(world: &World) -> String {
    world.ends().iter().map(|end| end.reason.name()).collect::<Vec<_>>().join(", ")
}

/// How the last turn ended, and when.
pub fn last_end(world: &World) -> (u64, EndReason) {
    let end = world.events.iter().rev().find_map(|stamped| match &stamped.event {
        Event::TurnEnded(end) => Some((stamped.at, end.reason.clone())),
        _ => None,
    });
    end.unwrap()
}

/// What the model reads of a tool's result, the n-th in history.
pub fn result(world: &World, n: usize) -> String {
    let results = world.engine.history().iter().filter(|e| matches!(e.message, Message::Tool(_)));
    results.map(|entry| entry.message.text()).nth(n).unwrap()
}

/// The tools that ran, in the order in which they started.
pub fn ran(world: &World) -> String {
    world.host.ran.iter().map(|(_, tool)| tool.clone()).collect::<Vec<_>>().join(" ")
}

pub fn requests(world: &World) -> usize {
    world.host.requests.len()
}

/// When events like this came.
pub fn when(world: &World, like: impl Fn(&Event) -> bool) -> Vec<u64> {
    world.events.iter().filter(|stamped| like(&stamped.event)).map(|stamped| stamped.at).collect()
}

pub fn count(world: &World, like: impl Fn(&Event) -> bool) -> usize {
    when(world, like).len()
}

/// Names of the durable events, runs of one left together, without the payload.
pub fn kinds(world: &World) -> Vec<&'static str> {
    world.events.iter().filter_map(|stamped| kind(&stamped.event)).collect()
}

fn kind(event: &Event) -> Option<&'static str> {
    Some(match event {
        Event::TurnStarted { .. } => "turn",
        Event::StepStarted { .. } => "step",
        Event::AttemptStarted { .. } => "attempt",
        Event::AttemptEnded { .. } => "attempt ended",
        Event::AttemptDiscarded { .. } => "discarded",
        Event::Retrying { .. } => "retrying",
        Event::Committed { .. } => "committed",
        Event::CallAnnounced { .. } => "announced",
        Event::CallStarted { .. } => "started",
        Event::CallSettled { .. } => "settled",
        Event::StepEnded { .. } => "step ended",
        Event::TurnEnded(_) => "turn ended",
        _ => return None,
    })
}

/// The receipts of an input, by name.
pub fn receipts(world: &World, id: &str) -> Vec<&'static str> {
    let of = world.events.iter().filter_map(|stamped| match &stamped.event {
        Event::Receipt { input, receipt } if &*input.0 == id => Some(receipt),
        _ => None,
    });
    of.map(|receipt| match receipt {
        Receipt::Accepted => "accepted",
        Receipt::Steered => "steered",
        Receipt::Held(_) => "held",
        Receipt::Taken(_) => "taken",
        Receipt::Dropped(_) => "dropped",
        Receipt::Returned => "returned",
        Receipt::TurnEnded(..) => "turn ended",
    })
    .collect()
}

/// Every ask of this kind that left, with its time.
pub fn asked(world: &World, kind: &str) -> Vec<(u64, Ask)> {
    let asks = world.orders.iter().filter_map(|(at, order)| match order {
        Order::Ask(ask) if ask.question.kind() == kind => Some((*at, ask.clone())),
        _ => None,
    });
    asks.collect()
}

/// When an ask was taken back.
pub fn taken_back(world: &World, id: AskId) -> Vec<u64> {
    let withdrawn = world.orders.iter().filter_map(|(at, order)| match order {
        Order::Withdraw(withdrawal) if withdrawal.ask == id => Some(*at),
        _ => None,
    });
    withdrawn.collect()
}

/// Runs until nothing is left, then looks at what every story must keep.
pub fn rest(world: &mut World) -> String {
    world.run().unwrap();
    check(world);
    told(world)
}

/// Pairing, brackets, receipts, the fold of events, and the replay of the journal and saving (P1, P3, P5, P7,
/// P10, P11, P18).
pub fn check(world: &World) {
    assert_eq!(world.engine.history().audit(), Ok(()), "P1");
    for request in &world.host.requests {
        assert_eq!(request.history.ready(), Ok(()), "V06");
    }
    let running = world.engine.turn().is_some();
    let mut brackets = Brackets::default();
    for stamped in &world.events {
        brackets.see(&stamped.event);
    }
    brackets.check(running);
    let again = machine_journal::reopen(world.journal.records()).unwrap().engine;
    assert!(again == world.engine, "P11: the replay differs");
    assert_eq!(brackets.fold.digest(), world.engine.history().digest(), "P10: the fold differs");
    let saved = serde_json::to_string(&world.engine.snapshot()).unwrap();
    let restored = Engine::restore(serde_json::from_str(&saved).unwrap()).unwrap();
    assert!(restored == world.engine, "P18: what was saved differs from what is restored");
}

#[derive(Default)]
struct Brackets {
    turns: BTreeMap<TurnId, (u32, u32)>,
    calls: BTreeMap<CallId, (u32, u32)>,
    steps: (u32, u32),
    receipts: BTreeMap<InputId, u32>,
    fold: History,
}

impl Brackets {
    fn see(&mut self, event: &Event) {
        match event {
            Event::TurnStarted { turn, .. } => self.turns.entry(*turn).or_default().0 += 1,
            Event::TurnEnded(end) => self.turns.entry(end.turn).or_default().1 += 1,
            Event::StepStarted { .. } => self.steps.0 += 1,
            Event::StepEnded { .. } => self.steps.1 += 1,
            Event::CallAnnounced { call, .. } => self.calls.entry(*call).or_default().0 += 1,
            Event::CallSettled { call, .. } => self.calls.entry(*call).or_default().1 += 1,
            Event::Committed { entry, .. } => self.fold.append(entry.clone()).unwrap(),
            Event::Edited { edit } => self.fold.edit(edit).unwrap(),
            Event::Receipt { input, receipt } => match receipt {
                Receipt::Taken(_) | Receipt::Dropped(_) | Receipt::Returned => {
                    let open = self.receipts.get_mut(input).unwrap();
                    *open = open.checked_sub(1).expect("E08: a second last receipt");
                }
                Receipt::Accepted => *self.receipts.entry(input.clone()).or_default() += 1,
                Receipt::Steered | Receipt::Held(_) | Receipt::TurnEnded(..) => {}
            },
            _ => {}
        }
    }

    fn check(&self, running: bool) {
        let open = self.turns.values().filter(|counts| **counts == (1, 0)).count();
        assert!(self.turns.values().all(|(started, ended)| *started == 1 && *ended <= 1), "P7");
        assert_eq!(open, usize::from(running), "P7: turns without an end");
        assert!(self.steps.1 <= self.steps.0 && (running || self.steps.0 == self.steps.1), "T06");
        let settled = self.calls.values().all(|counts| *counts == (1, 1));
        assert!(running || settled, "P3: {:?}", self.calls);
    }
}
