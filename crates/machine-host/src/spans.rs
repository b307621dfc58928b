//! What a log shows of an agent: spans for agent, turn, step, attempt and call, with their ids as fields.
use machine_adapter::Engine;
use machine_core::event::Event;
use machine_core::ids::{AttemptId, CallId};
use tracing::{Span, info_span, warn};

/// The spans that are open.
#[derive(Debug)]
pub(crate) struct Spans {
    agent: Span,
    turn: Span,
    step: Span,
}

impl Spans {
    /// Of an agent that may be in the middle of a turn.
    pub(crate) fn of(engine: &Engine) -> Self {
        let agent = info_span!("agent", branch = engine.agent().data().branch);
        let mut spans = Self { agent, turn: Span::none(), step: Span::none() };
        if let Some(turn) = engine.turn() {
            spans.turn = info_span!(parent: &spans.agent, "turn", id = %turn.data().id);
            spans.step = info_span!(parent: &spans.turn, "step", id = %turn.data().step_id());
        }
        spans
    }

    pub(crate) fn agent(&self) -> &Span {
        &self.agent
    }

    /// Something happened.
    pub(crate) fn see(&mut self, event: &Event) {
        match event {
            Event::TurnStarted { turn, .. } => {
                self.turn = info_span!(parent: &self.agent, "turn", id = %turn);
            }
            Event::TurnEnded(end) => {
                self.turn
                    .in_scope(|| tracing::debug!(reason = end.reason.name(), steps = end.steps, "ended"));
                (self.turn, self.step) = (Span::none(), Span::none());
            }
            Event::StepStarted { step } => {
                self.step = info_span!(parent: &self.turn, "step", id = %step);
            }
            Event::Faulted { cause } => self.agent.in_scope(|| warn!(%cause, "faulted")),
            Event::HookFailed { question, error } => {
                self.inner().in_scope(|| warn!(%question, %error, "a hook failed"));
            }
            _ => {}
        }
    }

    pub(crate) fn attempt(&self, attempt: AttemptId) -> Span {
        info_span!(parent: self.inner(), "attempt", id = %attempt)
    }

    pub(crate) fn call(&self, call: CallId, tool: &str) -> Span {
        info_span!(parent: self.inner(), "call", id = %call, tool)
    }

    /// The innermost one.
    pub(crate) fn inner(&self) -> &Span {
        [&self.step, &self.turn].into_iter().find(|span| !span.is_none()).unwrap_or(&self.agent)
    }
}
