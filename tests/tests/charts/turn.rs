//! The turn machine's variants.
use machine_turn::{Event, State};

every!(states: State {
    State::Gating => "Gating",
    State::Requesting(_) => "Requesting",
    State::Receiving(_) => "Receiving",
    State::Recovering { .. } => "Recovering",
    State::Backoff(_) => "Backoff",
    State::Running(_) => "Running",
    State::Aborting(_) => "Aborting",
    State::Draining { .. } => "Draining",
    State::Waiting { .. } => "Waiting",
    State::Stopping => "Stopping",
    State::Ended(_) => "Ended",
});

every!(events: Event {
    Event::Gated(_) => "Gated",
    Event::Model(_) => "Model",
    Event::Finished(_) => "Finished",
    Event::Failed(_) => "Failed",
    Event::IdleOver => "IdleOver",
    Event::Recovered(_) => "Recovered",
    Event::BackoffOver => "BackoffOver",
    Event::BatchDone { .. } => "BatchDone",
    Event::Repeated => "Repeated",
    Event::FatalCall(_) => "FatalCall",
    Event::Stirred => "Stirred",
    Event::WaitOver => "WaitOver",
    Event::Pending(_) => "Pending",
    Event::Stopped(_) => "Stopped",
    Event::HookFailed(_) => "HookFailed",
    Event::Abort(_) => "Abort",
    Event::Hurry => "Hurry",
    Event::Crash { .. } => "Crash",
    Event::Fault(_) => "Fault",
});
