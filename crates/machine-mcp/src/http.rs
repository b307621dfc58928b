//! A server behind an address. The address may hold a secret (user info, a query, a path), so no name, error or log line has
//! more of it than the host.
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use machine_core::Text;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{StatusCode, Url};
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::{BoxedSseResponse, ExponentialBackoff};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse, StreamableHttpResponseLimits,
};

use crate::plain::root;
use crate::result;
use crate::status::Status;

type Answer<T> = Result<T, StreamableHttpError<reqwest::Error>>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// Redirects of one request that are followed.
const REDIRECTS: usize = 10;

/// How often in a row a stream that broke off is asked for again: at once, then after 2 s, 4 s, …, for a minute. Then the call
/// whose answer it was fails.
const RECONNECTS: usize = 6;

/// So `rmcp` begins where a body is no message.
const NO_MESSAGE: &str = "could not parse JSON response as ServerJsonRpcMessage: ";

/// What a server behind this address is called: its host.
pub(crate) fn name(address: &str) -> Text {
    let url = Url::parse(address).ok();
    let name = url.as_ref().and_then(|url| {
        let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
        Some(format!("{}{port}", url.host_str()?))
    });
    name.map_or_else(|| "mcp".into(), Into::into)
}

/// Where a server is, and what it wants to see there. Nothing of it is told.
#[derive(Clone)]
pub(crate) struct Address {
    pub(crate) url: Text,
    pub(crate) bearer_token: Option<Text>,
}

/// The way to the server at this address; or in words why there is none.
pub(crate) fn transport(
    address: &Address,
    status: &Arc<Status>,
) -> Result<StreamableHttpClientTransport<Client>, String> {
    #[cfg(feature = "rustls")]
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Fails only if another thread was quicker, and then there is one.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    // Without idle connections, as in `rmcp`: one whose last answer was not read to its end stalls the next request.
    let client = reqwest::Client::builder().pool_max_idle_per_host(0).redirect(Policy::custom(redirect));
    let mut backoff = ExponentialBackoff::default();
    backoff.max_times = Some(RECONNECTS);
    let mut config = StreamableHttpClientTransportConfig::with_uri(&*address.url);
    if let Some(token) = &address.bearer_token {
        HeaderValue::from_str(token)
            .map_err(|_| "its token has what no header may have, such as a line end")?;
        config = config.auth_header(&**token);
    }
    config.retry_config = Arc::new(backoff);
    // The host bounds its calls. With a bound here a cancellation would wait for the answers of other calls.
    config.max_concurrent_requests = usize::MAX;
    // Whoever finds the session forgotten looks for the server, and asks for its tools anew.
    config.reinit_on_expired_session = false;
    let client = client.build().map_err(|error| root(&error.without_url()))?;
    Ok(StreamableHttpClientTransport::with_client(
        Client { client, status: status.clone(), has_listened: Arc::default() },
        config,
    ))
}

/// As in `rmcp`: only where the message goes along, and its headers to no other host.
fn redirect(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let keeps_message =
        matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let is_same = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
    if keeps_message && is_same && attempt.previous().len() <= REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

/// A client whose errors do not say the address: `rmcp` logs them, and they are told to the model.
#[derive(Clone)]
pub(crate) struct Client {
    client: reqwest::Client,
    status: Arc<Status>,
    /// There was a stream of what the server says.
    has_listened: Arc<AtomicBool>,
}

fn request_id(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    if let ClientJsonRpcMessage::Request(request) = message { Some(request.id.clone()) } else { None }
}

/// Whether this answers the request. An error may name none, as where the session is not known: `rmcp` drops such a message,
/// and the request would wait for ever.
fn is_answer(said: &ServerJsonRpcMessage, request: &RequestId) -> bool {
    let id = match said {
        ServerJsonRpcMessage::Response(response) => Some(&response.id),
        ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    };
    id.is_some_and(|id| id.to_string() == request.to_string())
}

/// What happened, and what to look at.
pub(crate) fn plain(error: &StreamableHttpError<reqwest::Error>) -> String {
    use StreamableHttpError as E;
    match error {
        E::Client(error) if error.is_builder() => format!("its address cannot be used: {}", root(error)),
        E::Client(error) if error.is_connect() => format!("no connection to its address: {}", root(error)),
        E::Client(error) => format!("the connection broke: {}", root(error)),
        E::AuthRequired(_) | E::InsufficientScope(_) => {
            "it wants an authorization: give a token that it takes (`http_with_token`)".to_owned()
        }
        E::UnexpectedContentType(kind) => {
            let kind = kind.as_deref().unwrap_or("no content type");
            format!("it answered with {kind}, which is no MCP: is the path of the address right?")
        }
        E::UnexpectedServerResponse(said) => match said.strip_prefix(NO_MESSAGE) {
            Some(said) => {
                let said = said.trim_start_matches("unrecognized JSON-RPC message: ");
                format!("it answered what is no message of MCP: {}", result::cut(said))
            }
            None => format!("it answered {}", result::cut(said)),
        },
        E::HttpStatus(status) => format!("it answered {status}"),
        E::SessionExpired => "it does not know the session any more".to_owned(),
        other => other.to_string(),
    }
}

fn without_address(error: StreamableHttpError<reqwest::Error>) -> StreamableHttpError<reqwest::Error> {
    match error {
        StreamableHttpError::Client(error) => StreamableHttpError::Client(error.without_url()),
        error => error,
    }
}

impl StreamableHttpClient for Client {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        address: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
    ) -> Answer<StreamableHttpPostResponse> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(address, message, session, auth, headers, limits).await
    }

    async fn post_message_with_response_limits(
        &self,
        address: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Answer<StreamableHttpPostResponse> {
        let request = request_id(&message);
        let answer =
            self.client.post_message_with_response_limits(address, message, session, auth, headers, limits);
        let answer = answer.await.map_err(without_address)?;
        match (&answer, request) {
            (StreamableHttpPostResponse::Json(said, _), Some(id)) if !is_answer(said, &id) => {
                Err(StreamableHttpError::UnexpectedServerResponse(result::quoted(said).into()))
            }
            _ => Ok(answer),
        }
    }

    async fn delete_session(
        &self,
        address: Arc<str>,
        session: Arc<str>,
        auth: Option<String>,
        headers: Headers,
    ) -> Answer<()> {
        self.client.delete_session(address, session, auth, headers).await.map_err(without_address)
    }

    async fn get_stream(
        &self,
        address: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        auth: Option<String>,
        headers: Headers,
    ) -> Answer<BoxedSseResponse> {
        let most = StreamableHttpResponseLimits::default().max_sse_event_size;
        self.get_stream_with_max_sse_event_size(address, session, last_event, auth, headers, most).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        address: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        auth: Option<String>,
        headers: Headers,
        most: usize,
    ) -> Answer<BoxedSseResponse> {
        let stream =
            self.client.get_stream_with_max_sse_event_size(address, session, last_event, auth, headers, most);
        let stream = stream.await.map_err(without_address);
        match &stream {
            // What was told since the last one broke off is lost: the list may have changed.
            Ok(_) if self.has_listened.swap(true, Ordering::AcqRel) => self.status.note_change(),
            Ok(_) => {}
            Err(StreamableHttpError::ServerDoesNotSupportSse) => {}
            Err(_) => self.status.doubt(),
        }
        stream
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_name_has_no_secret_of_the_address() {
        let name = super::name;
        assert_eq!(&*name("https://me:secret@example.org/mcp?key=secret#secret"), "example.org");
        assert_eq!(&*name("http://127.0.0.1:3001/secret/mcp"), "127.0.0.1:3001");
        assert_eq!(&*name("http://[::1]:80/"), "[::1]");
        assert_eq!(&*name("me:secret@example.org/mcp"), "mcp");
        assert_eq!(&*name("secret"), "mcp");
    }
}
