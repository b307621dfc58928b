//! What the host of an explored call says: every answer that a row could tell apart. Each source has its own word, so that
//! a monitor sees where an output comes from.
use std::sync::Arc;

use machine_core::access::Access;
use machine_core::ask::{Approval, AtTurnEnd, Executed, HookError, HookFailure, Plan, Prepared};
use machine_core::message::{Body, Content, Part};
use machine_core::outcome::{Settlement, ToolResult};

use super::CallSettings;

/// The execution's own words, at its end and on the way.
pub(super) const RAW: &str = "raw";
pub(super) const PIECE: &str = "piece";
/// The acknowledgement of a detached call.
pub(super) const ACK: &str = "ack";
/// The finalizer's words.
pub(super) const FINAL: &str = "final";
/// Final arguments.
pub(super) const ARGS: &str = "{\"final\":true}";
/// A progress text longer than may be shown.
pub(super) const PROGRESS: &str = "far too long";
pub(super) const PROGRESS_CHARS: usize = 4;
pub(super) const OUTPUT_CHARS: usize = 100;

pub(super) fn content(text: &str) -> Content {
    Arc::from([Part::text(text)])
}

/// How often a settlement says this.
pub(super) fn says(settlement: &Settlement, word: &str) -> usize {
    let parts = settlement.result.iter().flat_map(|result| &result.output);
    parts.filter(|part| matches!(&part.body, Body::Text(text) if &**text == word)).count()
}

pub(super) fn hook() -> Arc<HookError> {
    HookError::new(HookFailure::Failed, "hook")
}

pub(super) fn prepared(settings: &CallSettings) -> Vec<Prepared> {
    let timeout_ms = settings.timeout.then_some(1_000);
    let plan = Plan { args: Some(ARGS.into()), access: Access::None, timeout_ms, ..Plan::default() };
    let special = Plan {
        stop_batch: true,
        keep_access: true,
        at_turn_end: AtTurnEnd::Wait { ms: 100 },
        timeout_ms: None,
        ..plan.clone()
    };
    let mut plans = vec![plan.clone(), special];
    if settings.approve {
        plans.push(Plan { approval: true, ..plan.clone() });
    }
    if settings.steer > 0 {
        plans.push(Plan { cut_by_steer: true, ..plan.clone() });
        plans.push(Plan { cut_by_steer: true, approval: settings.approve, ..plan });
    }
    let mut all: Vec<_> = plans.into_iter().map(|plan| Prepared::Ready(Arc::new(plan))).collect();
    if settings.refusals {
        all.extend([
            Prepared::UnknownTool("no such tool".into()),
            Prepared::InvalidArguments("no such argument".into()),
            Prepared::Denied("no".into()),
            Prepared::Skipped("not now".into()),
            Prepared::Answered(Arc::new(ToolResult::text("known"))),
        ]);
    }
    all
}

pub(super) fn approvals() -> [Approval; 3] {
    [Approval::Granted, Approval::Denied("no".into()), Approval::Expired]
}

pub(super) fn executed(settings: &CallSettings) -> Vec<Executed> {
    let stops = ToolResult { stop_turn: Some("enough".into()), ..ToolResult::text(RAW) };
    let mut all = vec![stops, ToolResult::error(RAW)];
    if settings.refusals {
        all.push(ToolResult { fatal: true, ..ToolResult::error(RAW) });
    }
    let mut all: Vec<_> = all.into_iter().map(|result| Executed::Done(Arc::new(result))).collect();
    if settings.refusals {
        all.extend([
            Executed::Panicked("panic".into()),
            Executed::Malformed("no JSON".into()),
            Executed::Nothing,
        ]);
    }
    all
}
