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
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use machine_core::response::Failure;
use machine_core::usage::Usage;
use serde_json::Value;

/// The frames of one stream.
#[derive(Debug, Default)]
pub struct Frames(Mutex<Seen>);

/// A part of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Text.
    Text(String),
    /// Thinking.
    Thinking(String),
    /// A proof of thinking, or of the call that comes next.
    Proof(String),
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
    /// An error that the provider sent.
    pub error: Option<Value>,
    /// What cannot be taken, so that something would be lost. It is damage, which another attempt may not have, or a habit of
    /// the provider.
    pub lost: Option<(Failure, Cow<'static, str>)>,
    /// Whether there was any frame with something in it. The library makes an empty one of a body that is no stream.
    pub has_begun: bool,
    /// Milliseconds to the newest frame.
    pub elapsed_ms: u64,
    /// How many calls came whole.
    whole: u32,
    /// What the wire of messages has at hand.
    block: messages::Block,
    /// The calls of the wire of responses whose head came: the id of each.
    heads: BTreeMap<u32, Option<String>>,
    /// What the wire of responses says once more later: text, and whether it came in pieces, and proofs.
    has_text: bool,
    in_pieces: bool,
    has_proofs: bool,
}

impl Frames {
    /// What the frames said so far.
    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        // A lock is poisoned by a panic between two plain writes: what stands there is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChatFrameSink for Frames {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        let mut seen = self.seen();
        seen.elapsed_ms = frame.elapsed_us / 1_000;
        match frame.data.trim() {
            "" => {}
            "[DONE]" => seen.has_end = true,
            data => match serde_json::from_str(data) {
                Ok(frame) => {
                    seen.has_begun = true;
                    seen.read(&frame);
                }
                Err(_) => seen.lost = Some((Failure::StreamCut, "a frame that is no JSON".into())),
            },
        }
    }
}

impl Seen {
    fn read(&mut self, frame: &Value) {
        let text = |path: &str| words(frame.pointer(path));
        let id = ["/message/id", "/response/id", "/responseId"].iter().find_map(|path| text(path));
        let id = id.or_else(|| text("/id").filter(|_| frame.get("choices").is_some()));
        self.message_id = id.or(self.message_id.take());
        let error =
            ["/error", "/response/error", "/choices/0/error"].iter().find_map(|path| frame.pointer(path));
        let is_error = ["/type", "/object"].iter().any(|path| text(path).is_some_and(|kind| kind == "error"));
        let error = error.filter(|error| !error.is_null()).or(Some(frame).filter(|_| is_error));
        self.error = self.error.take().or_else(|| error.cloned());
        let withheld =
            text("/response/incomplete_details/reason").or_else(|| text("/promptFeedback/blockReason"));
        self.withheld = withheld.or(self.withheld.take());
        match text("/type") {
            Some(kind) if kind.starts_with("response.") => self.read_responses(&kind, frame),
            Some(kind) => self.read_messages(&kind, frame),
            None => {
                self.read_chat(frame);
                self.read_ollama(frame);
                self.read_candidate(frame);
            }
        }
    }

    fn say(&mut self, text: Option<String>) {
        self.said.extend(text.map(Said::Text));
    }

    fn think(&mut self, text: Option<String>) {
        self.said.extend(text.map(Said::Thinking));
    }

    fn prove(&mut self, proof: Option<String>) {
        self.said.extend(proof.map(Said::Proof));
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

    /// Something that no other attempt would have either.
    fn lose(&mut self, what: impl Into<Cow<'static, str>>) {
        self.lost = Some((Failure::Unknown, what.into()));
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
