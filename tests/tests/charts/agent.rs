//! The agent machine's variants.
use machine_agent::{Event, State};

every!(states: State {
    State::Ready => "Ready",
    State::Waiting => "Waiting",
    State::Held(_) => "Held",
    State::Screening(_) => "Screening",
    State::Active(_) => "Active",
    State::Aborting(_) => "Aborting",
    State::Maintaining(_) => "Maintaining",
    State::Closing(_) => "Closing",
    State::Closed => "Closed",
    State::Faulted { .. } => "Faulted",
});

every!(events: Event {
    Event::Submit(_) => "Submit",
    Event::Notify(_) => "Notify",
    Event::Inject(_) => "Inject",
    Event::Remind(_) => "Remind",
    Event::Steer(_) => "Steer",
    Event::Withdraw(_) => "Withdraw",
    Event::Replace(..) => "Replace",
    Event::Consume(_) => "Consume",
    Event::Abort(_) => "Abort",
    Event::Pause => "Pause",
    Event::Resume { .. } => "Resume",
    Event::Maintain => "Maintain",
    Event::Maintained { .. } => "Maintained",
    Event::Close => "Close",
    Event::Screened(..) => "Screened",
    Event::ScreenFailed(..) => "ScreenFailed",
    Event::MaintainFailed(_) => "MaintainFailed",
    Event::Drain => "Drain",
    Event::Own(_) => "Own",
    Event::TurnEnded(_) => "TurnEnded",
    Event::Lingers { .. } => "Lingers",
    Event::BackgroundEnded { .. } => "BackgroundEnded",
    Event::LateResult { .. } => "LateResult",
    Event::CallEnded(_) => "CallEnded",
    Event::Crash { .. } => "Crash",
    Event::Fault { .. } => "Fault",
});
