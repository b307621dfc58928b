//! The way to a server: its session as it is now, calls, and what is left when the server is gone.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use machine_core::Text;
use machine_core::outcome::ToolResult;
use machine_host::{ToolCx, ToolError};
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ServerResult};
use rmcp::service::ServiceError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout};

use crate::builder::Options;
use crate::child::{Child, LAST_WORDS, soon};
use crate::error::{OpenError, Output};
#[cfg(feature = "http")]
use crate::http::Address;
use crate::list::{List, ListError};
use crate::noted::Noted;
use crate::session::{BeginError, Begun, INITIALIZE, LIST, Session};
use crate::status::Status;
use crate::wire::Wire;
use crate::{plain, result};

/// How long a process may take to end once its input was closed.
const END_WITHIN: Duration = Duration::from_secs(2);

/// How a server is reached.
pub(crate) enum Via {
    Child(std::process::Command),
    Streams(Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>),
    #[cfg(feature = "http")]
    Http(Address),
}

/// This build reaches none.
#[cfg(not(feature = "http"))]
#[derive(Clone)]
pub(crate) enum Address {}

impl Via {
    fn address(&self) -> Option<Address> {
        match self {
            #[cfg(feature = "http")]
            Self::Http(address) => Some(address.clone()),
            Self::Child(_) | Self::Streams(..) => None,
        }
    }
}

/// One server. Over pipes its end is for good; behind an address it may only be away.
pub(crate) struct Connection {
    /// The server, in messages.
    pub(crate) name: Text,
    session: Mutex<Arc<Session>>,
    child: Mutex<Option<Child>>,
    /// Where it can be found again.
    address: Option<Address>,
    /// Over pipes: what it wrote besides messages.
    noted: Noted,
    /// One looks for it at a time: when it was not found last.
    looking: tokio::sync::Mutex<Option<Instant>>,
    /// It was closed, or its pipe is.
    gone: AtomicBool,
}

impl Connection {
    pub(crate) async fn open(via: Via, name: Text, within: Duration) -> Result<(Self, List), OpenError> {
        let status = Arc::<Status>::default();
        let address = via.address();
        let (mut child, noted) = (None, Noted::default());
        let begun = match via {
            Via::Child(command) => {
                let started = Child::spawn(command);
                let (started, read, write) =
                    started.map_err(|error| OpenError::Start { name: name.clone(), error })?;
                child = Some(started);
                Session::begin(Wire::new(read, write, noted.clone()), &status, within).await
            }
            Via::Streams(read, write) => {
                Session::begin(Wire::new(read, write, noted.clone()), &status, within).await
            }
            #[cfg(feature = "http")]
            Via::Http(address) => begin_at(&address, &status, within).await,
        };
        let (session, tools) = match begun {
            Ok(begun) => begun,
            Err(why) => return Err(refused(name, why, within, child, &noted).await),
        };
        let connection = Self {
            name,
            session: Mutex::new(session),
            child: Mutex::new(child),
            address,
            noted,
            looking: tokio::sync::Mutex::default(),
            gone: AtomicBool::new(false),
        };
        Ok((connection, tools))
    }

    /// How often its list of tools changed.
    pub(crate) fn changes(&self) -> u64 {
        self.session().status.changes()
    }

    /// All its tools.
    pub(crate) async fn list(&self) -> Result<List, ListError> {
        let session = self.session();
        let listed = session.list().await;
        if let Err(ListError::Request(error)) = &listed {
            self.note(&session, error);
        }
        listed
    }

    /// All its tools, of a server that may be away. The old session has half of the time, as it may hold what the server keeps
    /// for it. Where it has none a new one is begun: many a server forgets its sessions when it is restarted. Where it has
    /// them the doubt stays, since the stream that would tell of changes may have ended for good: the list is asked
    /// for before each step. Whoever waited while another one did not find it, does not look again.
    pub(crate) async fn find(&self, within: Duration) -> Result<List, BeginError> {
        let asked = Instant::now();
        let mut missed = self.looking.lock().await;
        let Some(address) = self.address.as_ref().filter(|_| !self.is_gone()) else {
            return Err(BeginError::Closed);
        };
        if missed.is_some_and(|missed| missed > asked) {
            return Err(BeginError::Silent(LIST));
        }
        let old = self.session();
        if let Ok(Ok(tools)) = timeout(within / 2, old.list()).await {
            return Ok(tools);
        }
        let begun = begin_at(address, &old.status.of_next_session(), within / 2).await;
        let (session, tools) = begun.inspect_err(|_| *missed = Some(Instant::now()))?;
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = session;
        Ok(tools)
    }

    /// One call. Stopped, it is cancelled at the server and waits for its outcome a while longer: what comes in time counts,
    /// what comes later is late (X03, X06).
    pub(crate) async fn call(
        &self,
        tool: &str,
        args: Text,
        cx: ToolCx,
        options: &Options,
    ) -> Result<ToolResult, ToolError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(serde_json::from_str(&args)?);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let (session, strays) = (self.session(), self.noted.strays());
        let mut pending = match session.clone().send(request, Some(&cx)).await {
            Ok(pending) => pending,
            Err(error) => return Err(self.failed(&session, &error).await),
        };
        let silence = pending.silence(options.call_within);
        let stopped = tokio::select! {
            biased;
            answer = pending.answer() => return self.outcome(&session, answer).await,
            stopped = cx.cancelled() => Some(stopped),
            () = silence => None,
        };
        let Some(stopped) = stopped else {
            pending.cancel(Some("nothing came for too long".to_owned()));
            let stray = self.noted.stray_after(strays).map_or_else(String::new, |stray| {
                format!("; the last line that it wrote and that is no message of MCP: {stray}")
            });
            return Err(ToolError::failed(format!(
                "the server `{}` gave neither an answer nor progress for {} s: it was told to stop the call, which may still run; whether it had an effect is not known{stray}",
                self.name,
                options.call_within.as_secs_f32()
            )));
        };
        pending.stop(&stopped);
        match timeout(options.late_within.max(stopped.grace), pending.answer()).await {
            // Whether it ran nobody will ever say.
            Err(_) => Err(ToolError::abandoned()),
            Ok(Err(error)) if is_loss(&error) => {
                self.note(&session, &error);
                Err(ToolError::abandoned())
            }
            Ok(answer) => self.outcome(&session, answer).await,
        }
    }

    /// Whether it is over for good.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire) || (self.address.is_none() && self.session().is_closed())
    }

    /// Whether it has to be looked for before it is used.
    pub(crate) fn is_in_doubt(&self) -> bool {
        let session = self.session();
        self.address.is_some() && !self.is_gone() && (session.status.is_in_doubt() || session.is_closed())
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.child().as_ref().and_then(Child::id)
    }

    pub(crate) fn stderr(&self) -> String {
        self.child().as_ref().map_or_else(String::new, Child::stderr)
    }

    pub(crate) async fn close(&self) {
        self.gone.store(true, Ordering::Release);
        // Who looks for it just now may have begun another session.
        drop(self.looking.lock().await);
        // In the worst case the process does not see its input close, and is killed below.
        self.session().close(END_WITHIN).await;
        let child = self.child().take();
        if let Some(child) = child {
            child.end(END_WITHIN).await;
        }
    }

    async fn outcome(
        &self,
        session: &Session,
        answer: Result<ServerResult, ServiceError>,
    ) -> Result<ToolResult, ToolError> {
        match answer {
            Ok(ServerResult::CallToolResult(result)) => Ok(result::of(result)),
            Ok(other) => Err(ToolError::malformed(format!(
                "the server `{}` answered a call with something else: {}; whether the call had an effect is not known",
                self.name,
                result::quoted(&other)
            ))),
            Err(error) => Err(self.failed(session, &error).await),
        }
    }

    async fn failed(&self, session: &Session, error: &ServiceError) -> ToolError {
        self.note(session, error);
        match error {
            // It may answer so, as for arguments that it does not take.
            ServiceError::McpError(error) => ToolError::failed(result::refusal(error)),
            ServiceError::UnexpectedResponse => {
                ToolError::malformed(format!("the server `{}` broke the protocol", self.name))
            }
            error if is_loss(error) && self.address.is_none() => ToolError::failed(self.farewell().await),
            error => ToolError::failed(format!(
                "the server `{}` gave no result: {}; whether the call had an effect is not known",
                self.name,
                plain::request(error)
            )),
        }
    }

    /// What an error says of the server, or of the session in which it came.
    fn note(&self, session: &Session, error: &ServiceError) {
        match self.address {
            Some(_) if is_loss(error) || is_own(error) => session.status.doubt(),
            None if is_loss(error) => self.gone.store(true, Ordering::Release),
            _ => {}
        }
    }

    /// For the calls of a server that is gone.
    async fn farewell(&self) -> String {
        let within = if self.pid().is_some() { LAST_WORDS } else { Duration::ZERO };
        let ended = soon(within, || self.child().as_mut().and_then(|child| child.ended())).await;
        let _ = soon(within, || self.child().as_ref().filter(|child| child.has_said_all()).map(drop)).await;
        let ended = ended.map_or_else(String::new, |how| format!(" ({how})"));
        let output = Output { stderr: self.stderr().into(), ..Output::default() };
        format!(
            "the server `{}` is gone{ended}: whether the call had an effect is not known{output}",
            self.name
        )
    }

    fn session(&self) -> Arc<Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the process, if there is one, and says why the server cannot be used.
async fn refused(
    name: Text,
    why: BeginError,
    within: Duration,
    child: Option<Child>,
    noted: &Noted,
) -> OpenError {
    // What broke off is about to end; what is silent is not.
    let last_words = if matches!(why, BeginError::Silent(_)) { Duration::ZERO } else { LAST_WORDS };
    let (ended, stderr) = match child {
        Some(child) => child.kill(last_words).await,
        None => (None, String::new()),
    };
    let stdout = match why {
        BeginError::Closed | BeginError::Silent(INITIALIZE) => noted.first_line(),
        BeginError::Broke(_) | BeginError::Silent(_) => String::new(),
    };
    let output = Output { stdout: stdout.into(), stderr: stderr.into() };
    if let BeginError::Silent(asked) = why {
        return OpenError::Silent { name, asked: asked.into(), within, output };
    }
    let ended = ended.map_or_else(String::new, |how| format!(" ({how})"));
    OpenError::Handshake { name, why: format!("{why}{ended}").into(), output }
}

/// Nothing was sent, or no answer will come.
fn is_loss(error: &ServiceError) -> bool {
    matches!(error, ServiceError::TransportClosed | ServiceError::TransportSend(_))
}

/// An error of the server's own, which no rule explains: so say many that they do not know the session.
fn is_own(error: &ServiceError) -> bool {
    matches!(error, ServiceError::McpError(error) if (-32_099..=-32_000).contains(&error.code.0))
}

#[cfg(feature = "http")]
async fn begin_at(address: &Address, status: &Arc<Status>, within: Duration) -> Begun {
    let transport = crate::http::transport(address, status).map_err(BeginError::Broke)?;
    Session::begin(transport, status, within).await
}

#[cfg(not(feature = "http"))]
async fn begin_at(address: &Address, _: &Arc<Status>, _: Duration) -> Begun {
    match *address {}
}
