//! The tool-call machine's variants.
use machine_tool::{Event, State};

every!(states: State {
    State::Preparing => "Preparing",
    State::Authorizing(_) => "Authorizing",
    State::Queued(_) => "Queued",
    State::Attached(_) => "Attached",
    State::Cancelling { .. } => "Cancelling",
    State::Finalizing { .. } => "Finalizing",
    State::Working(_) => "Working",
    State::Stopping { .. } => "Stopping",
    State::Ending { .. } => "Ending",
    State::Deaf => "Deaf",
    State::Settled => "Settled",
});

every!(events: Event {
    Event::Prepared(_) => "Prepared",
    Event::Approved { .. } => "Approved",
    Event::Start => "Start",
    Event::Skip(_) => "Skip",
    Event::Executed(_) => "Executed",
    Event::Lost => "Lost",
    Event::Output(_) => "Output",
    Event::Progress(_) => "Progress",
    Event::Detached(_) => "Detached",
    Event::Finalized(_) => "Finalized",
    Event::HookFailed(_) => "HookFailed",
    Event::TimeUp => "TimeUp",
    Event::GraceOver => "GraceOver",
    Event::Cancel(_) => "Cancel",
    Event::Abort(_) => "Abort",
    Event::Steered => "Steered",
    Event::Awaited { .. } => "Awaited",
    Event::Hurry => "Hurry",
    Event::Crash { .. } => "Crash",
    Event::Fault => "Fault",
});
