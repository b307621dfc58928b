//! What users and the system do in a long run: every command, and what happens to processes.
use std::sync::Arc;

use machine_adapter::Engine;
use machine_agent::inbox::Waiting;
use machine_core::ask::{By, Cause, Question};
use machine_core::ids::{CallId, InputId};
use machine_core::input::{Abort, Command, Input, Lane, Note, Reminder, Submit, Target};
use machine_core::message::text_content;

use super::answers::access;
use super::settings::{Settings, config};
use crate::draw::Draw;

/// Something that nobody asked for. It may be refused. `n` makes ids that are new.
pub(super) fn happens(engine: &Engine, settings: &Settings, n: u32, draw: &mut impl Draw) -> Input {
    let inbox = &engine.agent().data().inbox;
    let queued: Vec<InputId> = inbox.queue.iter().map(|prompt| prompt.id.clone()).collect();
    let calls: Vec<CallId> = engine.calls().map(|call| call.data().id).collect();
    let note = |kind: &str| Note::text(format!("{kind}{n}"), "news");
    Input::Command(match draw.below(32) {
        0..=3 => submit(n, draw),
        4 | 5 => Command::Notify(note("n")),
        6 | 7 => Command::Inject(note("i")),
        8 | 9 => Command::Remind(Arc::new(Reminder {
            key: draw.one_of(&["r0", "r1", "r2"]).into(),
            message: text_content(draw.one_of(&["think of it", "and of this"])),
            only_if_changed: draw.flag(),
        })),
        10 | 11 => match draw.below(queued.len() + 1) {
            0 => Command::Steer(queued.into()),
            at => Command::Steer(Arc::from([queued[at - 1].clone()])),
        },
        12 => Command::Withdraw(pending(engine, n, draw)),
        13 => Command::Replace(pending(engine, n, draw), text_content("better")),
        14 => Command::Declare(one_of(&calls, draw), access(&settings.habits, 0, draw)),
        15 => Command::CancelCall(one_of(&calls, draw), cause(draw)),
        16 | 17 => Command::Consume(one_of(&told(engine, &calls), draw)),
        18..=21 => abort(engine, draw),
        22 => Command::Pause,
        23 | 24 => Command::Resume,
        25 => Command::Maintain,
        26 if settings.habits.configures => {
            let mut config = config(draw);
            // The monitor allows the highest cap that there ever was: with one alone it looks closest.
            config.calls.max_parallel = settings.config.calls.max_parallel;
            Command::Configure(Arc::new(config))
        }
        27 | 28 => return lost(engine, draw).unwrap_or_else(|| Command::Resume.into()),
        29 if settings.habits.crashes => return crash(engine),
        30 => match pending(engine, n, draw) {
            id if inbox.is_pending(&id) => Command::Submit(Submit::text(id, "again")),
            _ => Command::Resume,
        },
        31 if draw.below(16) == 15 => Command::Close,
        _ => Command::Resume,
    })
}

fn submit(n: u32, draw: &mut impl Draw) -> Command {
    let lane = draw.one_of(&[Lane::NextTurn, Lane::NextStep]);
    let wake = draw.below(4) < 3;
    Command::Submit(Arc::new(Submit { lane, wake, ..(*Submit::text(format!("p{n}"), "more")).clone() }))
}

/// Something that waits; or nobody.
fn pending(engine: &Engine, n: u32, draw: &mut impl Draw) -> InputId {
    let ids: Vec<InputId> = (0..n)
        .flat_map(|n| ["p", "n", "i"].map(|kind| format!("{kind}{n}").into()))
        .filter(|id| engine.agent().data().inbox.is_pending(id))
        .collect();
    match ids.is_empty() {
        true => "nobody".into(),
        false => ids[draw.below(ids.len())].clone(),
    }
}

/// Calls that ended in the background and were not told, or may end so.
fn told(engine: &Engine, calls: &[CallId]) -> Vec<CallId> {
    let ended = engine.agent().data().inbox.lane.iter().filter_map(|waiting| match waiting {
        Waiting::BackgroundEnd { call, .. } => Some(*call),
        _ => None,
    });
    let consumed = |call: &CallId| engine.admit(&Command::Consume(*call).into()).is_ok();
    ended.chain(calls.iter().copied()).filter(consumed).collect()
}

fn one_of(calls: &[CallId], draw: &mut impl Draw) -> CallId {
    match calls.is_empty() {
        true => CallId { branch: 9, turn: 1, step: 1, index: 0 },
        false => calls[draw.below(calls.len())],
    }
}

fn cause(draw: &mut impl Draw) -> Arc<Cause> {
    Cause::by(draw.one_of(&[By::User, By::Timeout, By::Parent, By::Shutdown, By::Program]))
}

fn abort(engine: &Engine, draw: &mut impl Draw) -> Command {
    let turn = engine.turn().map(|turn| Target::Turn(turn.data().id));
    let target = if draw.flag() { turn } else { None };
    Command::Abort(Arc::new(Abort { cause: cause(draw), target }))
}

/// Nobody carries this act out any more.
fn lost(engine: &Engine, draw: &mut impl Draw) -> Option<Input> {
    let acts: Vec<_> = engine.outstanding().filter(|open| open.ask.question.is_act()).collect();
    let open = acts.get(draw.below(acts.len()))?;
    Some(Input::Lost { ask: open.ask.id })
}

/// The process dies; whatever was asked had left.
fn crash(engine: &Engine) -> Input {
    let ran = engine.outstanding().filter_map(|open| match open.ask.question {
        Question::Execute { call, .. } => Some(call),
        _ => None,
    });
    let mut ran: Vec<CallId> = ran.collect();
    ran.sort_unstable();
    Input::Recovered { ran: ran.into() }
}
