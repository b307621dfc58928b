//! What a tool sees of the world while it runs.
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use machine_core::Text;
use machine_core::ask::{By, Cause, Piece, WithdrawnBecause};
use machine_core::ids::{AskId, CallId};
use machine_core::message::{Content, Part, text_content};
use machine_core::outcome::ToolResult;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::inside::Inside;
use crate::limit::ModelLimit;
use crate::model::Inward;
use crate::tool::ToolError;

/// One call's surroundings. A clone means the same call.
#[derive(Clone, Debug)]
pub struct ToolCx {
    call: CallId,
    ask: AskId,
    to: mpsc::Sender<Inward>,
    stop: Arc<Stop>,
    grace: Duration,
    inside: Inside,
    limit: Option<ModelLimit>,
}

/// How a call is told to stop.
#[derive(Debug)]
pub(crate) struct Stop {
    token: CancellationToken,
    /// It was answered without its outcome.
    over: CancellationToken,
    why: OnceLock<Stopped>,
}

/// Why a call must stop, and how long its outcome still counts (X03).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Why.
    pub why: WithdrawnBecause,
    /// From the moment of stopping. A child agent must be done sooner (H04).
    pub grace: Duration,
}

impl ToolCx {
    pub(crate) fn new(
        (call, ask): (CallId, AskId),
        to: mpsc::Sender<Inward>,
        stop: Arc<Stop>,
        grace: Duration,
        (inside, limit): (Inside, Option<ModelLimit>),
    ) -> Self {
        Self { call, ask, to, stop, grace, inside, limit }
    }

    /// Which call this is.
    pub fn call(&self) -> CallId {
        self.call
    }

    /// Resolves when the call must stop. What it brings within the grace still counts.
    pub async fn cancelled(&self) -> Stopped {
        self.stop.token.cancelled().await;
        self.stop.reason()
    }

    /// Whether the call must stop.
    pub fn is_cancelled(&self) -> bool {
        self.stop.token.is_cancelled()
    }

    /// The token behind [`cancelled`](Self::cancelled), for whoever takes one.
    pub fn token(&self) -> &CancellationToken {
        &self.stop.token
    }

    /// Resolves when a stopped call was answered without its outcome: its grace was over, or somebody stopped the turn
    /// again (X04). What it brings now is told late, at most (X06).
    pub async fn given_up(&self) {
        self.stop.over.cancelled().await;
    }

    pub(crate) fn over(&self) -> &CancellationToken {
        &self.stop.over
    }

    /// How long the outcome of a stopped call counts (X03).
    pub fn grace(&self) -> Duration {
        self.grace
    }

    /// Says what the call does just now: for people, never for the model. It does not wait; when too much is on its
    /// way it is dropped (C07).
    pub fn progress(&self, text: impl Into<Text>) {
        let _ = self.to.try_send((self.ask, Piece::Progress(text.into())));
    }

    /// Output so far: it stands for the result if none comes (X10). Waits until the agent has taken it.
    pub async fn output(&self, text: impl Into<Text>) {
        self.piece(Piece::Output(text_content(text))).await;
    }

    /// The same with other parts.
    pub async fn output_parts(&self, parts: impl Into<Content>) {
        self.piece(Piece::Output(parts.into())).await;
    }

    /// From now on the call works in the background: this is its answer, and its end will be a notification (C08).
    pub async fn detach(&self, acknowledgement: impl Into<Text>) {
        self.piece(Piece::Detached(text_content(acknowledgement))).await;
    }

    /// A result that is one text: `cx.text(search(…).await?)`.
    pub fn text(&self, text: impl Into<Text>) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text(text))
    }

    /// A result of parts.
    pub fn parts(&self, output: impl Into<Vec<Part>>) -> Result<ToolResult, ToolError> {
        Ok(ToolResult { output: output.into(), ..ToolResult::default() })
    }

    /// A failure with its text.
    pub fn fail(&self, text: impl Into<Text>) -> Result<ToolResult, ToolError> {
        Err(ToolError::failed(text))
    }

    pub(crate) fn inside(&self) -> &Inside {
        &self.inside
    }

    pub(crate) fn limit(&self) -> Option<&ModelLimit> {
        self.limit.as_ref()
    }

    async fn piece(&self, piece: Piece) {
        // Nobody takes it only when the agent is gone, and then this future is about to be dropped.
        let _ = self.to.send((self.ask, piece)).await;
    }
}

impl Stop {
    /// It stops with its agent.
    pub(crate) fn under(agent: &CancellationToken) -> Arc<Self> {
        Arc::new(Self { token: agent.child_token(), over: agent.child_token(), why: OnceLock::new() })
    }

    /// The call must stop; the first reason counts (X01). The second time its time is over.
    pub(crate) fn fire(&self, why: WithdrawnBecause, grace: Duration) {
        if self.why.set(Stopped { why, grace }).is_err() {
            self.over.cancel();
        }
        self.token.cancel();
    }

    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// The agent's end needs no words.
    fn reason(&self) -> Stopped {
        self.why.get().cloned().unwrap_or_else(|| Stopped {
            why: WithdrawnBecause::Cancelled(Cause::by(By::Shutdown)),
            grace: Duration::ZERO,
        })
    }
}
