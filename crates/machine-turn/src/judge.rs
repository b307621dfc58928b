//! What a finished response means. Looked at in this order: filtered, max tokens, empty (T11).
use machine_core::config::{OnCut, TurnLimits};
use machine_core::event::EndReason;
use machine_core::outcome::SkipCode;
use machine_core::response::Finish;

use crate::attempt::Attempt;
use crate::state::{Then, Turn};

/// What to do with a finished response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is empty: a failed attempt with its own count.
    Empty,
    /// There is nothing to commit; the turn ends.
    End(EndReason),
    /// Commit it. Its calls run, or are answered with `skip`.
    Commit {
        /// Why its calls may not run.
        skip: Option<SkipCode>,
        /// What it means for the turn.
        then: Then,
    },
}

impl Turn {
    /// Judges a response and keeps count of cut ones (T09, T10).
    pub(crate) fn judge(&mut self, attempt: &Attempt, finish: Finish, limits: &TurnLimits) -> Verdict {
        self.truncated |= finish == Finish::MaxTokens;
        let (calls, content) = (attempt.has_calls(), attempt.has_calls() || attempt.is_visible());
        let cut = match finish {
            Finish::Filtered => return ending(content, calls, SkipCode::Filtered, EndReason::Filtered),
            // Whatever a closing step says, it is the last (T12).
            _ if self.closing && (content || finish == Finish::MaxTokens) => {
                return ending(content, calls, SkipCode::Limit, EndReason::StepLimit);
            }
            Finish::MaxTokens if !content => return Verdict::End(EndReason::MaxTokens),
            _ if !content => return Verdict::Empty,
            Finish::MaxTokens => Some((SkipCode::Truncated, EndReason::MaxTokens)),
            Finish::Suspended => Some((SkipCode::Suspended, EndReason::Suspended)),
            Finish::Other if calls && limits.run_calls_of_other => None,
            Finish::Other => Some((SkipCode::Other, EndReason::Other)),
            // Calls decide whether the turn goes on, not the reason (T07).
            Finish::EndTurn | Finish::ToolUse => None,
        };
        self.truncated_in_row = if cut.is_some() && calls { self.truncated_in_row + 1 } else { 0 };
        let last = limits.on_cut == OnCut::End || self.truncated_in_row >= limits.truncated;
        match cut {
            Some((skip, end)) if !calls || last => ending(content, calls, skip, end),
            _ if calls && self.spends(attempt.usage, limits) => {
                ending(content, calls, SkipCode::Budget, EndReason::BudgetLimit)
            }
            Some((skip, _)) => Verdict::Commit { skip: Some(skip), then: Then::GoOn },
            None if calls => Verdict::Commit { skip: None, then: Then::GoOn },
            None => Verdict::Commit { skip: None, then: Then::Final },
        }
    }
}

fn ending(content: bool, calls: bool, skip: SkipCode, end: EndReason) -> Verdict {
    if !content {
        return Verdict::End(end);
    }
    Verdict::Commit { skip: calls.then_some(skip), then: Then::End(end) }
}
