//! For hosts: output that was not finalized stays with them (C11). It reaches neither journal nor event nor history.
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use machine_core::ask::Executed;
use machine_core::ids::CallId;
use machine_core::message::{Content, Part, keep_output};
use machine_core::outcome::{Outcome, ToolResult};

/// What a host keeps for its finalizer.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// Output of executions that run.
    pieces: BTreeMap<CallId, Pieces>,
    /// What the execution that just ended brought, until its finalizer is asked.
    result: Option<(CallId, ToolResult)>,
}

#[derive(Clone, Debug, Default)]
struct Pieces {
    parts: Vec<Part>,
    chars: usize,
}

impl Kept {
    /// Keeps output on the way, up to what the model may read of it (V15).
    pub fn output(&mut self, call: CallId, output: &Content, limit: usize) {
        let Pieces { parts, chars } = self.pieces.entry(call).or_default();
        keep_output(parts, chars, output, limit);
    }

    /// Keeps what an execution brought; gives what the engine may know of it. Of one that was stopped the output so
    /// far is kept too (X10).
    pub fn executed(&mut self, call: CallId, end: Executed, stopped: bool) -> Executed {
        let so_far = self.pieces.remove(&call).unwrap_or_default().parts;
        let failure = |text: &machine_core::Text, told: Executed| {
            let output = so_far.iter().cloned().chain([Part::text(text.clone())]).collect();
            (ToolResult { is_error: true, output, ..ToolResult::default() }, told)
        };
        let (kept, told) = match end {
            Executed::Done(result) => {
                let output = match stopped && result.is_error {
                    true => so_far.into_iter().chain(result.output.iter().cloned()).collect(),
                    false => result.output.clone(),
                };
                let (is_error, fatal, stop_turn) = (result.is_error, result.fatal, result.stop_turn.clone());
                let bare = ToolResult { is_error, fatal, stop_turn, ..ToolResult::default() };
                (ToolResult { output, ..(*result).clone() }, Executed::Done(Arc::new(bare)))
            }
            Executed::Panicked(why) => failure(&why, Executed::Panicked("".into())),
            Executed::Malformed(why) => failure(&why, Executed::Malformed("".into())),
            Executed::Nothing => {
                (ToolResult { is_error: true, output: so_far, ..ToolResult::default() }, Executed::Nothing)
            }
        };
        self.result = Some((call, kept));
        told
    }

    /// What the finalizer of this call gets; none if it died with another process. What never ran, and what brought
    /// nothing, has nothing to lose.
    pub fn take(
        &mut self,
        call: CallId,
        outcome: &Outcome,
        asked: Option<&Arc<ToolResult>>,
    ) -> Option<ToolResult> {
        if let Some((_, result)) = self.result.take_if(|(of, _)| *of == call) {
            return Some(result);
        }
        if let Some(result) = asked {
            return Some((**result).clone());
        }
        match outcome {
            Outcome::Ok | Outcome::Error { .. } => None,
            Outcome::Denied { .. } | Outcome::NotStarted { .. } | Outcome::Unknown => {
                Some(ToolResult::default())
            }
            Outcome::Cancelled { .. } | Outcome::TimedOut { .. } => Some(ToolResult::default()),
        }
    }

    /// Nobody will finalize it: it was answered without its output.
    pub fn forget(&mut self) {
        self.result = None;
    }
}
