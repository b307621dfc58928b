//! One session with a server: the handshake, its list of tools, and requests that are under way.
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use machine_core::ask::WithdrawnBecause;
use machine_host::{Stopped, ToolCx};
use rmcp::model::{
    ClientNotification, ClientRequest, CustomNotification, ListToolsRequest, PaginatedRequestParams,
    ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, RunningService, ServiceError};
use rmcp::transport::IntoTransport;
use rmcp::{ClientCacheConfig, RoleClient, ServiceExt};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use crate::handler::Handler;
use crate::list::{List, ListError};
use crate::plain;
use crate::status::Status;

/// The first request.
pub(crate) const INITIALIZE: &str = "initialize";

/// The request for tools.
pub(crate) const LIST: &str = "tools/list";

/// One session.
pub(crate) struct Session {
    peer: Peer<RoleClient>,
    /// Takes what the server sends.
    handler: Arc<Handler>,
    pub(crate) status: Arc<Status>,
    /// Dropped, it ends the session.
    service: Mutex<Option<RunningService<RoleClient, Arc<Handler>>>>,
}

/// A session and its tools.
pub(crate) type Begun = Result<(Arc<Session>, List), BeginError>;

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BeginError {
    /// It was silent for too long after this request.
    #[error("it does not answer `{0}`")]
    Silent(&'static str),
    #[error("it closed the connection and answered nothing: is it a server of MCP?")]
    Closed,
    /// What happened, in plain words.
    #[error("{0}")]
    Broke(String),
}

impl Session {
    /// The handshake, and the tools, within this time. Afterwards the server tells the status of changes.
    pub(crate) async fn begin<T, E, A>(transport: T, status: &Arc<Status>, within: Duration) -> Begun
    where
        T: IntoTransport<RoleClient, E, A>,
        E: Error + Send + Sync + 'static,
    {
        let handler = Arc::new(Handler::new(status.clone()));
        let begun = Instant::now();
        let service = timeout(within, handler.clone().serve(transport)).await;
        let service = service.map_err(|_| BeginError::Silent(INITIALIZE))?;
        let service = service.map_err(|error| plain::handshake(&error))?;
        let peer = service.peer().clone();
        // Who asks for the list wants to know what the server says now, and whether it is there at all.
        peer.set_response_cache_config(ClientCacheConfig::disabled()).await;
        let has_tools = service.peer_info().is_some_and(|info| info.capabilities.tools.is_some());
        let service = Mutex::new(Some(service));
        let session = Arc::new(Self { peer, handler, status: status.clone(), service });
        if !has_tools {
            return Ok((session, List::default()));
        }
        let listed = timeout(within.saturating_sub(begun.elapsed()), session.list()).await;
        let listed = listed.map_err(|_| BeginError::Silent(LIST))?;
        let listed =
            listed.map_err(|error| BeginError::Broke(format!("its tools cannot be listed: {error}")))?;
        Ok((session, listed))
    }

    /// All tools of the server.
    pub(crate) async fn list(self: &Arc<Self>) -> Result<List, ListError> {
        let mut list = List::default();
        loop {
            let params = PaginatedRequestParams::default().with_cursor(list.cursor());
            let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
            if list.add(self.clone().send(request, None).await?.answer().await?)? {
                return Ok(list);
            }
        }
    }

    /// Whether nothing can be sent any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.peer.is_transport_closed()
    }

    /// Ends it in order, if it ends in time.
    pub(crate) async fn close(&self, within: Duration) {
        let service = self.service.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut service) = service {
            let _ = service.close_with_timeout(within).await;
        }
    }

    /// Sends a request, whose progress is told to the call.
    pub(crate) async fn send(
        self: Arc<Self>,
        request: ClientRequest,
        cx: Option<&ToolCx>,
    ) -> Result<Pending, ServiceError> {
        let held = self.handler.hold().await;
        let handle = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await?;
        let alive = cx.map_or_else(Arc::default, |cx| self.handler.listen(handle.progress_token.clone(), cx));
        drop(held);
        Ok(Pending { handle: Some(handle), session: self, alive })
    }
}

/// A request that is under way. Dropped before its answer, as with its agent, it is cancelled.
pub(crate) struct Pending {
    handle: Option<RequestHandle<RoleClient>>,
    /// A session lasts as long as its requests.
    session: Arc<Session>,
    /// Progress came.
    alive: Arc<Notify>,
}

impl Pending {
    /// May be dropped and called again.
    pub(crate) async fn answer(&mut self) -> Result<ServerResult, ServiceError> {
        let Some(handle) = &mut self.handle else { return Err(ServiceError::TransportClosed) };
        let answer = (&mut handle.rx).await.unwrap_or(Err(ServiceError::TransportClosed));
        self.session.handler.forget(&handle.progress_token);
        self.handle = None;
        answer
    }

    /// Comes back when no progress came for this long.
    pub(crate) fn silence(&self, within: Duration) -> impl Future<Output = ()> + use<> {
        let alive = self.alive.clone();
        async move { while timeout(within, alive.notified()).await.is_ok() {} }
    }

    /// Tells the server. `rmcp` would forget the request with a cancellation of its own, and with it what the server still
    /// brings; so this one has no type. It does not wait: the server may have stopped reading.
    pub(crate) fn stop(&self, stopped: &Stopped) {
        let Some(handle) = &self.handle else { return };
        self.session.handler.forget(&handle.progress_token);
        let reason = match &stopped.why {
            WithdrawnBecause::Cancelled(cause) => cause.reason.as_deref().unwrap_or("it was cancelled"),
            WithdrawnBecause::TimedOut => "its time was up",
            WithdrawnBecause::Obsolete | WithdrawnBecause::Faulted => "it is no longer needed",
        };
        let params = serde_json::json!({ "requestId": handle.id, "reason": reason });
        let told = CustomNotification::new("notifications/cancelled", Some(params));
        let peer = handle.peer.clone();
        tokio::spawn(
            async move { peer.send_notification(ClientNotification::CustomNotification(told)).await },
        );
    }

    /// Nobody waits any more: `rmcp` forgets the request and tells the server.
    pub(crate) fn cancel(&mut self, reason: Option<String>) {
        let Some(handle) = self.handle.take() else { return };
        self.session.handler.forget(&handle.progress_token);
        // Without a runtime the session is over anyway.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(handle.cancel(reason));
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.cancel(None);
    }
}
