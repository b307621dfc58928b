//! The agent machine.
use std::sync::Arc;

use machine_agent::inbox::{Prompt, Screen, Waiting};
use machine_agent::{Agent, Ctx, Event, Signal, State, admit};
use machine_core::ask::{By, Cause, HookError, HookFailure, Screened};
use machine_core::config::{Config, InboxLimits, Questions, TurnLimits};
use machine_core::event::{EndReason, TurnEnd, TurnError};
use machine_core::ids::{CallId, InputId, TurnId};
use machine_core::input::{Abort, Command, Lane, Note, Reminder, Submit};
use machine_core::machine::{Kind, Machine};
use machine_core::message::{Content, text_content};
use machine_core::usage::UsageSum;
use machine_testkit::chart::{Chart, Domain, NoChart, recover};

use super::{Drawable, LIMIT};

pub(super) const DRAWABLE: Drawable = Drawable {
    name: "agent",
    title: "The agent machine",
    about: "\
A session, from its opening to its close: what waits for a turn, one turn at a time, and the calls that outlive theirs. Below
`Idle` no turn runs: nothing waits that wakes (`Ready`), or only background calls are alive (`Waiting`), or what waits is
kept until somebody says so (`Held`). `Screening` waits for a hook's verdict on the prompt that would open a turn,
`Running` for the turn to end, `Maintaining` for the host, `Closing` for the turn and the background calls. `Closed` is
where an opening ends; the next one goes on from there (`Crash`).

Whether something starts after an event depends on what waits and on whether the agent is paused: that decides most
cells with several entries. Commands reach the machine only where `admit` lets them through.

What was explored, in several worlds, because all at once is too much: two prompts with screening; two without, and a
failed turn that holds nothing; a prompt with a notification or injection and the turn's own messages; a prompt with a
reminder; a prompt with a background and a deaf call. In each at most two inputs wait, an id is forgotten as soon as its
input is taken, and the session has two turns and one maintenance: an event that would begin one more is not offered.",
    chart: agent,
};

/// The chart of the agent machine, in several worlds.
pub fn agent() -> Result<Chart, NoChart> {
    let (one, two): (&[_], &[_]) = (&["p"], &["p", "q"]);
    let only_prompts = &["Notify", "Inject", "Own", "Remind", "Lingers"];
    let worlds = [
        World::new(true, true, two, only_prompts),
        World::new(false, false, two, only_prompts),
        World::new(true, true, one, &["Remind", "Lingers", "Maintain"]),
        World::new(true, true, one, &["Notify", "Inject", "Own", "Lingers", "Maintain"]),
        World::new(true, true, one, &["Inject", "Own", "Remind", "Maintain", "Pause", "Consume"]),
        World::new(false, true, one, &["Inject", "Own", "Remind", "Maintain", "Pause", "Consume"]),
        World::new(true, true, &[], &["Own", "Remind", "Pause"]),
        World::new(true, true, &[], &["Notify", "Inject", "Own", "Pause"]),
    ];
    recover(&worlds, LIMIT)
}

/// The world around an agent.
struct World {
    config: Config,
    /// Ids of prompts.
    prompts: &'static [&'static str],
    /// Kinds of events that do not come in it.
    without: &'static [&'static str],
}

/// So many inputs may wait, and so many turns may there be.
const BOUND: usize = 2;

impl World {
    fn new(screen: bool, holds: bool, prompts: &'static [&'static str], without: &'static [&'static str]) -> Self {
        let ask = Questions { screen, ..Questions::default() };
        let turn = TurnLimits { go_on_after_failure: !holds, ..TurnLimits::default() };
        let inbox = InboxLimits { remembered_ids: 0, ..InboxLimits::default() };
        Self { config: Config { ask, turn, inbox, ..Config::default() }, prompts, without }
    }

    /// Whether an event stays within the bounds of the exploration.
    fn is_bounded(&self, machine: &Machine<Agent>, event: &Event) -> bool {
        let mut after = machine.clone();
        after.step(event, &mut self.context(&mut Vec::new()));
        let waiting = |of: &Machine<Agent>| of.data().inbox.queue.len() + of.data().inbox.lane.len();
        let more = waiting(&after) > waiting(machine) && waiting(&after) > BOUND;
        let Agent { turns, maintenance, .. } = after.data();
        !more && *turns as usize <= BOUND && *maintenance <= 1
    }
}

impl Domain for World {
    type Data = Agent;
    type Event = Event;
    type Signal = Signal;

    const NAME: &'static str = "agent";

    fn starts(&self) -> Vec<(&'static str, Machine<Agent>)> {
        vec![("open", Machine::resume(Agent::new(1), State::Ready))]
    }

    fn events(&self, machine: &Machine<Agent>) -> Vec<Event> {
        let mut events = inputs(self.prompts);
        events.extend(commands(self.prompts));
        events.extend(answers(machine));
        events.extend(of_turns(machine.state()));
        events.extend(of_calls(machine));
        events.extend([
            Event::Crash { alive: true },
            Event::Crash { alive: false },
            Event::Fault { why: "disk".into(), check: false },
            Event::Fault { why: "check".into(), check: true },
        ]);
        events.retain(|event| !self.without.contains(&event.kind()));
        events.retain(|event| may_come(machine.state(), event) && self.is_bounded(machine, event));
        events
    }

    fn admits(&self, machine: &Machine<Agent>, event: &Event) -> bool {
        let mut signals = Vec::new();
        let ctx = self.context(&mut signals);
        command(event).is_none_or(|command| admit(machine, &command, &ctx).is_ok())
    }

    fn context<'c>(&'c self, signals: &'c mut Vec<Signal>) -> Ctx<'c> {
        Ctx { signals, config: &self.config }
    }
}

/// What could not come in a real session. A turn whose process is gone, or whose engine is faulted, ends next. A prompt
/// that the turn took does not come again while it runs.
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

/// The command behind an event.
fn command(event: &Event) -> Option<Command> {
    Some(match event.clone() {
        Event::Submit(submit) => Command::Submit(submit),
        Event::Notify(note) => Command::Notify(note),
        Event::Inject(note) => Command::Inject(note),
        Event::Remind(reminder) => Command::Remind(reminder),
        Event::Steer(ids) => Command::Steer(ids),
        Event::Withdraw(id) => Command::Withdraw(id),
        Event::Replace(id, message) => Command::Replace(id, message),
        Event::Consume(call) => Command::Consume(call),
        Event::Abort(cause) => Command::Abort(Arc::new(Abort { cause, target: None })),
        Event::Pause => Command::Pause,
        Event::Resume { .. } => Command::Resume,
        Event::Maintain => Command::Maintain,
        Event::Close => Command::Close,
        Event::Screened(..) | Event::ScreenFailed(..) | Event::Maintained { .. } => return None,
        Event::MaintainFailed(_) | Event::Drain | Event::Own(_) | Event::TurnEnded(_) => return None,
        Event::Lingers { .. } | Event::BackgroundEnded { .. } | Event::CallEnded(_) => return None,
        Event::Crash { .. } | Event::Fault { .. } => return None,
    })
}

/// Everybody says the same: what is said makes no difference here.
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
    let note = Note::text("n", "words");
    events.extend([Event::Notify(note.clone()), Event::Inject(note)]);
    let remind = |only_if_changed| Reminder { key: "r".into(), message: words(), only_if_changed };
    events.extend([false, true].map(|only| Event::Remind(Arc::new(remind(only)))));
    events
}

fn commands(prompts: &[&str]) -> Vec<Event> {
    let ids = || prompts.iter().map(|id| InputId::from(*id));
    let mut events: Vec<_> = ids().map(|id| Event::Steer(Arc::from([id]))).collect();
    events.extend(ids().chain(["n".into(), "r".into()]).map(Event::Withdraw));
    events.extend(ids().map(|id| Event::Replace(id, words())));
    events.push(Event::Consume(BACKGROUND));
    events.extend([
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
    let ids = || inbox.queue.iter().chain(in_lane.clone()).filter(asked).map(|prompt| prompt.id.clone());
    let stale = || std::iter::once(InputId::from("stale"));
    let verdicts = [Screened::Admit, Screened::Rewrite(words()), Screened::Block("no".into())];
    let mut events = Vec::new();
    for id in ids().chain(stale()) {
        events.extend(verdicts.clone().map(|verdict| Event::Screened(id.clone(), verdict)));
    }
    let hook = HookError::new(HookFailure::Failed, "hook");
    events.extend(ids().chain(stale()).map(|id| Event::ScreenFailed(id, hook.clone())));
    events.extend([true, false].map(|edited| Event::Maintained { edited }));
    events.push(Event::MaintainFailed(hook));
    events
}

/// What the running turn says, or one that is over.
fn of_turns(state: &State) -> Vec<Event> {
    let turn = state.active().map_or(TurnId { branch: 1, turn: 0 }, |active| active.turn);
    let ended = |reason| {
        let (steps, usage, truncated) = (1, UsageSum::default(), false);
        Event::TurnEnded(TurnEnd { turn, reason, steps, usage, truncated })
    };
    let deliver = Waiting::Deliver { call: BACKGROUND, content: words() };
    let mut events = vec![Event::Drain];
    events.extend([deliver, Waiting::StopHook(words())].map(|own| Event::Own(vec![own])));
    events.extend([
        ended(EndReason::DONE),
        ended(EndReason::Failed(Arc::new(TurnError::EmptyResponse { tries: 1 }))),
        ended(EndReason::Aborted(Cause::by(By::User))),
        ended(EndReason::Interrupted),
    ]);
    events
}

const BACKGROUND: CallId = CallId { branch: 1, turn: 1, step: 1, index: 0 };
const OTHER: CallId = CallId { branch: 1, turn: 1, step: 1, index: 1 };

/// One call detaches, goes deaf or not, and ends; another goes deaf and ends.
fn of_calls(machine: &Machine<Agent>) -> Vec<Event> {
    let lingers = |call, detached| Event::Lingers { call, tool: "tool".into(), detached, since: 0 };
    let ended = |wake| Event::BackgroundEnded { call: BACKGROUND, content: words(), wake };
    let mut events = vec![lingers(BACKGROUND, true), lingers(OTHER, false)];
    let roster = &machine.data().roster;
    let at_work = roster.get(&BACKGROUND).map(|call| call.detached);
    // A call that went deaf has been told; its end comes after it was told, or because the engine is faulted.
    if at_work != Some(false) {
        events.extend([ended(true), ended(false)]);
    }
    if at_work == Some(false) {
        events.push(lingers(BACKGROUND, false));
    }
    if at_work != Some(true) || matches!(machine.state(), State::Faulted { .. }) {
        events.push(Event::CallEnded(BACKGROUND));
    }
    events.push(Event::CallEnded(OTHER));
    events
}
