//! What comes after a step: the first row that holds decides (T13).
//!
//! Fault and abort are states and never get here. The step limit is looked at where another step would begin: a
//! final answer in the last allowed step completes the turn.
use machine_core::Text;
use machine_core::config::Config;
use machine_core::drain::Pending;
use machine_core::event::EndReason;
use machine_core::ids::CallId;

use crate::state::{Then, Turn};

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another step, with everything that waits.
    Step,
    /// Background calls are waited for, so many milliseconds (C15).
    Wait(u64),
    /// The stop hook is asked.
    Consult,
    /// The end.
    End(EndReason),
}

impl Turn {
    /// Decides, without changing anything.
    #[rustfmt::skip] // one row per decision
    pub(crate) fn after_step(&self, then: &Then, stopped_by: Option<&(CallId, Text)>, consulted: bool, pending: Pending, config: &Config) -> Next {
        let at_limit = config.turn.max_steps.is_some_and(|max| self.responses - self.budget_from >= max);
        match (then, pending) {
            (Then::GoOn, Pending { paused: true, .. }) => Next::End(EndReason::Paused),
            (Then::Final, Pending { paused: true, .. }) => self.completed(None),
            (Then::End(reason), _) => Next::End(reason.clone()),
            (_, Pending { steered: true, .. }) => Next::Step,
            (_, _) if stopped_by.is_some() => self.completed(stopped_by.cloned()),
            (Then::GoOn, _) if at_limit => Next::End(EndReason::StepLimit),
            (Then::GoOn, _) => Next::Step,
            (Then::Final, _) if at_limit => self.completed(None),
            (Then::Final, Pending { outside: true, .. } | Pending { inside: true, .. }) => Next::Step,
            (Then::Final, Pending { wait_ms: ms @ 1.., .. }) if !consulted && !self.waited => Next::Wait(ms),
            (Then::Final, _) if config.ask.stop && !consulted => Next::Consult,
            (Then::Final, _) => self.completed(None),
        }
    }

    /// `MaxTokens` is sticky: it replaces `Completed`, and only that (T10).
    fn completed(&self, stopped_by: Option<(CallId, Text)>) -> Next {
        if self.truncated {
            return Next::End(EndReason::MaxTokens);
        }
        Next::End(EndReason::Completed { stopped_by })
    }
}
