//! What the tests of this crate build entries with.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
#![expect(dead_code, reason = "each test file uses its own part")]
use std::sync::Arc;

use machine_core::history::History;
use machine_core::ids::{CallId, TurnId};
use machine_core::message::{Body, Entry, Message, Origin, Part, ToolCall, ToolMessage, text_content};
use machine_core::outcome::Outcome;

pub const TURN: TurnId = TurnId { branch: 1, turn: 1 };

pub fn call_id(n: u32) -> CallId {
    TURN.step(1).call(n)
}

pub fn call(id: CallId, wire: &str) -> ToolCall {
    ToolCall { id, wire: wire.into(), tool: "t".into(), args: "{}".into(), raw: None }
}

pub fn entry(origin: Origin, message: Message) -> Arc<Entry> {
    Arc::new(Entry { origin, turn: Some(TURN), message, meta: None })
}

pub fn user(text: &str) -> Arc<Entry> {
    entry(Origin::Gate { hook: "gate".into() }, Message::user(text))
}

pub fn says(text: &str) -> Arc<Entry> {
    assistant(vec![Part::text(text)])
}

pub fn assistant(parts: Vec<Part>) -> Arc<Entry> {
    entry(Origin::Model, Message::Assistant { content: parts.into() })
}

pub fn calls(calls: impl IntoIterator<Item = ToolCall>) -> Arc<Entry> {
    assistant(calls.into_iter().map(|call| Body::Call(call).into()).collect())
}

pub fn result(call: CallId, wire: &str) -> Arc<Entry> {
    result_with(call, wire, "t", vec![Part::text("done")])
}

pub fn result_with(call: CallId, wire: &str, tool: &str, parts: Vec<Part>) -> Arc<Entry> {
    let (wire, tool) = (wire.into(), tool.into());
    let message =
        ToolMessage { call, wire, tool, outcome: Outcome::Ok, background: false, content: parts.into() };
    entry(Origin::Tool, Message::Tool(message))
}

pub fn thinking(text: &str, signature: Option<&str>) -> Part {
    Body::Thinking { text: text.into(), signature: signature.map(Into::into) }.into()
}

pub fn media() -> Part {
    Body::Media { kind: "image/png".into(), at: "sha:1".into() }.into()
}

pub fn with_meta(entry: &Entry, meta: &str) -> Arc<Entry> {
    Arc::new(Entry { meta: Some(meta.into()), ..entry.clone() })
}

pub fn content_of(text: &str) -> machine_core::message::Content {
    text_content(text)
}

/// The history of these entries.
pub fn of(entries: &[Arc<Entry>]) -> History {
    History::try_from(entries.to_vec()).unwrap()
}
