//! What the library leaves out of its events, read from what the provider sent.
//!
//! The library calls [`Frames`] with each frame before it gives the events of that frame, and reads the next frame only when
//! these are taken. So what stands here belongs to the events that come next. How each wire says it stands in a module of its own.
mod chat;
mod gemini;
mod messages;
mod ollama;
mod responses;

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use machine_core::response::Failure;
use machine_core::usage::Usage;
use serde_json::Value;

/// The frames of one stream.
#[derive(Debug, Default)]
pub struct Frames(Mutex<Seen>);

/// A piece of a call, as the provider sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The provider's position of the call, or its place among those that came whole.
    pub index: u32,
    /// The provider's id, if it stands in this frame. What the library makes up where there is none is no id (V03).
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

/// What the library does not tell, or not in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Untold {
    /// Text.
    Text(String),
    /// A proof of thinking.
    Proof(String),
    /// Media that the model made: type, and data in base64.
    Media(String, String),
    /// A piece of a call.
    Piece(Piece),
}

/// What the frames said so far.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The pieces of calls in the newest frame, in order: one for each event of a call that the library gives next. Some of its
    /// own have all arguments so far in each.
    pub pieces: VecDeque<Piece>,
    /// What came before the newest event and was not told yet, in order.
    pub untold: VecDeque<Untold>,
    /// The content block that the newest frame belongs to, where the provider counts them.
    pub block: Option<u32>,
    /// Whether there were any proofs of thinking that the library does not tell until the end.
    pub has_proofs: bool,
    /// The signatures of the calls in the newest frame: they come with their calls once more.
    pub signed_calls: Vec<String>,
    /// Whether proofs may come with the end alone.
    pub has_late_proofs: bool,
    /// The provider's id of the message.
    pub message_id: Option<String>,
    /// Tokens so far, where they are told before the end.
    pub usage: Option<Usage>,
    /// Those of the input that were written to a cache, where they are told apart.
    written: u64,
    /// Why the provider withheld the response, or cut it: what the library does not pass on.
    pub withheld: Option<String>,
    /// An error that the provider sent.
    pub error: Option<Value>,
    /// What the library passes over in silence, so that something would be lost. It is damage, which another attempt may not
    /// have, or a habit of the provider.
    pub lost: Option<(Failure, Cow<'static, str>)>,
    /// Whether there was any frame with something in it. The library makes an empty one of a body that is no stream.
    pub has_begun: bool,
    /// Whether a frame said that it is the last one. The library passes over one that has not all fields.
    pub has_end: bool,
    /// Milliseconds to the newest frame.
    pub elapsed_ms: u64,
    /// The positions of calls whose head came, where pieces have no id.
    heads: BTreeSet<u32>,
    /// How many calls came whole.
    whole: u32,
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
        let left = std::mem::take(&mut seen.pieces);
        seen.untold.extend(left.into_iter().map(Untold::Piece));
        seen.signed_calls.clear();
        match frame.data.trim() {
            "" | "[DONE]" => {}
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
        let text = |path: &str| frame.pointer(path).and_then(Value::as_str).filter(|text| !text.is_empty());
        let id = ["/message/id", "/response/id", "/responseId"].iter().find_map(|path| text(path));
        let id = id.or_else(|| text("/id").filter(|_| frame.get("choices").is_some()));
        self.message_id = id.map(str::to_owned).or(self.message_id.take());
        let error = ["/error", "/response/error"].iter().find_map(|path| frame.pointer(path));
        self.error = error.filter(|error| !error.is_null()).cloned().or(self.error.take());
        let withheld = text("/response/incomplete_details/reason").or(text("/promptFeedback/blockReason"));
        self.withheld = withheld.map(str::to_owned).or(self.withheld.take());
        match text("/type") {
            Some(kind) if kind.starts_with("response.") => self.read_responses(kind, frame),
            Some(kind) => self.read_messages(kind, frame),
            None => {
                self.read_chat(frame);
                self.read_ollama(frame);
                self.read_candidate(frame);
            }
        }
    }

    /// A call that came in one frame.
    fn add_whole(&mut self, id: Option<&Value>, tool: Option<&Value>, args: Option<&Value>) {
        let index = self.whole;
        self.whole = self.whole.saturating_add(1);
        self.pieces.push_back(Piece { index, id: string(id), tool: string(tool), args: whole(args) });
    }

    fn prove(&mut self, proof: Option<String>) {
        let proof = proof.filter(|proof| !proof.is_empty());
        self.has_proofs |= proof.is_some();
        self.untold.extend(proof.map(Untold::Proof));
    }

    /// Something that no other attempt would have either.
    fn lose(&mut self, what: impl Into<Cow<'static, str>>) {
        self.lost = Some((Failure::Unknown, what.into()));
    }
}

fn more(text: Option<&Value>) -> Args {
    Args::More(string(text).unwrap_or_default())
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

fn string(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_of_tokens_have_an_end() {
        let most = u64::MAX;
        let wanted = Some(Usage { input: most, output: most, cached: most });
        let gemini = json!({"usageMetadata": {"promptTokenCount": most, "candidatesTokenCount": most, "thoughtsTokenCount": most, "cachedContentTokenCount": most}});
        let usage = json!({"input_tokens": most, "cache_read_input_tokens": most, "cache_creation_input_tokens": most, "output_tokens": most});
        for frame in [gemini, json!({"type": "message_start", "message": {"usage": usage}})] {
            let mut seen = Seen::default();
            seen.read(&frame);
            assert_eq!(seen.usage, wanted, "{frame}");
        }
    }

    /// A later frame may leave out what does not change.
    #[test]
    fn tokens_that_were_told_once_stay() {
        let mut seen = Seen::default();
        let first = json!({"input_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 11, "output_tokens": 1});
        seen.read(&json!({"type": "message_start", "message": {"usage": first}}));
        seen.read(&json!({"type": "message_delta", "usage": {"input_tokens": 5, "output_tokens": 9}}));
        assert_eq!(seen.usage, Some(Usage { input: 23, output: 9, cached: 7 }));
    }
}
