//! Errors of `rmcp` in plain words: what happened, and what to look at. They hold names of types and debug output.
use std::error::Error;
use std::io;

use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::DynamicTransportError;

use crate::result::{cut, quoted, refusal};
use crate::session::BeginError;

/// Why there is no session.
pub(crate) fn handshake(error: &ClientInitializeError) -> BeginError {
    use ClientInitializeError as E;
    BeginError::Broke(match error {
        E::ConnectionClosed(_) => return BeginError::Closed,
        // It may be noticed first where it is written to.
        E::TransportError { error, .. } if is_closed_pipe(error) => return BeginError::Closed,
        E::ExpectedInitResponse(Some(said)) => format!("it answered `initialize` with {}", quoted(said)),
        E::ExpectedInitResult(Some(said)) => format!("it answered `initialize` with {}", quoted(said)),
        E::ConflictInitResponseId(..) | E::UncorrelatedErrorResponse { .. } => {
            "it answered another request than `initialize`, the only one".to_owned()
        }
        E::TransportError { error, .. } => transport(error),
        E::JsonRpcError(error) => format!("it refused `initialize`: {}", cut(&refusal(error))),
        other => other.to_string(),
    })
}

/// Why a request has no answer.
pub(crate) fn request(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => cut(&refusal(error)),
        // Whether its end is noticed where it is written to or where it is read is chance.
        ServiceError::TransportSend(error) if !is_closed_pipe(error) => transport(error),
        ServiceError::TransportSend(_) | ServiceError::TransportClosed => {
            "the connection broke off before the answer".to_owned()
        }
        ServiceError::UnexpectedResponse => "it answered with something else".to_owned(),
        other => other.to_string(),
    }
}

fn is_closed_pipe(error: &DynamicTransportError) -> bool {
    use io::ErrorKind as Kind;
    let kind = error.error.downcast_ref().map(io::Error::kind);
    kind.is_some_and(|kind| matches!(kind, Kind::BrokenPipe | Kind::ConnectionReset | Kind::UnexpectedEof))
}

fn transport(error: &DynamicTransportError) -> String {
    #[cfg(feature = "http")]
    if let Some(error) = error.error.downcast_ref() {
        return crate::http::plain(error);
    }
    format!("nothing can be written to it: {}", root(&*error.error))
}

/// The cause of all causes.
pub(crate) fn root(error: &(dyn Error + 'static)) -> String {
    let mut root = error;
    while let Some(cause) = root.source() {
        root = cause;
    }
    root.to_string()
}
