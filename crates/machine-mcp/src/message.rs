//! What is written where a message belongs and is none as it stands: read where its meaning is beyond doubt.
use std::borrow::Cow;

use rmcp::model::{CustomResult, ServerJsonRpcMessage as Message, ServerResult};
use serde::Deserialize;
use serde_json::{Deserializer, Map, Value};

use crate::outline::Outline;
use crate::result::cut;

/// The field that names the protocol.
const NAME: &str = "jsonrpc";

/// What stands in a text.
#[derive(Default)]
pub(crate) struct Read {
    pub(crate) messages: Vec<Message>,
    /// Something of it names the protocol.
    pub(crate) is_named: bool,
    /// Something of it is no message, and answers nobody.
    pub(crate) has_strays: bool,
    /// What its end begins.
    pub(crate) begun: Option<String>,
}

/// All that can be read in a text. Nearly always it is one message as the protocol wants it.
pub(crate) fn read(text: &[u8]) -> Read {
    let mut read = Read::default();
    if let Ok(message) = serde_json::from_slice(text) {
        read.is_named = true;
        read.push(message);
        return read;
    }
    let text = String::from_utf8_lossy(text);
    let text = with_whole_letters(text.trim_start_matches('\u{feff}').trim());
    let mut values = Deserializer::from_str(&text).into_iter::<Value>();
    let mut rest = 0;
    // Words may have a message in them that somebody only tells of.
    while text[rest..].trim_start().starts_with(['{', '[']) {
        let value = values.next();
        let said = rest;
        rest = values.byte_offset();
        match value {
            Some(Ok(value)) => read.take(&value, &text[said..rest]),
            Some(Err(error)) if error.is_eof() => {
                read.begun = Some(text[said..].to_owned());
                return read;
            }
            Some(Err(_)) => {
                read.take_broken(&Outline::of(text[said..].as_bytes()), &text[said..]);
                return read;
            }
            None => return read,
        }
    }
    read.has_strays |= !text[rest..].trim().is_empty();
    read
}

/// What can be said of a text that cannot be read: whether it answers somebody.
pub(crate) fn broken(outline: &Outline, said: &str) -> Read {
    let mut read = Read::default();
    read.take_broken(outline, said);
    read
}

impl Read {
    fn take(&mut self, value: &Value, said: &str) {
        match value {
            Value::Object(fields) if is_of_a_log(fields) => self.has_strays = true,
            Value::Object(fields) => {
                self.is_named |= fields.contains_key(NAME);
                match Message::deserialize(mended(fields)) {
                    Ok(message) => self.push(message),
                    Err(_) => self.take_broken(&Outline::of(said.as_bytes()), said),
                }
            }
            Value::Array(batch) if !batch.is_empty() => {
                batch.iter().for_each(|message| self.take(message, &message.to_string()));
            }
            _ => self.has_strays = true,
        }
    }

    fn push(&mut self, message: Message) {
        // For `rmcp` it may be an answer to `initialize`, and to nothing else.
        self.has_strays |= matches!(&message, Message::Error(error) if error.id.is_none());
        self.messages.push(message);
    }

    /// In place of an answer that cannot be read stands a result that is none.
    fn take_broken(&mut self, outline: &Outline, said: &str) {
        let Some(id) = outline.answers() else {
            self.has_strays = true;
            return;
        };
        let result = ServerResult::CustomResult(CustomResult::new(cut(said).into()));
        self.push(Message::response(result, id));
    }
}

/// It does not name the protocol, and has fields that no message has.
fn is_of_a_log(fields: &Map<String, Value>) -> bool {
    let is_known = |name: &String| ["id", "method", "params", "result", "error"].contains(&&**name);
    !fields.contains_key(NAME) && !fields.keys().all(is_known)
}

/// With the version that it should name, and without fields that say nothing beside others.
fn mended(fields: &Map<String, Value>) -> Value {
    let is_null = |name: &str| fields.get(name) == Some(&Value::Null);
    let is_there = |name: &str| fields.contains_key(name) && !is_null(name);
    let mut mended = fields.clone();
    mended.insert(NAME.into(), "2.0".into());
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
