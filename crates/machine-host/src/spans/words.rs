//! What is said of ends and failures: short words from closed lists.
use machine_core::event::TurnError;
use machine_core::outcome::{ErrorCode, Outcome};
use machine_core::response::{Failure, Finish};

/// Where nothing better is known, as the conventions say.
const OTHER: &str = "_OTHER";

/// An outcome's name.
pub(super) fn outcome(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::Error { .. } => "error",
        Outcome::Denied { .. } => "denied",
        Outcome::NotStarted { .. } => "not_started",
        Outcome::Cancelled { .. } => "cancelled",
        Outcome::TimedOut { .. } => "timed_out",
        Outcome::Unknown => "unknown",
    }
}

/// What failed, if the call did. What somebody stopped or denied did not.
pub(super) fn failed_call(outcome: &Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Ok | Outcome::Denied { .. } | Outcome::NotStarted { .. } | Outcome::Cancelled { .. } => None,
        Outcome::TimedOut { .. } => Some("timeout"),
        Outcome::Unknown => Some("lost"),
        Outcome::Error { code } => Some(match code {
            ErrorCode::Failed => "failed",
            ErrorCode::Panicked => "panicked",
            ErrorCode::NoResult => "no_result",
            ErrorCode::MalformedResult => "malformed_result",
            ErrorCode::UnknownTool => "unknown_tool",
            ErrorCode::InvalidArguments => "invalid_arguments",
            ErrorCode::BadJson => "bad_json",
            ErrorCode::IllegalName => "illegal_name",
            ErrorCode::HookFailed => "hook_failed",
            ErrorCode::Withheld => "withheld",
        }),
    }
}

/// How an attempt failed.
pub(super) fn failure(failure: Failure) -> &'static str {
    match failure {
        Failure::Connection => "connection",
        Failure::Timeout => "timeout",
        Failure::RateLimit => "rate_limit",
        Failure::Overloaded => "overloaded",
        Failure::ServerError => "server_error",
        Failure::StreamCut => "stream_cut",
        Failure::ContextOverflow => "context_overflow",
        Failure::InvalidRequest => "invalid_request",
        Failure::Auth => "auth",
        Failure::Quota => "quota",
        Failure::TooLarge => "too_large",
        Failure::Empty => "empty",
        Failure::Panicked => "panicked",
        Failure::Unknown => OTHER,
    }
}

/// Why a turn could not go on.
pub(super) fn failed_turn(error: &TurnError) -> &'static str {
    match error {
        TurnError::Model { error, .. } => failure(error.kind),
        TurnError::RateLimited { .. } => failure(Failure::RateLimit),
        TurnError::EmptyResponse { .. } => failure(Failure::Empty),
        TurnError::ContextOverflow { .. } => failure(Failure::ContextOverflow),
        TurnError::Gate(_) => "gate",
        TurnError::FatalCall { .. } => "fatal_call",
        TurnError::Faulted(_) => FAULTED,
    }
}

/// The journal failed.
pub(super) const FAULTED: &str = "faulted";

/// How a response ended, where its provider has no word for it. These are the conventions' words where they have one.
pub(super) fn finish(finish: Finish) -> &'static str {
    match finish {
        Finish::EndTurn => "stop",
        Finish::ToolUse => "tool_call",
        Finish::MaxTokens => "length",
        Finish::Filtered => "content_filter",
        Finish::Suspended => "suspended",
        Finish::Other => "other",
    }
}
