//! What comes after a step: the first row that holds decides (T13).
//!
//! Fault and abort are states and never get here. The step limit is looked at where another step would begin: a
//! final answer in the last allowed step completes the turn.
use machine_core::Text;
use machine_core::config::{AtStepLimit, BudgetReset, Config, TurnLimits};
use machine_core::drain::Pending;
use machine_core::event::EndReason;
use machine_core::ids::CallId;
use machine_core::usage::Usage;

use crate::state::{Then, Turn};

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another step, with everything that waits.
    Step,
    /// The last step, without tools (T12).
    Close,
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
        let at_limit = self.is_at_limit(&config.turn) && !resets_budget(&config.turn, pending);
        match (then, pending) {
            (Then::GoOn, Pending { paused: true, .. }) => Next::End(EndReason::Paused),
            (Then::Final, Pending { paused: true, .. }) => self.completed(None),
            (Then::End(reason), _) => Next::End(reason.clone()),
            // A final answer completes the turn; what waits has the budget of the next (U04).
            (Then::Final, _) if self.spends(None, &config.turn) => self.completed(None),
            (_, _) if stopped_by.is_some() && config.turn.stop_first => self.completed(stopped_by.cloned()),
            (_, Pending { steered: true, .. }) if !at_limit => Next::Step,
            (_, _) if stopped_by.is_some() => self.completed(stopped_by.cloned()),
            (Then::GoOn, _) if at_limit && config.turn.at_step_limit == AtStepLimit::ClosingStep => Next::Close,
            (Then::GoOn, _) if at_limit => Next::End(EndReason::StepLimit),
            (Then::GoOn, _) => Next::Step,
            (Then::Final, _) if at_limit => self.completed(None),
            (Then::Final, Pending { outside: true, .. } | Pending { inside: true, .. }) => Next::Step,
            (Then::Final, Pending { wait_ms: ms @ 1.., .. }) if !consulted && !self.waited => Next::Wait(ms),
            (Then::Final, _) if config.ask.stop && !consulted => Next::Consult,
            (Then::Final, _) => self.completed(None),
        }
    }

    fn is_at_limit(&self, limits: &TurnLimits) -> bool {
        limits.max_steps.is_some_and(|max| self.responses - self.budget_from >= max)
    }

    /// Whether the known tokens of the turn pass their limit, together with those of this attempt (U04).
    pub(crate) fn spends(&self, attempt: Option<Usage>, limits: &TurnLimits) -> bool {
        let total = self.usage.total().saturating_add(attempt.map_or(0, Usage::total));
        limits.max_tokens.is_some_and(|max| total > max)
    }

    /// `MaxTokens` is sticky: it replaces `Completed`, and only that (T10).
    fn completed(&self, stopped_by: Option<(CallId, Text)>) -> Next {
        if self.truncated {
            return Next::End(EndReason::MaxTokens);
        }
        Next::End(EndReason::Completed { stopped_by })
    }
}

/// Whether what waits gives the turn its steps again (T12).
pub(crate) fn resets_budget(limits: &TurnLimits, pending: Pending) -> bool {
    match limits.budget_reset {
        BudgetReset::Steered => pending.steered,
        BudgetReset::Nothing => false,
        BudgetReset::Notifications => pending.steered || pending.outside,
    }
}
