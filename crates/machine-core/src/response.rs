//! What comes back from a model: stream events (M01), normalised ends (T08), failures (M04).
use serde::{Deserialize, Serialize};

use crate::Text;
use crate::usage::Usage;

/// One piece of a model's stream (M01).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelEvent {
    /// The provider began to answer.
    Started {
        /// The provider's id of this request, for support cases.
        request_id: Option<Text>,
    },
    /// Visible text; runs of it merge.
    Text(Text),
    /// Reasoning; runs of it merge until signed.
    Thinking {
        /// More reasoning.
        text: Text,
        /// Ends the block.
        signature: Option<Text>,
    },
    /// A call begins, or is repeated (same index and id), or begins on a used index with a new id.
    CallStart {
        /// The provider's position of the call.
        index: u32,
        /// The provider's id; may be empty.
        id: Text,
        /// The tool.
        tool: Text,
    },
    /// More arguments. Without a known index they go to the call that was opened last.
    CallArgs {
        /// The provider's position of the call.
        index: Option<u32>,
        /// A piece of JSON text.
        piece: Text,
    },
    /// A media reference.
    Media {
        /// Its media type.
        kind: Text,
        /// A URL or a digest.
        at: Text,
    },
    /// Tokens so far; replaces what this attempt reported before (U02).
    Usage(Usage),
    /// The provider's id of the message.
    MessageId(Text),
}

impl ModelEvent {
    /// Its name, as it stands in a trace.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Started { .. } => "Started",
            Self::Text(_) => "Text",
            Self::Thinking { .. } => "Thinking",
            Self::CallStart { .. } => "CallStart",
            Self::CallArgs { .. } => "CallArgs",
            Self::Media { .. } => "Media",
            Self::Usage(_) => "Usage",
            Self::MessageId(_) => "MessageId",
        }
    }
}

/// The normalised end of a response (T08). A stream that ends without one is [`Failure::StreamCut`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The model is done.
    EndTurn,
    /// The model waits for its calls.
    ToolUse,
    /// The output limit cut it.
    MaxTokens,
    /// The provider withheld it.
    Filtered,
    /// The provider paused it.
    Suspended,
    /// Something else; see the raw reason.
    Other,
}

/// How a response ended: what a model adapter must return, so that it cannot be forgotten.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finished {
    /// Normalised.
    pub finish: Finish,
    /// The provider's own word.
    #[serde(default)]
    pub raw: Option<Text>,
    /// Final usage, if it did not come as a piece.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// Milliseconds from the request to the first token (M14).
    #[serde(default)]
    pub first_token_ms: Option<u64>,
}

impl Finished {
    /// An end without further detail.
    pub fn new(finish: Finish) -> Self {
        Self { finish, raw: None, usage: None, first_token_ms: None }
    }
}

/// The kind of a failed attempt (M04). The host classifies, the engine decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// No connection, or it broke before an answer.
    Connection,
    /// No answer in time.
    Timeout,
    /// Too many requests.
    RateLimit,
    /// The provider is overloaded.
    Overloaded,
    /// The provider failed.
    ServerError,
    /// The stream ended without a finish.
    StreamCut,
    /// The request does not fit the context window (M09).
    ContextOverflow,
    /// The provider refused the request.
    InvalidRequest,
    /// The credentials were refused.
    Auth,
    /// Nothing is left to spend.
    Quota,
    /// The response exceeded `response_bytes` (A24).
    TooLarge,
    /// The response had nothing in it (T11).
    Empty,
    /// The model adapter panicked (H03).
    Panicked,
    /// Anything else.
    Unknown,
}

impl Failure {
    /// Whether the same request may be sent again after a wait (M04).
    pub fn is_retryable(self) -> bool {
        match self {
            Self::Connection
            | Self::Timeout
            | Self::RateLimit
            | Self::Overloaded
            | Self::ServerError
            | Self::StreamCut => true,
            Self::ContextOverflow
            | Self::InvalidRequest
            | Self::Auth
            | Self::Quota
            | Self::TooLarge
            | Self::Empty
            | Self::Panicked
            | Self::Unknown => false,
        }
    }
}

/// A failed attempt, with what the host knows of it (M14).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelError {
    /// Classified by the host.
    pub kind: Failure,
    /// For people.
    pub message: Text,
    /// HTTP status.
    #[serde(default)]
    pub status: Option<u16>,
    /// Milliseconds that the server asked to wait (M06).
    #[serde(default)]
    pub retry_after_ms: Option<u64>,
    /// The provider's id of the request.
    #[serde(default)]
    pub request_id: Option<Text>,
    /// Tokens that were spent all the same.
    #[serde(default)]
    pub usage: Option<Usage>,
}

impl ModelError {
    /// An error without further detail.
    pub fn new(kind: Failure, message: impl Into<Text>) -> Self {
        Self {
            kind,
            message: message.into(),
            status: None,
            retry_after_ms: None,
            request_id: None,
            usage: None,
        }
    }
}

impl core::fmt::Display for ModelError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.message)
    }
}

impl core::error::Error for ModelError {}
