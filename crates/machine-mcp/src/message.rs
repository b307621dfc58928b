//! What is written where a message belongs and is none as it stands: read where its meaning is beyond doubt.
use std::borrow::Cow;

use rmcp::model::{RequestId, ServerJsonRpcMessage as Message};
use serde::Deserialize;
use serde_json::{Deserializer, Map, Value};

use crate::outline::Outline;
use crate::result;

/// The field that names the protocol and its version.
const JSONRPC: &str = "jsonrpc";

/// What stands in a text.
#[derive(Default)]
pub(crate) struct Parsed {
    pub(crate) messages: Vec<Message>,
    /// Something of it names the protocol.
    pub(crate) has_version: bool,
    /// Something of it is no message, and answers nobody.
    pub(crate) has_strays: bool,
    /// What its end begins.
    pub(crate) begun: Option<String>,
}

/// All that can be read in a text. Nearly always it is one message as the protocol wants it.
pub(crate) fn read(text: &[u8]) -> Parsed {
    let mut read = Parsed::default();
    if let Ok(message) = serde_json::from_slice(text) {
        read.has_version = true;
        read.push(message);
        return read;
    }
    let text = String::from_utf8_lossy(text);
    let text = with_whole_letters(text.trim_start_matches('\u{feff}').trim());
    let mut rest = text.as_ref();
    // Words may have a message in them that somebody only tells of.
    while rest.trim_start().starts_with(['{', '[']) {
        let mut values = Deserializer::from_str(rest).into_iter::<Value>();
        let length = match values.next() {
            Some(Ok(value)) => {
                let length = values.byte_offset();
                read.take(&value, &rest[..length]);
                length
            }
            Some(Err(error)) if error.is_eof() => {
                read.begun = Some(rest.to_owned());
                return read;
            }
            Some(Err(_)) => {
                let outline = Outline::of(rest.as_bytes());
                let length = outline.length().filter(|length| rest.is_char_boundary(*length));
                read.take_outline(&outline, &rest[..length.unwrap_or(rest.len())]);
                length.unwrap_or(rest.len())
            }
            None => return read,
        };
        rest = &rest[length..];
    }
    read.has_strays |= !rest.trim().is_empty();
    read
}

/// What can be said of a text that cannot be read: whether it answers somebody.
pub(crate) fn broken(outline: &Outline, said: &str) -> Parsed {
    let mut read = Parsed::default();
    read.take_outline(outline, said);
    read
}

impl Parsed {
    fn take(&mut self, value: &Value, said: &str) {
        match value {
            Value::Array(batch) if !batch.is_empty() => {
                batch.iter().for_each(|message| self.take_one(message, || message.to_string()));
            }
            value => self.take_one(value, || said.to_owned()),
        }
    }

    fn take_one(&mut self, value: &Value, said: impl FnOnce() -> String) {
        let Some(fields) = value.as_object().filter(|fields| !is_of_a_log(fields)) else {
            self.has_strays = true;
            return;
        };
        self.has_version |= fields.contains_key(JSONRPC);
        match Message::deserialize(mended(fields)) {
            Ok(message) => self.push(message),
            Err(_) => self.take_broken(answered(fields), &said()),
        }
    }

    fn push(&mut self, message: Message) {
        // For `rmcp` it may be an answer to `initialize`, and to nothing else.
        self.has_strays |= matches!(&message, Message::Error(error) if error.id.is_none());
        self.messages.push(message);
    }

    fn take_outline(&mut self, outline: &Outline, said: &str) {
        self.has_version |= outline.has_version();
        self.take_broken(outline.answers(), said);
    }

    /// In place of an answer that cannot be read stands a result that is none.
    fn take_broken(&mut self, id: Option<RequestId>, said: &str) {
        match id {
            Some(id) => self.push(Message::response(result::unreadable(said), id)),
            None => self.has_strays = true,
        }
    }
}

/// The request that a message answers. A question of the server names none: its ids are its own.
fn answered(fields: &Map<String, Value>) -> Option<RequestId> {
    let is_there = |name: &str| fields.contains_key(name);
    let is_question = fields.get("method").is_some_and(|method| !method.is_null());
    let is_answer = is_there(JSONRPC) || is_there("result") || is_there("error");
    RequestId::deserialize(fields.get("id")?).ok().filter(|_| is_answer && !is_question)
}

/// It does not name the protocol, and has fields that no message has.
fn is_of_a_log(fields: &Map<String, Value>) -> bool {
    let is_known = |name: &String| ["id", "method", "params", "result", "error"].contains(&&**name);
    !fields.contains_key(JSONRPC) && !fields.keys().all(is_known)
}

/// With the version that it should name, and without fields that say nothing beside others.
fn mended(fields: &Map<String, Value>) -> Value {
    let is_null = |name: &str| fields.get(name) == Some(&Value::Null);
    let is_there = |name: &str| fields.contains_key(name) && !is_null(name);
    let mut mended = fields.clone();
    mended.insert(JSONRPC.into(), "2.0".into());
    for (name, others) in [
        ("method", &["result", "error"][..]),
        ("error", &["result", "method"]),
        ("result", &["error", "method"]),
        ("id", &["method"]),
    ] {
        if is_null(name) && others.iter().any(|other| is_there(other)) {
            mended.remove(name);
        }
    }
    mended.into()
}

/// A letter of Unicode may be written as two halves. A half alone is none.
fn with_whole_letters(text: &str) -> Cow<'_, str> {
    let half = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok().filter(|half| (0xd800..0xe000).contains(half))
    };
    let (mut whole, mut kept, mut at) = (String::new(), 0, 0);
    while let Some(next) = text[at..].find('\\') {
        at += next;
        at += match (half(at), half(at + 6)) {
            (Some(0xd800..0xdc00), Some(0xdc00..)) => 12,
            (Some(_), _) => {
                whole.push_str(&text[kept..at]);
                whole.push_str("\\ufffd");
                kept = at + 6;
                6
            }
            // Whatever is escaped is no escape itself.
            (None, _) => 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        };
    }
    if kept == 0 {
        return text.into();
    }
    whole.push_str(&text[kept..]);
    whole.into()
}
