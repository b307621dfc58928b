//! How a call is answered: from what was prepared, decided, executed, stopped or rewritten.
use alloc::sync::Arc;

use machine_core::Text;
use machine_core::ask::{Approval, AtTurnEnd, Cause, Executed, HookError, Prepared};
use machine_core::outcome::{ErrorCode, Outcome as Status, Settlement, SkipCode, ToolResult};

use crate::state::{Run, Stop};

pub(crate) fn refused(refusal: &Prepared) -> Settlement {
    match refusal {
        Prepared::UnknownTool(why) => {
            Settlement::explained(Status::error(ErrorCode::UnknownTool), why.clone())
        }
        Prepared::InvalidArguments(why) => {
            Settlement::explained(Status::error(ErrorCode::InvalidArguments), why.clone())
        }
        Prepared::Denied(reason) => Settlement::bare(Status::Denied { reason: reason.clone() }),
        Prepared::Skipped(why) => Settlement::explained(Status::skipped(SkipCode::Hook), why.clone()),
        Prepared::Answered(result) => Settlement::of(result),
        Prepared::Ready(_) => unreachable!("C02: a call that is ready is not refused"),
    }
}

pub(crate) fn hook_failed(error: &HookError) -> Settlement {
    Settlement::explained(Status::error(ErrorCode::HookFailed), error.message.clone())
}

pub(crate) fn unapproved(approval: &Approval) -> Settlement {
    Settlement::bare(match approval {
        Approval::Denied(reason) => Status::Denied { reason: reason.clone() },
        Approval::Expired => Status::skipped(SkipCode::ApprovalExpired),
        Approval::Granted => unreachable!("C04: a call that is approved is not refused"),
    })
}

pub(crate) fn ended(end: &Executed) -> Settlement {
    match end {
        Executed::Done(result) => Settlement::of(result),
        Executed::Panicked(why) => Settlement::explained(Status::error(ErrorCode::Panicked), why.clone()),
        Executed::Malformed(why) => {
            Settlement::explained(Status::error(ErrorCode::MalformedResult), why.clone())
        }
        Executed::Nothing => Settlement::bare(Status::error(ErrorCode::NoResult)),
    }
}

/// An error that comes back after a stop says nothing about the stop: the engine's own state decides (X08). Its
/// text is kept as output.
pub(crate) fn stopped_with(mut run: Run, stop: &Stop, end: &Executed) -> Settlement {
    if let Some(result) = ended(end).result {
        run.output.extend(result.output.iter().cloned());
    }
    run.stopped(stop)
}

/// The outcome stays; the finalizer may set a stop, or call a failure fatal, and not take that back (C11).
pub(crate) fn finalized(settlement: &Settlement, result: &Arc<ToolResult>) -> Settlement {
    let kept = settlement.result.as_ref().and_then(|before| before.stop_turn.clone());
    let stop_turn = result.stop_turn.clone().or(kept);
    let fatal = result.fatal || settlement.is_fatal();
    let result = match stop_turn == result.stop_turn && fatal == result.fatal {
        true => result.clone(),
        false => Arc::new(ToolResult { stop_turn, fatal, ..(**result).clone() }),
    };
    Settlement { outcome: settlement.outcome.clone(), result: Some(result), cause: settlement.cause.clone() }
}

pub(crate) fn cancelled(may_have_run: bool, cause: &Arc<Cause>) -> Settlement {
    Settlement { outcome: Status::Cancelled { may_have_run }, result: None, cause: Some(cause.clone()) }
}

/// A prompt joined the turn before it started (C14).
pub(crate) fn steered() -> Settlement {
    Settlement::bare(Status::skipped(SkipCode::Steer))
}

/// What the model is told about the end of the turn: one fixed sentence a choice (C15).
pub(crate) fn at_turn_end(choice: AtTurnEnd) -> Option<Text> {
    match choice {
        AtTurnEnd::GoOn => None,
        AtTurnEnd::Wait { ms } => Some(alloc::format!("This turn waits up to {ms} ms for it.").into()),
        AtTurnEnd::Cancel => Some("It is cancelled when this turn ends.".into()),
    }
}
