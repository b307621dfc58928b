//! The tool-call machine.
use std::sync::Arc;

use machine_core::access::Access;
use machine_core::ask::{Approval, By, Cause, Executed, HookError, HookFailure, Plan, Prepared};
use machine_core::ids::CallId;
use machine_core::machine::Machine;
use machine_core::message::{Content, Part};
use machine_core::outcome::{ErrorCode, Outcome, Settlement, SkipCode, ToolResult};
use machine_testkit::chart::{Chart, Domain, NoChart, recover};
use machine_tool::{Call, Ctx, Event, Signal, State, answer, prepare};

use super::{Drawable, LIMIT};

pub(super) const DRAWABLE: Drawable = Drawable {
    name: "call",
    title: "The tool-call machine",
    about: "\
One call's life, from preparation to the end of its work. A call is *answered* once: its result is in the history. It is
*ended* once: its work is over, or was declared gone. Below `Open` it is neither; below `Lingering` it is answered and
still at work, in the background (`Detached`) or because it did not stop when it was told to (`Deaf`); `Settled` is both.

A finalizer is what rewrites results before anyone sees them. Where an event leads to `Finalizing` (or `Ending`) as well
as to `Settled`, the guard is whether the host has one.",
    chart: call,
};

/// The chart of the tool-call machine, with and without a finalizer.
pub fn call() -> Result<Chart, NoChart> {
    let plain = World { finalize: false, steered: false };
    recover(&[World { steered: true, ..plain }, World { finalize: true, ..plain }, plain], LIMIT)
}

/// The world around a call.
struct World {
    finalize: bool,
    /// Whether a prompt joined the turn before the call could start.
    steered: bool,
}

impl Domain for World {
    type Data = Call;
    type Event = Event;
    type Signal = Signal;

    const NAME: &'static str = "call";

    fn starts(&self) -> Vec<(&'static str, Machine<Call>)> {
        let id = CallId { branch: 1, turn: 1, step: 1, index: 0 };
        let call = Call { id, tool: "tool".into(), args: "{}".into() };
        let known = Settlement::bare(Outcome::error(ErrorCode::BadJson));
        let mut signals = Vec::new();
        vec![
            ("prepare", prepare(call.clone(), &mut self.context(&mut signals))),
            ("answer", answer(call, known, &mut self.context(&mut signals))),
        ]
    }

    fn events(&self, machine: &Machine<Call>) -> Vec<Event> {
        let offered = |event: &Event| !matches!(event, Event::Output(_)) || !has_output(machine.state());
        samples().into_iter().filter(offered).collect()
    }

    fn context<'c>(&'c self, signals: &'c mut Vec<Signal>) -> Ctx<'c> {
        Ctx {
            signals,
            finalize: self.finalize,
            grace_ms: 2_500,
            output_chars: 100,
            progress_chars: 100,
            steered: self.steered,
        }
    }
}

/// One piece of output is enough.
fn has_output(state: &State) -> bool {
    match state {
        State::Attached(run) | State::Cancelling { run, .. } => !run.output.is_empty(),
        State::Working(run) | State::Stopping { run, .. } => !run.output.is_empty(),
        State::Preparing | State::Authorizing(_) | State::Queued(_) | State::Finalizing { .. } => false,
        State::Ending { .. } | State::Deaf | State::Settled => false,
    }
}

/// Every kind of event, with every payload that a row could tell apart.
fn samples() -> Vec<Event> {
    let cause = Cause::by(By::User);
    let content: Content = Arc::from([Part::text("out")]);
    let mut events: Vec<_> = prepared().into_iter().map(Event::Prepared).collect();
    events.extend([
        approved(Approval::Granted),
        approved(Approval::Denied("no".into())),
        approved(Approval::Expired),
        Event::Start,
        Event::Skip(SkipCode::Busy),
        Event::Output(content.clone()),
        Event::Progress("half".into()),
    ]);
    events.extend(executed().into_iter().map(Event::Executed));
    events.extend([
        Event::Lost,
        Event::Detached(content),
        Event::Finalized(Arc::new(ToolResult::text("rewritten"))),
        Event::HookFailed(HookError::new(HookFailure::Failed, "hook")),
        Event::TimeUp,
        Event::GraceOver,
        Event::Cancel(cause.clone()),
        Event::Abort(cause),
        Event::Steered,
        Event::Awaited { now: 0 },
        Event::Hurry,
        Event::Crash { left: true },
        Event::Crash { left: false },
        Event::Fault,
    ]);
    events
}

fn approved(approval: Approval) -> Event {
    Event::Approved { approval, rule: None }
}

fn prepared() -> Vec<Prepared> {
    let plan = Plan { access: Access::None, timeout_ms: Some(1_000), ..Plan::default() };
    vec![
        Prepared::Ready(Arc::new(Plan { approval: true, ..plan.clone() })),
        Prepared::Ready(Arc::new(Plan { approval: true, cut_by_steer: true, ..plan.clone() })),
        Prepared::Ready(Arc::new(Plan { cut_by_steer: true, ..plan.clone() })),
        Prepared::Ready(Arc::new(plan)),
        Prepared::UnknownTool("no such tool".into()),
        Prepared::InvalidArguments("no such argument".into()),
        Prepared::Denied("no".into()),
        Prepared::Skipped("not now".into()),
        Prepared::Answered(Arc::new(ToolResult::text("known"))),
    ]
}

fn executed() -> Vec<Executed> {
    vec![
        Executed::Done(Arc::new(ToolResult::text("done"))),
        Executed::Done(Arc::new(ToolResult::error("failed"))),
        Executed::Panicked("panic".into()),
        Executed::Malformed("no JSON".into()),
        Executed::Nothing,
    ]
}
