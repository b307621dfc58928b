//! What a server sends on its own: progress of calls, and that its list of tools changed.
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use machine_host::ToolCx;
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{NotificationContext, RoleClient};
use tokio::sync::{Notify, RwLock};

use crate::status::Status;

/// Takes what a server sends. What a server may ask of a client (sampling, roots, elicitation) is refused: none of it is
/// among the capabilities that are told.
pub(crate) struct Handler {
    calls: Mutex<HashMap<ProgressToken, Listener>>,
    /// Shared by whoever sends a request and does not know its token yet.
    sending: RwLock<()>,
    status: Arc<Status>,
}

struct Listener {
    cx: ToolCx,
    latest: f64,
    told: Option<Step>,
    alive: Arc<Notify>,
}

/// What a piece of progress says: its words, and how many hundredths of the whole are done; without a whole, how much is. Words
/// without a whole are told alone.
#[derive(PartialEq)]
struct Step(Option<String>, f64);

impl Handler {
    pub(crate) fn new(status: Arc<Status>) -> Self {
        Self { calls: Mutex::default(), sending: RwLock::default(), status }
    }

    /// Until it is dropped, progress waits: it may be of a request whose token is not known yet.
    pub(crate) async fn hold(&self) -> impl Drop + use<'_> {
        self.sending.read().await
    }

    /// Progress with this token is of this call. Gives what tells that some came.
    pub(crate) fn listen(&self, token: ProgressToken, cx: &ToolCx) -> Arc<Notify> {
        let alive = Arc::<Notify>::default();
        let listener =
            Listener { cx: cx.clone(), latest: f64::NEG_INFINITY, told: None, alive: alive.clone() };
        self.calls().insert(token, listener);
        alive
    }

    /// What still comes with this token is dropped (C07).
    pub(crate) fn forget(&self, token: &ProgressToken) {
        self.calls().remove(token);
    }

    /// Each notification comes in a task of its own, so an earlier one may come later: it says nothing any more. One that says
    /// what the one before it said is a sign of life, and nothing else: there are servers that send thousands.
    fn progress(&self, params: &ProgressNotificationParam) {
        let mut calls = self.calls();
        let Some(listener) = calls.get_mut(&params.progress_token) else { return };
        listener.alive.notify_one();
        if params.progress < listener.latest {
            return;
        }
        listener.latest = params.progress;
        let step = Step::of(params);
        if listener.told.as_ref() == Some(&step) {
            return;
        }
        listener.told = Some(step);
        listener.cx.progress(text(params));
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<ProgressToken, Listener>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Step {
    fn of(params: &ProgressNotificationParam) -> Self {
        let done = match params.total {
            Some(total) if total > 0.0 => (params.progress * 100.0 / total).floor(),
            None if params.message.is_some() => 0.0,
            _ => params.progress,
        };
        Self(params.message.clone(), done)
    }
}

/// What it is at, in the server's words if it has any.
fn text(params: &ProgressNotificationParam) -> String {
    let count = match params.total {
        Some(total) => format!("{}/{total}", params.progress),
        None => params.progress.to_string(),
    };
    match (&params.message, params.total) {
        (Some(message), Some(_)) => format!("{message} ({count})"),
        (Some(message), None) => message.clone(),
        (None, _) => count,
    }
}

impl ClientHandler for Handler {
    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        drop(self.sending.write().await);
        self.progress(&params);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.status.note_change();
    }

    fn get_info(&self) -> ClientConfig {
        let me = Implementation::new("agent-machine", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), me)
    }
}
