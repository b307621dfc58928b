//! The turn machine.
use std::sync::Arc;

use machine_core::ask::{By, Cause, Gated, HookError, HookFailure, Proceed, Recovery, Remedy, StopVerdict};
use machine_core::config::{Config, Questions, Retry, TurnLimits};
use machine_core::drain::Pending;
use machine_core::event::TurnError;
use machine_core::ids::{CallId, TurnId};
use machine_core::machine::Machine;
use machine_core::message::text_content;
use machine_core::response::{Failure, Finish, Finished, ModelError, ModelEvent};
use machine_core::usage::Usage;
use machine_testkit::chart::{Chart, Domain, NoChart, recover};
use machine_turn::{Ctx, Event, Signal, State, Turn};

use super::{Drawable, LIMIT};

pub(super) const DRAWABLE: Drawable = Drawable {
    name: "turn",
    title: "The turn machine",
    about: "\
One turn, from its first step to its end. A *step* is one model response and the calls that it asked for; an *attempt* is
one request for that response. `Gating`, `Recovering` and `Stopping` wait for a hook of the host, `Backoff` for a timer,
`Streaming` for the model, `Acting` for the calls, `Waiting` for background calls. `Draining` waits for nothing: it is left
in the `handle` in which it is entered, and only `Pending`, or a check that fails there, can come meanwhile.

Most cells with several entries are decided by what the host wants to be asked (a gate, a recovery, a stop hook), by what
the response holds, or by a count: attempts, empty responses, recoveries, steps.

What was explored: with all hooks and with none; without a step limit, with the limits 0 and 1; 2 attempts, 1 repetition
of an empty response, up to 2 recoveries, 1 continuation of the stop hook; responses of at most two pieces. The second
step is plain (no calls, one kind of failure, no recovery), and nothing leads on to a third. Attempts cost nothing, so that
sums do not grow. Time stands still: an attempt is silent for too long where the limit is 0.",
    chart: turn,
};

/// The chart of the turn machine, in several settings.
pub fn turn() -> Result<Chart, NoChart> {
    let hooks =
        |recoveries| Questions { gate: true, recover: recoveries > 0, stop: true, ..Questions::default() };
    let limits = |max_steps, recoveries, stream_idle_ms| TurnLimits {
        max_steps,
        recoveries,
        stream_idle_ms,
        truncated: 2,
        empty: 1,
        stop_hook: 1,
        response_bytes: 2 * PIECE.len(),
        ..TurnLimits::default()
    };
    let worlds = [
        World::new(hooks(1), limits(None, 1, 60_000)),
        World::new(hooks(2), limits(Some(1), 2, 0)),
        World::new(Questions::default(), limits(None, 0, 0)),
        World::new(Questions::default(), limits(Some(0), 0, 0)),
    ];
    recover(&worlds, LIMIT)
}

/// The last step of the exploration: nothing leads on to another.
const LAST_STEP: u32 = 2;

/// The world around a turn.
struct World {
    config: Config,
}

impl World {
    fn new(ask: Questions, turn: TurnLimits) -> Self {
        let retry = Retry { attempts: 2, ..Retry::default() };
        Self { config: Config { ask, turn, retry, ..Config::default() } }
    }
}

/// Every piece of a response has this length; the limit of a response is two.
const PIECE: &str = "{}";

impl Domain for World {
    type Data = Turn;
    type Event = Event;
    type Signal = Signal;

    const NAME: &'static str = "turn";

    fn starts(&self) -> Vec<(&'static str, Machine<Turn>)> {
        let turn = Turn::new(TurnId { branch: 1, turn: 1 }, &self.config.request);
        vec![("start", machine_turn::start(turn, &mut self.context(&mut Vec::new())))]
    }

    fn events(&self, machine: &Machine<Turn>) -> Vec<Event> {
        let last = machine.data().step >= LAST_STEP;
        samples().into_iter().filter(|event| !last || is_offered_at_last(machine.state(), event)).collect()
    }

    fn context<'c>(&'c self, signals: &'c mut Vec<Signal>) -> Ctx<'c> {
        Ctx { signals, config: &self.config, now: 0 }
    }
}

/// Whether an event is offered in the last step: not what may lead to another step, sooner or later (calls, and
/// input that waits), and no recoveries, which the first step has in full.
fn is_offered_at_last(state: &State, event: &Event) -> bool {
    match (state, event) {
        (State::Requesting(_) | State::Receiving(_), Event::Model(piece)) => {
            matches!(piece, ModelEvent::Started { .. } | ModelEvent::Text(_))
        }
        (State::Requesting(_) | State::Receiving(_), Event::Failed(error)) => {
            error.kind == Failure::Connection
        }
        (State::Recovering { .. }, Event::Recovered(answer)) => !matches!(answer, Recovery::Retry(_)),
        (State::Draining { .. }, Event::Pending(Pending { paused, steered, outside, inside, .. })) => {
            *paused || !(*steered || *outside || *inside)
        }
        _ => true,
    }
}

/// Every kind of event, with every payload that a row could tell apart.
fn samples() -> Vec<Event> {
    let cause = Cause::by(By::User);
    let hook = HookError::new(HookFailure::Failed, "hook");
    let stopped_by = CallId { branch: 1, turn: 1, step: 1, index: 0 };
    let mut events = vec![
        Event::Gated(Gated::Proceed(Arc::new(Proceed::default()))),
        Event::Gated(Gated::Block("no".into())),
    ];
    events.extend(streamed().into_iter().map(Event::Model));
    events.extend(finishes().into_iter().map(finished));
    events.extend(failures().into_iter().map(|error| Event::Failed(Arc::new(error))));
    events.push(Event::IdleOver);
    events.extend(recoveries().into_iter().map(Event::Recovered));
    events.extend([
        Event::BackoffOver,
        Event::Repeated,
        Event::BatchDone { stopped_by: None },
        Event::BatchDone { stopped_by: Some((stopped_by, "enough".into())) },
    ]);
    events.extend(pending().into_iter().map(Event::Pending));
    events.extend([
        Event::FatalCall(Arc::new(TurnError::FatalCall { call: stopped_by, text: "fatal".into() })),
        Event::Stirred,
        Event::WaitOver,
        Event::Stopped(StopVerdict::End),
        Event::Stopped(StopVerdict::Continue(Arc::from([]))),
        Event::Stopped(StopVerdict::Continue(Arc::from([text_content("go on").into()]))),
        Event::HookFailed(hook),
        Event::Abort(cause),
        Event::Hurry,
        Event::Crash { waiting: true },
        Event::Crash { waiting: false },
        Event::Fault("disk".into()),
    ]);
    events
}

/// Calls carry one letter of id and one of name: all pieces are equally long.
fn streamed() -> Vec<ModelEvent> {
    vec![
        ModelEvent::Started { request_id: None },
        ModelEvent::Text(PIECE.into()),
        ModelEvent::Thinking { text: PIECE.into(), signature: None },
        ModelEvent::CallStart { index: 0, id: "a".into(), tool: "t".into() },
        ModelEvent::CallArgs { index: None, piece: PIECE.into() },
    ]
}

fn finishes() -> [Finish; 6] {
    use Finish::{EndTurn, Filtered, MaxTokens, Other, Suspended, ToolUse};
    [EndTurn, ToolUse, MaxTokens, Filtered, Suspended, Other]
}

/// Attempts cost nothing here, so that sums do not grow.
fn finished(finish: Finish) -> Event {
    Event::Finished(Arc::new(Finished { usage: Some(Usage::default()), ..Finished::new(finish) }))
}

fn failures() -> Vec<ModelError> {
    let failed = |kind| ModelError { usage: Some(Usage::default()), ..ModelError::new(kind, "failed") };
    vec![
        failed(Failure::Connection),
        failed(Failure::Auth),
        failed(Failure::ContextOverflow),
        ModelError { retry_after_ms: Some(u64::MAX), ..failed(Failure::RateLimit) },
    ]
}

fn recoveries() -> Vec<Recovery> {
    let remedy = |progress| {
        let strategy = "compaction".into();
        Arc::new(Remedy { strategy, progress, instead: None, for_turn: false, usage: None })
    };
    vec![
        Recovery::Decline,
        Recovery::End(Arc::new(ModelError::new(Failure::Unknown, "hopeless"))),
        Recovery::Retry(remedy(true)),
        Recovery::Retry(remedy(false)),
    ]
}

fn pending() -> Vec<Pending> {
    let nothing = Pending::default();
    vec![
        nothing,
        Pending { paused: true, ..nothing },
        Pending { steered: true, ..nothing },
        Pending { outside: true, ..nothing },
        Pending { inside: true, ..nothing },
        Pending { wait_ms: 1_000, ..nothing },
        Pending { paused: true, steered: true, outside: true, inside: true, wait_ms: 0 },
    ]
}
