//! The model as the host calls it.
use std::pin::Pin;

use machine_adapter::Request;
use machine_core::Text;
use machine_core::ask::Piece;
use machine_core::ids::AskId;
use machine_core::response::{Finished, ModelError, ModelEvent};
use machine_core::usage::Usage;
use tokio::sync::mpsc;

/// A future that an object-safe trait can return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A model. It streams into `out` and returns how the response ended, so that the end cannot be forgotten (T08).
///
/// The future is dropped when the attempt is withdrawn: that is how a request is cancelled (M11). A panic is a
/// failed attempt (H03). A closure of the same shape is a model too.
pub trait Model: Send + Sync + 'static {
    /// Makes one request. Errors are classified here, what to do about them is decided by the engine (M04).
    fn call(&self, request: Request, out: ModelOut) -> BoxFuture<'_, Result<Finished, ModelError>>;

    /// Which model answers this request, and whose it is. It is asked only where somebody looks. Default: the one that the
    /// settings name; whose is not known.
    fn identity(&self, request: &Request) -> ModelIdentity {
        let model = Some(&request.settings.model).filter(|model| !model.is_empty());
        ModelIdentity { provider: None, model: model.cloned() }
    }
}

/// What a log shows of a model. What is not known is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelIdentity {
    /// As the log's conventions spell it: `anthropic`, `openai` ([`names::PROVIDER`](crate::names::PROVIDER)).
    pub provider: Option<Text>,
    /// As its provider calls it ([`names::REQUEST_MODEL`](crate::names::REQUEST_MODEL)).
    pub model: Option<Text>,
}

impl<F, Fut> Model for F
where
    F: Fn(Request, ModelOut) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Finished, ModelError>> + Send + 'static,
{
    fn call(&self, request: Request, out: ModelOut) -> BoxFuture<'_, Result<Finished, ModelError>> {
        Box::pin(self(request, out))
    }
}

/// Where a model's stream goes. It is bounded: a send waits until the agent has taken what came before.
#[derive(Clone, Debug)]
pub struct ModelOut {
    ask: AskId,
    to: mpsc::Sender<Inward>,
}

/// A piece of an answer on its way to the driver.
pub(crate) type Inward = (AskId, Piece);

impl ModelOut {
    pub(crate) fn new(ask: AskId, to: mpsc::Sender<Inward>) -> Self {
        Self { ask, to }
    }

    /// Visible text.
    pub async fn text(&self, text: impl Into<Text>) {
        self.event(ModelEvent::Text(text.into())).await;
    }

    /// Reasoning.
    pub async fn thinking(&self, text: impl Into<Text>) {
        self.event(ModelEvent::Thinking { text: text.into(), signature: None }).await;
    }

    /// A call begins: the provider's position and id, and the tool.
    pub async fn call_start(&self, index: u32, id: impl Into<Text>, tool: impl Into<Text>) {
        self.event(ModelEvent::CallStart { index, id: id.into(), tool: tool.into() }).await;
    }

    /// More arguments of the call at this position.
    pub async fn call_args(&self, index: u32, piece: impl Into<Text>) {
        self.event(ModelEvent::CallArgs { index: Some(index), piece: piece.into() }).await;
    }

    /// A whole call.
    pub async fn call(&self, index: u32, id: impl Into<Text>, tool: impl Into<Text>, args: impl Into<Text>) {
        self.call_start(index, id, tool).await;
        self.call_args(index, args).await;
    }

    /// Tokens so far; replaces what was reported before (U02).
    pub async fn usage(&self, usage: Usage) {
        self.event(ModelEvent::Usage(usage)).await;
    }

    /// Any piece of the stream (M01).
    pub async fn event(&self, event: ModelEvent) {
        // Nobody takes it only when the agent is gone, and then this future is about to be dropped.
        let _ = self.to.send((self.ask, Piece::Model(event))).await;
    }
}
