//! What comes to an agent: every kind of event, with every payload that a row could tell apart.
use std::sync::Arc;

use machine_agent::inbox::{Prompt, Screen, Waiting};
use machine_agent::{Agent, Event, State};
use machine_core::ask::{By, Cause, HookError, HookFailure, Screened};
use machine_core::event::{EndReason, TurnEnd, TurnError};
use machine_core::ids::{CallId, InputId, TurnId};
use machine_core::input::{Lane, Note, Reminder, Submit};
use machine_core::machine::Machine;
use machine_core::message::{Content, text_content};
use machine_core::usage::UsageSum;

const PROMPTS: [&str; 2] = ["p", "q"];
const NOTE: &str = "n";
const REMINDER: &str = "r";
const CALLS: [CallId; 2] = [call(0), call(1)];

const fn call(index: u32) -> CallId {
    CallId { branch: 1, turn: 1, step: 1, index }
}

/// What can come next where there are so many prompts and calls.
pub(super) fn events(machine: &Machine<Agent>, prompts: usize, calls: usize) -> Vec<Event> {
    let prompts = &PROMPTS[..prompts];
    let mut events = inputs(prompts);
    events.extend(commands(prompts));
    events.extend(answers(machine));
    events.extend(of_turns(machine.state()));
    events.extend(of_calls(machine, &CALLS[..calls]));
    events.extend([
        Event::Crash { alive: true },
        Event::Crash { alive: false },
        Event::Fault { why: "disk".into(), check: false },
        Event::Fault { why: "check".into(), check: true },
    ]);
    events.retain(|event| may_come(machine.state(), event));
    events
}

/// What cannot come in a real session. A turn whose process is gone, or whose engine is faulted, ends next. A prompt
/// that a turn took does not come again while it runs. Only where a turn runs can a call wait for approval, or detach.
fn may_come(state: &State, event: &Event) -> bool {
    let hold = state.active().is_some_and(|active| active.hold);
    let faulted = matches!(state, State::Faulted { active: Some(_), .. });
    match event {
        Event::TurnEnded(end) => match end.reason {
            EndReason::Interrupted => hold,
            EndReason::Failed(_) => !hold,
            _ => !hold && !faulted,
        },
        _ if hold || faulted => false,
        Event::Submit(submit) => state.active().is_none_or(|active| !active.prompts.contains(&submit.id)),
        Event::Crash { alive: true } => matches!(state, State::Active(_)),
        Event::Lingers { detached: true, .. } => state.active().is_some(),
        _ => true,
    }
}

/// Everybody says the same: what is said makes no difference.
fn words() -> Content {
    text_content("words")
}

fn inputs(prompts: &[&str]) -> Vec<Event> {
    let mut events = Vec::new();
    for id in prompts {
        for (lane, wake) in [(Lane::NextTurn, true), (Lane::NextTurn, false), (Lane::NextStep, true)] {
            let (id, message) = (InputId::from(*id), words());
            events.push(Event::Submit(Arc::new(Submit { id, message, lane, wake, meta: None })));
        }
    }
    let note = Note::text(NOTE, "words");
    events.extend([Event::Notify(note.clone()), Event::Inject(note)]);
    let remind = |only_if_changed| Reminder { key: REMINDER.into(), message: words(), only_if_changed };
    events.extend([false, true].map(|only| Event::Remind(Arc::new(remind(only)))));
    events
}

fn commands(prompts: &[&str]) -> Vec<Event> {
    let ids = || prompts.iter().map(|id| InputId::from(*id));
    let mut events: Vec<_> = ids().map(|id| Event::Steer(Arc::from([id]))).collect();
    events.extend(ids().chain([NOTE.into(), REMINDER.into()]).map(Event::Withdraw));
    events.extend(ids().map(|id| Event::Replace(id, words())));
    events.extend([
        Event::Consume(CALLS[0]),
        Event::Abort(Cause::by(By::User)),
        Event::Abort(Cause::by(By::Program)),
        Event::Pause,
        Event::Resume { unanswered: true },
        Event::Resume { unanswered: false },
        Event::Maintain,
        Event::Close,
    ]);
    events
}

/// Verdicts on the prompts that are being screened, and on one that is not; and the end of maintenance.
fn answers(machine: &Machine<Agent>) -> Vec<Event> {
    let inbox = &machine.data().inbox;
    let in_lane = inbox.lane.iter().filter_map(|waiting| match waiting {
        Waiting::Prompt(prompt) => Some(prompt),
        _ => None,
    });
    let asked = |prompt: &&Prompt| prompt.screen == Screen::Asked;
    let ids = inbox.queue.iter().chain(in_lane).filter(asked).map(|prompt| prompt.id.clone());
    let notes = inbox.lane.iter().filter_map(|waiting| match waiting {
        Waiting::Note { note, screen: Screen::Asked, .. } => Some(note.id.clone()),
        _ => None,
    });
    let ids: Vec<_> = ids.chain(notes).chain([InputId::from("stale")]).collect();
    let verdicts = [Screened::Admit, Screened::Rewrite(words()), Screened::Block("no".into())];
    let verdict = |id: &InputId| verdicts.clone().map(|verdict| Event::Screened(id.clone(), verdict));
    let hook = HookError::new(HookFailure::Failed, "hook");
    let mut events: Vec<_> = ids.iter().flat_map(verdict).collect();
    events.extend(ids.into_iter().map(|id| Event::ScreenFailed(id, hook.clone())));
    events.extend([true, false].map(|edited| Event::Maintained { edited }));
    events.push(Event::MaintainFailed(hook));
    events
}

/// What the running turn says, or one that is over.
fn of_turns(state: &State) -> Vec<Event> {
    let turn = state.active().map_or(TurnId { branch: 1, turn: 0 }, |active| active.turn);
    let ended = |reason| {
        let (steps, usage, truncated) = (1, UsageSum::default(), false);
        Event::TurnEnded(TurnEnd { turn, reason, steps, usage, truncated, returned: Vec::new() })
    };
    let deliver = Waiting::Deliver { call: CALLS[0], content: words() };
    vec![
        Event::Drain,
        Event::Own(vec![deliver]),
        Event::Own(vec![Waiting::StopHook(words().into())]),
        ended(EndReason::DONE),
        ended(EndReason::Failed(Arc::new(TurnError::EmptyResponse { tries: 1 }))),
        ended(EndReason::Aborted(Cause::by(By::User))),
        ended(EndReason::Interrupted),
    ]
}

/// A call detaches, its end is told, perhaps it is deaf then, and it is gone. An end that nobody waits for may come
/// too, but none is told twice, and none goes without being told unless the engine is faulted.
fn of_calls(machine: &Machine<Agent>, calls: &[CallId]) -> Vec<Event> {
    let lingers =
        |call, detached| Event::Lingers { call, tool: "tool".into(), detached, since: 0, told: words() };
    let ended = |call, wake| Event::BackgroundEnded { call, content: words(), wake };
    let is_detached = |call: &CallId| machine.data().roster.get(call).map(|call| call.detached);
    let faulted = matches!(machine.state(), State::Faulted { .. });
    let mut events = Vec::new();
    events.extend(calls.iter().map(|call| lingers(*call, true)));
    events.extend(calls.iter().filter(|c| is_detached(c) == Some(false)).map(|call| lingers(*call, false)));
    for call in calls.iter().filter(|call| is_detached(call) != Some(false)) {
        events.extend([ended(*call, true), ended(*call, false)]);
    }
    let late = |call: CallId| Event::LateResult { call, content: words() };
    let deaf = calls.iter().filter(|c| is_detached(c) == Some(false));
    events.extend(deaf.map(|call| late(*call)));
    let gone = calls.iter().filter(|call| is_detached(call) != Some(true) || faulted);
    events.extend(gone.map(|call| Event::CallEnded(*call)));
    events
}
