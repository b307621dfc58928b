//! What a model reads and writes, neutral to any provider (V01), and history entries with their origin (V07).
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::Text;
use crate::ids::{CallId, InputId, TurnId};
use crate::outcome::Outcome;

/// Content parts, shared.
pub type Content = Arc<[Part]>;

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// What it says.
    pub body: Body,
    /// What belongs to one provider and we do not read. A model adapter sends it to that provider alone.
    #[serde(default)]
    pub extras: Option<Arc<Extras>>,
}

/// What a part says.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// Visible text.
    Text(Text),
    /// The model's reasoning.
    Thinking {
        /// As it was streamed.
        text: Text,
        /// The provider's proof that the block is complete and unchanged.
        #[serde(default)]
        signature: Option<Text>,
    },
    /// A reference to an image, sound or document; the bytes are the host's.
    Media {
        /// Its media type, such as `image/png`.
        kind: Text,
        /// A URL or a digest that the host can resolve.
        at: Text,
    },
    /// A tool call; in assistant messages only.
    Call(ToolCall),
}

/// Provider extras, kept as text so that no map order can leak in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extras {
    /// Who they belong to.
    pub provider: Text,
    /// JSON text.
    pub json: Text,
}

/// A tool call as it stands in history: always legal on the wire (V03, V09, V10).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// Ours; everything is routed by it.
    pub id: CallId,
    /// The id on the wire: unique in history, `[A-Za-z0-9_-]{1,64}`.
    pub wire: Text,
    /// The tool's name, `[A-Za-z0-9_-]{1,64}`.
    pub tool: Text,
    /// Arguments: the text of a JSON object.
    pub args: Text,
    /// What the provider sent, where that was not legal.
    #[serde(default)]
    pub raw: Option<Arc<RawCall>>,
}

/// What a provider sent, kept aside when it could not stand on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawCall {
    /// The provider's id.
    pub id: Text,
    /// The tool's name.
    pub tool: Text,
    /// The arguments.
    pub args: Text,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions.
    System,
    /// The user's side; also notifications, reminders and markers.
    User,
    /// The model.
    Assistant,
    /// A tool's result.
    Tool,
}

/// A message. The shape follows the role, so that only a tool message can answer a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// Instructions.
    System {
        /// Its parts.
        content: Content,
    },
    /// The user's side.
    User {
        /// Its parts.
        content: Content,
    },
    /// What the model said, calls included, in call order.
    Assistant {
        /// Its parts.
        content: Content,
    },
    /// The one result of one call (V05).
    Tool(ToolMessage),
}

/// The one result of one call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ToolMessage {
    /// The call it answers.
    pub call: CallId,
    /// That call's id on the wire.
    pub wire: Text,
    /// That call's tool.
    pub tool: Text,
    /// How the call ended.
    pub outcome: Outcome,
    /// Whether this is an acknowledgement, and the work goes on in the background (C08).
    #[serde(default)]
    pub background: bool,
    /// What the model reads; never empty (V11).
    pub content: Content,
}

/// Where an entry comes from (V07).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Origin {
    /// A user's prompt.
    Prompt {
        /// Its id.
        id: InputId,
    },
    /// A notification or an injection.
    Notification {
        /// Its id.
        id: InputId,
    },
    /// The end of a background call (A20).
    BackgroundEnd {
        /// The call.
        call: CallId,
    },
    /// A reminder (A07).
    Reminder {
        /// Its key.
        key: InputId,
    },
    /// The model.
    Model,
    /// A tool.
    Tool,
    /// A message that a tool's result carried (V14).
    Deliver {
        /// The call.
        call: CallId,
    },
    /// Visible text of an aborted response (M11).
    Salvaged,
    /// The marker of a user's abort (X07).
    AbortMarker,
    /// A summary that stands for folded entries (A18).
    Summary,
    /// A message of the step's gate (T02).
    Gate {
        /// The hook's name (H09).
        hook: Text,
    },
    /// A message of the stop hook (T16).
    StopHook {
        /// Its name (H09).
        hook: Text,
    },
    /// The outcome of a call that the engine had answered itself (X06).
    LateResult {
        /// The call.
        call: CallId,
    },
}

/// A message of a hook, with its name (H09).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Said {
    /// Who says it. A host that names its hooks itself may leave it empty in what a hook returns.
    #[serde(default)]
    pub hook: Text,
    /// What it says.
    pub content: Content,
}

impl From<Content> for Said {
    /// Not named yet.
    fn from(content: Content) -> Self {
        Self { hook: Text::default(), content }
    }
}

/// A committed entry of history: immutable and shared (V08).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Entry {
    /// Where it comes from.
    pub origin: Origin,
    /// The turn in which it was committed; none for what an edit brought.
    pub turn: Option<TurnId>,
    /// The message.
    pub message: Message,
    /// The host's own data, JSON text; never sent to the model (V16).
    #[serde(default)]
    pub meta: Option<Text>,
}

impl Part {
    /// A text part.
    pub fn text(text: impl Into<Text>) -> Self {
        Body::Text(text.into()).into()
    }

    /// Its visible text, if it is text.
    pub fn as_text(&self) -> Option<&str> {
        match &self.body {
            Body::Text(text) => Some(text),
            Body::Thinking { .. } | Body::Media { .. } | Body::Call(_) => None,
        }
    }

    /// The length of its text, in characters (Unicode scalar values).
    pub fn chars(&self) -> usize {
        self.as_text().map_or(0, |text| text.chars().count())
    }

    /// Whether it is text that is not blank, or media: something that can be seen.
    pub fn is_visible(&self) -> bool {
        match &self.body {
            Body::Text(text) => !text.trim().is_empty(),
            Body::Media { .. } => true,
            Body::Thinking { .. } | Body::Call(_) => false,
        }
    }
}

impl From<Body> for Part {
    fn from(body: Body) -> Self {
        Self { body, extras: None }
    }
}

/// What somebody who is not the model may say: text and media. Calls and thinking are left out; a call from
/// elsewhere would be one that nobody answers (V05).
pub fn sayable(content: &Content) -> Content {
    let fits = |part: &Part| matches!(part.body, Body::Text(_) | Body::Media { .. });
    match content.iter().all(fits) {
        true => content.clone(),
        false => content.iter().filter(|part| fits(part)).cloned().collect(),
    }
}

/// Content of a single text part.
pub fn text_content(text: impl Into<Text>) -> Content {
    Arc::from([Part::text(text)])
}

impl Message {
    /// A user message of one text part.
    pub fn user(text: impl Into<Text>) -> Self {
        Self::User { content: text_content(text) }
    }

    /// Who speaks.
    pub fn role(&self) -> Role {
        match self {
            Self::System { .. } => Role::System,
            Self::User { .. } => Role::User,
            Self::Assistant { .. } => Role::Assistant,
            Self::Tool(_) => Role::Tool,
        }
    }

    /// Its parts.
    pub fn content(&self) -> &Content {
        match self {
            Self::System { content } | Self::User { content } | Self::Assistant { content } => content,
            Self::Tool(tool) => &tool.content,
        }
    }

    /// Its tool calls, in call order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content().iter().filter_map(|part| match &part.body {
            Body::Call(call) => Some(call),
            _ => None,
        })
    }

    /// Its visible text, parts joined by nothing.
    pub fn text(&self) -> alloc::string::String {
        self.content()
            .iter()
            .filter_map(|part| match &part.body {
                Body::Text(text) => Some(&**text),
                _ => None,
            })
            .collect()
    }
}

/// Keeps output on the way, up to `limit` characters in all; what is no text counts as one (V15). `chars`: how many are
/// kept. Whether nothing was left out.
pub fn keep_output(kept: &mut Vec<Part>, chars: &mut usize, more: &[Part], limit: usize) -> bool {
    let mut whole = true;
    for part in more {
        let room = limit.saturating_sub(*chars);
        let (fits, count) = match &part.body {
            Body::Text(text) => {
                let end = text.char_indices().nth(room).map_or(text.len(), |(end, _)| end);
                whole &= end == text.len();
                (Part::text(&text[..end]), text[..end].chars().count())
            }
            _ => (part.clone(), room.min(1)),
        };
        whole &= count > 0 || fits.as_text().is_some();
        *chars += count;
        if count > 0 {
            kept.push(fits);
        }
    }
    whole
}
