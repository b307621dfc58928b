//! What a client says to an agent.
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use machine_core::Text;
use machine_core::ids::InputId;
use machine_core::input::{Lane, Note, Reminder, Submit};
use machine_core::message::{Content, Part, text_content};

/// A prompt, a notification, an injection or a reminder: text or parts, and an id if you choose one.
///
/// With an id of your own, sending it again after a doubt is harmless: the second is refused with what became of the
/// first (A10). Without one it gets an id that no other input has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Say {
    id: Option<InputId>,
    message: Content,
    meta: Option<Text>,
    lane: Lane,
    wake: bool,
}

impl Say {
    /// These parts.
    pub fn new(message: impl Into<Content>) -> Self {
        Self { id: None, message: message.into(), meta: None, lane: Lane::NextTurn, wake: true }
    }

    /// One text.
    pub fn text(text: impl Into<Text>) -> Self {
        Self::new(text_content(text))
    }

    /// Under this id (A10).
    pub fn id(self, id: impl Into<InputId>) -> Self {
        Self { id: Some(id.into()), ..self }
    }

    /// With data of your own, JSON text; it stands on the entry and is never sent to the model (V16).
    pub fn meta(self, json: impl Into<Text>) -> Self {
        Self { meta: Some(json.into()), ..self }
    }

    /// A prompt that joins the running turn, if one runs (A03).
    pub fn next_step(self) -> Self {
        Self { lane: Lane::NextStep, ..self }
    }

    /// A prompt that waits until something else wakes the agent (A03).
    pub fn parked(self) -> Self {
        Self { wake: false, ..self }
    }

    /// Under this id if it has none.
    pub(crate) fn or_id(self, id: impl FnOnce() -> String) -> Self {
        Self { id: self.id.or_else(|| Some(id().into())), ..self }
    }

    /// With another message.
    pub(crate) fn map(self, change: impl FnOnce(Content) -> Content) -> Self {
        Self { message: change(self.message), ..self }
    }

    pub(crate) fn into_submit(self) -> Arc<Submit> {
        let Self { id, message, meta, lane, wake } = self;
        Arc::new(Submit { id: id.unwrap_or_else(fresh), message, lane, wake, meta })
    }

    pub(crate) fn into_note(self) -> Arc<Note> {
        let Self { id, message, meta, lane: _, wake: _ } = self;
        Arc::new(Note { id: id.unwrap_or_else(fresh), message, meta })
    }

    pub(crate) fn into_reminder(self, key: InputId, only_if_changed: bool) -> Arc<Reminder> {
        Arc::new(Reminder { key, message: self.message, only_if_changed })
    }

    pub(crate) fn into_message(self) -> Content {
        self.message
    }
}

impl From<&str> for Say {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Say {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<Text> for Say {
    fn from(text: Text) -> Self {
        Self::text(text)
    }
}

impl From<Content> for Say {
    fn from(message: Content) -> Self {
        Self::new(message)
    }
}

impl From<Vec<Part>> for Say {
    fn from(parts: Vec<Part>) -> Self {
        Self::new(parts)
    }
}

/// An id that no other input has: of this process, and of those that wrote to the same journal before.
fn fresh() -> InputId {
    static PROCESS: LazyLock<u64> = LazyLock::new(random);
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("in-{:016x}-{n}", *PROCESS).into()
}

/// Different in each process. The engine itself draws nothing (J01).
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
