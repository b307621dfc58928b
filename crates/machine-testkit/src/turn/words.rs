//! What the host of an explored turn says: every answer that a row could tell apart.
use std::sync::Arc;

use machine_core::ask::{
    Gated, HookError, HookFailure, Proceed, Question, Recovery, Remedy, StopVerdict, Timer,
};
use machine_core::drain::Pending;
use machine_core::message::text_content;
use machine_core::response::{Failure, Finish, Finished, ModelError, ModelEvent};
use machine_core::usage::Usage;
use machine_turn::Event;

use super::TurnSettings;

/// Visible text, the only kind that may be salvaged.
pub(super) const TEXT: &str = "text";
/// Milliseconds that a server asks to wait.
pub(super) const RETRY_AFTER_MS: u64 = 7;

const COST: Usage = Usage { input: 1, output: 2, cached: 0 };

pub(super) fn hook() -> Arc<HookError> {
    HookError::new(HookFailure::Failed, "hook")
}

/// The pieces of a response, in the one order in which they come: more of them would only be the same in other orders.
pub(super) fn pieces(settings: &TurnSettings, calls: u32) -> Vec<ModelEvent> {
    let start = |index| ModelEvent::CallStart { index, id: format!("{index}").into(), tool: "tool".into() };
    let mut all = Vec::new();
    if settings.finishes {
        all.push(ModelEvent::Thinking { text: "thought".into(), signature: None });
    }
    all.push(ModelEvent::Text(TEXT.into()));
    if settings.usage {
        all.push(ModelEvent::Usage(Usage { input: 4, output: 0, cached: 0 }));
    }
    all.extend((0..calls).map(start));
    if settings.finishes {
        all.push(ModelEvent::CallArgs { index: None, piece: "{}".into() });
    }
    all
}

/// What an attempt cost. Nothing, where that is not looked at: sums would only make more states.
fn cost(settings: &TurnSettings) -> Option<Usage> {
    Some(if settings.usage { COST } else { Usage::default() })
}

/// How a response ends.
pub(super) fn ends(settings: &TurnSettings) -> Vec<Event> {
    use Finish::{EndTurn, Filtered, MaxTokens, Other, Suspended, ToolUse};
    let end = |finish, usage| Event::Finished(Arc::new(Finished { usage, ..Finished::new(finish) }));
    let mut all = vec![end(EndTurn, cost(settings))];
    if settings.usage {
        all.push(end(EndTurn, None));
    }
    if settings.finishes {
        all.extend(
            [ToolUse, MaxTokens, Filtered, Suspended, Other].map(|finish| end(finish, cost(settings))),
        );
    }
    all
}

/// How a response fails.
pub(super) fn failures(settings: &TurnSettings) -> Vec<Event> {
    let usage = cost(settings).filter(|_| !settings.usage);
    let mut all = vec![ModelError { usage, ..ModelError::new(Failure::Connection, "failed") }];
    if settings.refusals {
        let failed = |kind| ModelError { usage: cost(settings), ..ModelError::new(kind, "failed") };
        let limited = |ms| ModelError { retry_after_ms: Some(ms), ..failed(Failure::RateLimit) };
        all.extend([
            failed(Failure::Auth),
            failed(Failure::ContextOverflow),
            limited(RETRY_AFTER_MS),
            limited(u64::MAX),
        ]);
    }
    all.into_iter().map(|error| Event::Failed(Arc::new(error))).collect()
}

fn recoveries(settings: &TurnSettings) -> Vec<Event> {
    let remedy = |strategy: &str, progress, usage| {
        let strategy = strategy.into();
        Recovery::Retry(Arc::new(Remedy { strategy, progress, instead: None, for_turn: false, usage }))
    };
    let mut all = vec![Recovery::Decline, remedy("shorter", true, settings.usage.then_some(COST))];
    if settings.refusals {
        all.push(remedy("same", false, None));
        all.push(Recovery::End(Arc::new(ModelError::new(Failure::Unknown, "hopeless"))));
    }
    all.into_iter().map(Event::Recovered).collect()
}

/// The answers to a question about the turn; none to an attempt.
pub(super) fn answers(question: &Question, settings: &TurnSettings) -> Vec<Event> {
    let or_fails = |yes: Vec<Event>, no: Vec<Event>| match settings.refusals {
        true => [yes, no, vec![Event::HookFailed(hook())]].concat(),
        false => yes,
    };
    let proceed =
        |messages| Event::Gated(Gated::Proceed(Arc::new(Proceed { messages, ..Proceed::default() })));
    let go_on = |messages: Vec<_>| Event::Stopped(StopVerdict::Continue(messages.into()));
    match question {
        Question::Gate { .. } => or_fails(
            vec![proceed(Vec::new())],
            vec![proceed(vec![text_content("gate").into()]), Event::Gated(Gated::Block("no".into()))],
        ),
        Question::Recover { .. } => or_fails(recoveries(settings), Vec::new()),
        Question::Stop { .. } => or_fails(
            vec![Event::Stopped(StopVerdict::End), go_on(vec![text_content("go on").into()])],
            vec![go_on(Vec::new())],
        ),
        Question::Timer { timer: Timer::Backoff(_), .. } => vec![Event::BackoffOver],
        Question::Timer { timer: Timer::TurnWait(_), .. } => vec![Event::WaitOver],
        _ => Vec::new(),
    }
}

/// What may wait when the turn looks; `inside`: what the turn itself left for its next step.
pub(super) fn pending(left: &TurnSettings, inside: bool) -> Vec<Pending> {
    let nothing = Pending { inside, ..Pending::default() };
    let mut all = vec![nothing];
    let mut offer = |times: u32, pending: Pending| {
        if times > 0 {
            all.push(pending)
        }
    };
    offer(left.steer, Pending { steered: true, ..nothing });
    offer(left.notify, Pending { outside: true, ..nothing });
    offer(left.deliver, Pending { inside: true, ..nothing });
    offer(left.pause, Pending { paused: true, ..nothing });
    offer(left.pause.min(left.steer), Pending { paused: true, steered: true, ..nothing });
    offer(left.wait, Pending { wait_ms: 100, ..nothing });
    all
}
