//! What kind of failure it was (M04), with what the provider said of it (M14).
use std::error::Error as _;

use genai::{Error, webc};
use machine_core::response::{Failure, ModelError};
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::retry_after;

/// An error of the library. None if it is about a frame, which is read here.
pub fn of(error: Error) -> Option<ModelError> {
    Some(match error {
        Error::HttpError { status, body, headers, .. } => http(status, &body, &headers),
        // What went wrong before the stream began comes as the stream's first item, wrapped.
        Error::WebStream { error, cause, .. } => match error.downcast::<Error>() {
            Ok(inner) => return of(*inner),
            Err(error) => match error.downcast::<reqwest::Error>() {
                Ok(error) => transport(*error),
                Err(_) => ModelError::new(Failure::StreamCut, cause),
            },
        },
        Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => web(webc_error),
        Error::ChatResponse { .. }
        | Error::StreamParse { .. }
        | Error::JsonValueExt(_)
        | Error::SerdeJson(_)
        | Error::InvalidJsonResponseElement { .. } => return None,
        Error::RequiresApiKey { .. }
        | Error::NoAuthResolver { .. }
        | Error::NoAuthData { .. }
        | Error::Resolver { .. } => ModelError::new(Failure::Auth, error.to_string()),
        Error::ChatReqHasNoMessages { .. }
        | Error::LastChatMessageIsNotUser { .. }
        | Error::MessageRoleNotSupported { .. }
        | Error::MessageContentTypeNotSupported { .. }
        | Error::AdapterNotSupported { .. }
        | Error::AdapterKindMismatch { .. } => ModelError::new(Failure::InvalidRequest, error.to_string()),
        _ => ModelError::new(Failure::Unknown, error.to_string()),
    })
}

/// An error that came in the stream: there is no status, but in some bodies.
pub fn of_body(body: &Value) -> ModelError {
    let error = body.get("error").filter(|error| !error.is_null()).unwrap_or(body);
    let code = error.get("code");
    let code = code.and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()));
    let status = code.and_then(|code| u16::try_from(code).ok());
    let status = status.filter(|status| (400..600).contains(status));
    let said = message(error).unwrap_or_else(|| body.to_string());
    let words = words(error);
    ModelError {
        status,
        retry_after_ms: retry_after::milliseconds(&HeaderMap::new(), error),
        ..ModelError::new(kind(status, &words, &said), said)
    }
}

/// A body is one error, or a list with one, or anything else.
fn http(status: StatusCode, body: &str, headers: &HeaderMap) -> ModelError {
    let parsed: Value = serde_json::from_str(body).unwrap_or_default();
    let parsed = parsed.get(0).unwrap_or(&parsed);
    let error = parsed.get("error").unwrap_or(parsed);
    let said = message(error).unwrap_or_else(|| body.trim().to_owned());
    let said = match &*said {
        "" if status == StatusCode::NOT_FOUND => "nothing is there: the base URL may be wrong".to_owned(),
        "" => "the answer says no more".to_owned(),
        _ => said,
    };
    let id = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    ModelError {
        status: Some(status.as_u16()),
        retry_after_ms: retry_after::milliseconds(headers, error),
        request_id: id("x-request-id").or_else(|| id("request-id")).map(Into::into),
        ..ModelError::new(kind(Some(status.as_u16()), &words(error), &said), format!("{status}: {said}"))
    }
}

fn web(error: webc::Error) -> ModelError {
    match error {
        webc::Error::ResponseFailedStatus { status, body, headers } => http(status, &body, &headers),
        webc::Error::Reqwest(error) => transport(error),
        other => ModelError::new(Failure::Unknown, other.to_string()),
    }
}

fn transport(error: reqwest::Error) -> ModelError {
    let kind = match () {
        () if error.is_timeout() => Failure::Timeout,
        () if error.is_builder() => Failure::InvalidRequest,
        () if error.is_body() || error.is_decode() => Failure::StreamCut,
        () => Failure::Connection,
    };
    // The rest of an address may have a key in it.
    let host = error.url().and_then(|url| Some((url.host_str()?.to_owned(), url.port_or_known_default()?)));
    let error = error.without_url();
    let mut said =
        host.map_or_else(String::new, |(host, port)| format!("{host}:{port}: ")) + &error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        said = format!("{said}: {error}");
        cause = error.source();
    }
    ModelError::new(kind, said)
}

fn message(error: &Value) -> Option<String> {
    let said = error.get("message").unwrap_or(error).as_str()?;
    Some(said.trim().to_owned()).filter(|said| !said.is_empty())
}

/// The words by which a provider names an error.
fn words(error: &Value) -> Vec<&str> {
    let named = ["code", "type", "status"].into_iter().filter_map(|name| error.get(name)?.as_str());
    let reasons = error.get("details").and_then(Value::as_array).into_iter().flatten();
    named.chain(reasons.filter_map(|detail| detail.get("reason")?.as_str())).collect()
}

/// The provider's own word counts more than the status, and the text least.
fn kind(status: Option<u16>, words: &[&str], said: &str) -> Failure {
    let is = |known: &[&str]| words.iter().any(|word| known.contains(word));
    let said = said.to_ascii_lowercase();
    let says = |known: &[&str]| known.iter().any(|part| said.contains(part));
    let may_be_long = matches!(status, None | Some(400 | 413 | 422));
    match status {
        _ if is(&["context_length_exceeded", "request_too_large", "model_context_window_exceeded"]) => {
            Failure::ContextOverflow
        }
        _ if may_be_long && says(TOO_LONG) => Failure::ContextOverflow,
        _ if is(&["insufficient_quota", "billing_hard_limit_reached", "billing_error"]) => Failure::Quota,
        _ if may_be_long && says(&["credit balance is too low", "insufficient balance"]) => Failure::Quota,
        _ if is(&["authentication_error", "permission_error", "invalid_api_key", "API_KEY_INVALID"]) => {
            Failure::Auth
        }
        _ if is(&["overloaded_error", "UNAVAILABLE"]) => Failure::Overloaded,
        _ if is(&["timeout_error", "DEADLINE_EXCEEDED"]) => Failure::Timeout,
        _ if is(&["rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"]) => Failure::RateLimit,
        Some(401 | 403) => Failure::Auth,
        Some(402) => Failure::Quota,
        Some(408 | 504) => Failure::Timeout,
        Some(413) => Failure::ContextOverflow,
        Some(429) => Failure::RateLimit,
        Some(503 | 529) => Failure::Overloaded,
        Some(500..600) => Failure::ServerError,
        Some(_) => Failure::InvalidRequest,
        None if is(&["api_error", "server_error", "internal_error", "internal_server_error", "INTERNAL"]) => {
            Failure::ServerError
        }
        None if is(&["invalid_request_error", "invalid_prompt", "INVALID_ARGUMENT"]) => {
            Failure::InvalidRequest
        }
        None => Failure::Unknown,
    }
}

/// How providers without a word for it say that a request does not fit.
const TOO_LONG: &[&str] = &[
    "maximum context length",
    "prompt is too long",
    "input is too long",
    "exceeds the context window",
    "exceed context limit",
    "exceeds the maximum number of tokens",
    "context length exceeded",
    "exceeds the available context size",
    "context the overflows",
    "maximum prompt length",
    "exceeded model token limit",
];

#[cfg(test)]
mod tests;
