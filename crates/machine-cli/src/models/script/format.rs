//! The YAML format of a script, and how each response of it becomes a stream.
use std::fmt;
use std::time::Duration;

use machine_core::Text;
use machine_core::response::{Failure, Finish, ModelError, ModelEvent};
use machine_core::usage::Usage;
use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess};

use super::ScriptReply;
use super::args::Args;
use crate::models::pieces;

/// One response, as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Response {
    delay_ms: u64,
    piece_delay_ms: u64,
    thinking: Pieces,
    text: Pieces,
    calls: Vec<Call>,
    usage: Option<Usage>,
    finish: Option<Finish>,
    fail: Option<Fail>,
    cut: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    tool: String,
    #[serde(default)]
    args: Args,
    id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fail {
    kind: Failure,
    message: Option<String>,
    retry_after_ms: Option<u64>,
}

/// A text is one piece, a list has a piece per item.
#[derive(Debug, Default)]
struct Pieces(Vec<String>);

impl Response {
    /// Builds the stream; `at` is its position, from 1. The error says what does not fit together.
    pub(super) fn into_reply(self, at: usize) -> Result<ScriptReply, &'static str> {
        let Self { delay_ms, piece_delay_ms, thinking, text, calls, usage, finish, fail, cut } = self;
        if cut && fail.is_some() {
            return Err("`cut` and `fail` exclude each other: a cut stream is the failure `stream_cut`");
        }
        if finish.is_some() && (cut || fail.is_some()) {
            return Err("`finish` fits neither `fail` nor `cut`: what fails does not finish");
        }
        let natural = if calls.is_empty() { Finish::EndTurn } else { Finish::ToolUse };
        let thinking = thinking.texts().map(|text| ModelEvent::Thinking { text, signature: None });
        let mut events: Vec<_> = thinking.chain(text.texts().map(ModelEvent::Text)).collect();
        for (index, call) in (0..).zip(calls) {
            let id = call.id.unwrap_or_else(|| format!("call_{at}_{index}"));
            events.extend(pieces::call(index, &id, &call.tool, &call.args.0));
        }
        events.extend(usage.map(ModelEvent::Usage));
        let fail = match fail {
            Some(fail) => Some(fail.into_error()),
            None if cut => Some(ModelError::new(Failure::StreamCut, "the script cuts the stream here")),
            None => None,
        };
        // What fails before it says anything was never answered at all.
        if fail.is_none() || !events.is_empty() {
            events.insert(0, ModelEvent::Started { request_id: None });
        }
        Ok(ScriptReply {
            delay: Duration::from_millis(delay_ms),
            piece_delay: Duration::from_millis(piece_delay_ms),
            events,
            end: fail.map_or(Ok(finish.unwrap_or(natural)), Err),
        })
    }
}

impl Fail {
    fn into_error(self) -> ModelError {
        let message = self.message.unwrap_or_else(|| "the script lets this attempt fail".to_owned());
        ModelError { retry_after_ms: self.retry_after_ms, ..ModelError::new(self.kind, message) }
    }
}

impl Pieces {
    fn texts(self) -> impl Iterator<Item = Text> {
        self.0.into_iter().map(Text::from)
    }
}

impl<'de> Deserialize<'de> for Pieces {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(PiecesVisitor)
    }
}

struct PiecesVisitor;

impl<'de> de::Visitor<'de> for PiecesVisitor {
    type Value = Pieces;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of texts")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Pieces, E> {
        Ok(Pieces(vec![text.to_owned()]))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Pieces, E> {
        Ok(Pieces::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Pieces, A::Error> {
        let mut pieces = Vec::new();
        while let Some(piece) = items.next_element()? {
            pieces.push(piece);
        }
        Ok(Pieces(pieces))
    }
}
