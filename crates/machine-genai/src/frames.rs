//! What a provider sent, read frame by frame.
//!
//! The library calls [`Frames`] with each frame before it gives its own events of it, and reads the next frame only when these are
//! taken. Its events are of use as signs that there is something to read: they leave out much, and join what stood apart.
//! How each wire says it stands in a module of its own.
mod chat;
mod gemini;
mod messages;
mod ollama;
mod responses;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use genai::adapter::AdapterKind;
use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use machine_core::response::Failure;
use machine_core::usage::Usage;
use serde_json::Value;

use crate::wire::Wire;

/// The frames of one stream.
#[derive(Debug)]
pub struct Frames {
    seen: Mutex<Seen>,
    reading: Mutex<Reading>,
}

/// A part of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Text.
    Text(String),
    /// Thinking.
    Thinking(String),
    /// A signature of thinking, or of the part that comes next.
    Signature(String),
    /// Media that the model made: type, and data in base64.
    Media(String, String),
    /// A piece of a call.
    Piece(Piece),
}

/// A piece of a call, as the provider sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The provider's position of the call, or its place among those that came whole.
    pub index: u32,
    /// The provider's id, if it stands in this frame.
    pub id: Option<String>,
    /// The name of the tool, if it stands in this frame.
    pub tool: Option<String>,
    /// What it says of the arguments.
    pub args: Args,
}

/// Arguments as they came (V09).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Args {
    /// They go on with this.
    More(String),
    /// This is all of them. Empty: nothing is said of them.
    Whole(String),
}

/// What the frames said so far.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The answer, as far as it was not told yet.
    pub said: VecDeque<Said>,
    /// The provider's id of the message.
    pub message_id: Option<String>,
    /// Tokens so far.
    pub usage: Option<Usage>,
    /// Why it ended, in the provider's own word.
    pub stop: Option<String>,
    /// Whether it said that nothing more comes.
    pub has_end: bool,
    /// Why the provider withheld the response, or cut it, where its word for the end does not say so.
    pub withheld: Option<String>,
    /// An error that the provider sent: the first one.
    pub error: Option<Value>,
    /// What cannot be taken, so that something would be lost: the first of it. It is damage, which another attempt may not have, or a
    /// habit of the provider.
    pub lost: Option<(Failure, Cow<'static, str>)>,
    /// Whether there was any frame with something in it. The library makes an empty one of a body that is no stream.
    pub has_begun: bool,
    /// Milliseconds to the newest frame.
    pub elapsed_ms: u64,
    /// How many calls came whole.
    whole: u32,
}

/// How the frames are read, with what one says of another.
#[derive(Debug)]
enum Reading {
    Chat,
    Responses(responses::Reading),
    Messages(messages::Reading),
    Gemini,
    Ollama,
}

impl Frames {
    /// Of a stream of this provider.
    pub fn new(kind: AdapterKind) -> Self {
        let reading = match Wire::of(kind) {
            Wire::Chat => Reading::Chat,
            Wire::Responses => Reading::Responses(responses::Reading::default()),
            Wire::Messages => Reading::Messages(messages::Reading::default()),
            Wire::Gemini => Reading::Gemini,
            Wire::Ollama => Reading::Ollama,
        };
        Self { seen: Mutex::default(), reading: Mutex::new(reading) }
    }

    /// What the frames said so far.
    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        // A lock is poisoned by a panic between two plain writes: what stands there is whole.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChatFrameSink for Frames {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seen = self.seen();
        seen.elapsed_ms = frame.elapsed_us / 1_000;
        match frame.data.trim() {
            "" => {}
            "[DONE]" => seen.has_end = true,
            data => match serde_json::from_str(data) {
                Ok(frame) => {
                    seen.has_begun = true;
                    reading.read(&mut seen, &frame);
                }
                Err(_) => seen.lose(Failure::StreamCut, "a frame that is no JSON"),
            },
        }
    }
}

impl Reading {
    fn read(&mut self, seen: &mut Seen, frame: &Value) {
        seen.note_error(frame);
        match self {
            Self::Chat => chat::read(seen, frame),
            Self::Responses(reading) => reading.read(seen, frame),
            Self::Messages(reading) => reading.read(seen, frame),
            Self::Gemini => gemini::read(seen, frame),
            Self::Ollama => ollama::read(seen, frame),
        }
    }
}

impl Seen {
    /// All wires say an error alike, and some in the whole frame.
    fn note_error(&mut self, frame: &Value) {
        let is_error =
            ["type", "object"].iter().any(|name| frame.get(name).is_some_and(|kind| kind == "error"));
        let error = frame.get("error").filter(|error| !error.is_null());
        self.fail(error.or(Some(frame).filter(|_| is_error)));
    }

    fn fail(&mut self, error: Option<&Value>) {
        self.error = self.error.take().or_else(|| error.filter(|error| !error.is_null()).cloned());
    }

    fn name(&mut self, id: Option<&Value>) {
        self.message_id = words(id).or(self.message_id.take());
    }

    fn say(&mut self, text: Option<String>) {
        self.said.extend(text.map(Said::Text));
    }

    fn think(&mut self, text: Option<String>) {
        self.said.extend(text.map(Said::Thinking));
    }

    fn sign(&mut self, signature: Option<String>) {
        self.said.extend(signature.map(Said::Signature));
    }

    fn call(&mut self, index: u32, id: Option<String>, tool: Option<String>, args: Args) {
        self.said.push_back(Said::Piece(Piece { index, id, tool, args }));
    }

    /// A call that came in one frame.
    fn call_whole(&mut self, id: Option<&Value>, tool: Option<&Value>, args: Option<&Value>) {
        let index = self.whole;
        self.whole = self.whole.saturating_add(1);
        self.call(index, words(id), words(tool), whole(args));
    }

    fn lose(&mut self, kind: Failure, what: impl Into<Cow<'static, str>>) {
        self.lost.get_or_insert_with(|| (kind, what.into()));
    }

    /// Something that no other attempt would have either.
    fn lose_always(&mut self, what: impl Into<Cow<'static, str>>) {
        self.lose(Failure::Unknown, what);
    }
}

fn more(text: Option<&Value>) -> Args {
    Args::More(words(text).unwrap_or_default())
}

/// All arguments: a text as it is, anything else as JSON.
fn whole(args: Option<&Value>) -> Args {
    Args::Whole(match args {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(args) => args.to_string(),
    })
}

fn number(value: Option<&Value>) -> Option<u32> {
    value.and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok())
}

/// A text with something in it.
fn words(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests;
