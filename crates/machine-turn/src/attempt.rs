//! What one attempt has streamed so far. It belongs to the attempt: when the attempt goes, it goes (M02).
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use machine_core::Text;
use machine_core::config::TurnLimits;
use machine_core::message::{Body, Content, Part};
use machine_core::outcome::SkipCode;
use machine_core::response::ModelEvent;
use machine_core::usage::Usage;
use serde::{Deserialize, Serialize};

/// One attempt's accumulator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Attempt {
    blocks: Vec<Block>,
    /// The block that was opened last for each index of the provider.
    by_index: BTreeMap<u32, usize>,
    /// The call that was opened last.
    last_call: Option<usize>,
    bytes: usize,
    /// What it cost so far, if that was reported.
    pub usage: Option<Usage>,
    /// The provider's id of the request (M14).
    pub request_id: Option<Text>,
    /// When the last event came, or the request left; milliseconds (M13).
    pub heard: u64,
}

/// A part in the making.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Block {
    Text(String),
    Thinking { text: String, signature: Option<Text> },
    Media { kind: Text, at: Text },
    Call { id: Text, tool: Text, args: String, bytes: usize },
}

/// What an event did to the accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// It is in.
    Yes,
    /// It fits nothing: arguments without a call (M01).
    Stray,
    /// The response is larger than allowed (A24).
    TooLarge,
}

/// A complete response, before its calls have ids.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Response {
    /// Parts and calls, in the order in which they were streamed.
    pub blocks: Vec<Streamed>,
    /// Why none of its calls may run, if so (T09).
    pub skip: Option<SkipCode>,
}

/// One part or call of a response.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Streamed {
    /// Text, thinking or media.
    Part(Part),
    /// A call as the provider sent it.
    Call {
        /// The provider's id.
        id: Text,
        /// The tool's name.
        tool: Text,
        /// Arguments as text; cut at the limit.
        args: Text,
        /// Whether the arguments were larger than allowed (A24).
        too_long: bool,
    },
}

impl Attempt {
    pub(crate) fn new(now: u64) -> Self {
        Self { heard: now, ..Self::default() }
    }

    /// Takes one event of the stream. `Stray` changes nothing.
    pub(crate) fn add(&mut self, event: &ModelEvent, limits: &TurnLimits, now: u64) -> Added {
        if matches!(event, ModelEvent::CallArgs { .. }) && self.last_call.is_none() {
            return Added::Stray;
        }
        self.heard = now;
        self.bytes = self.bytes.saturating_add(size(event));
        if self.bytes > limits.response_bytes {
            return Added::TooLarge;
        }
        match event {
            ModelEvent::Started { request_id } => {
                self.request_id = request_id.clone().or(self.request_id.take())
            }
            ModelEvent::Usage(usage) => self.usage = Some(*usage),
            ModelEvent::MessageId(_) => {}
            ModelEvent::Text(piece) | ModelEvent::Thinking { text: piece, signature: None }
                if piece.is_empty() => {}
            ModelEvent::Text(piece) => self.add_text(piece),
            ModelEvent::Thinking { text, signature } => self.add_thinking(text, signature.as_ref()),
            ModelEvent::Media { kind, at } => {
                self.blocks.push(Block::Media { kind: kind.clone(), at: at.clone() })
            }
            ModelEvent::CallStart { index, id, tool } => self.start_call(*index, id, tool),
            ModelEvent::CallArgs { index, piece } => self.add_args(*index, piece, limits.argument_bytes),
        }
        Added::Yes
    }

    fn add_text(&mut self, piece: &str) {
        match self.blocks.last_mut() {
            Some(Block::Text(text)) => text.push_str(piece),
            _ => self.blocks.push(Block::Text(piece.into())),
        }
    }

    fn add_thinking(&mut self, piece: &str, signed: Option<&Text>) {
        match self.blocks.last_mut() {
            Some(Block::Thinking { text, signature: signature @ None }) => {
                text.push_str(piece);
                *signature = signed.cloned();
            }
            _ => self.blocks.push(Block::Thinking { text: piece.into(), signature: signed.cloned() }),
        }
    }

    fn start_call(&mut self, index: u32, id: &Text, tool: &Text) {
        if let Some(at) = self.by_index.get(&index)
            && let Some(Block::Call { id: known, .. }) = self.blocks.get(*at)
            && (id.is_empty() || id == known)
        {
            return;
        }
        let at = self.blocks.len();
        self.blocks.push(Block::Call { id: id.clone(), tool: tool.clone(), args: String::new(), bytes: 0 });
        self.by_index.insert(index, at);
        self.last_call = Some(at);
    }

    fn add_args(&mut self, index: Option<u32>, piece: &str, limit: usize) {
        let known = index.and_then(|index| self.by_index.get(&index).copied());
        let at = known.or(self.last_call).and_then(|at| self.blocks.get_mut(at));
        if let Some(Block::Call { args, bytes, .. }) = at {
            // As much as fits, whatever pieces it comes in: a journal joins them (J02).
            if *bytes <= limit {
                args.push_str(&piece[..piece.floor_char_boundary(limit - *bytes)]);
            }
            *bytes = bytes.saturating_add(piece.len());
        }
    }

    pub(crate) fn has_calls(&self) -> bool {
        self.last_call.is_some()
    }

    /// Whether there is something to see: text that is not blank, or media.
    pub(crate) fn is_visible(&self) -> bool {
        self.blocks.iter().any(|block| match block {
            Block::Text(text) => !text.trim().is_empty(),
            Block::Media { .. } => true,
            Block::Thinking { .. } | Block::Call { .. } => false,
        })
    }

    /// The whole response.
    pub(crate) fn assemble(self, skip: Option<SkipCode>, limits: &TurnLimits) -> Response {
        let blocks = self.blocks.into_iter().map(|block| match block {
            Block::Call { id, tool, args, bytes } => {
                Streamed::Call { id, tool, args: args.into(), too_long: bytes > limits.argument_bytes }
            }
            Block::Text(text) => Streamed::Part(Part::text(text)),
            Block::Thinking { text, signature } => {
                Streamed::Part(Body::Thinking { text: text.into(), signature }.into())
            }
            Block::Media { kind, at } => Streamed::Part(Body::Media { kind, at }.into()),
        });
        Response { blocks: blocks.collect(), skip }
    }

    /// What may be kept of an aborted response: its visible text, if any (M11).
    pub(crate) fn salvage(self) -> Option<Content> {
        let parts: Vec<Part> = self
            .blocks
            .into_iter()
            .filter_map(|block| match block {
                Block::Text(text) if !text.trim().is_empty() => Some(Part::text(text)),
                _ => None,
            })
            .collect();
        (!parts.is_empty()).then(|| parts.into())
    }
}

fn size(event: &ModelEvent) -> usize {
    match event {
        ModelEvent::Text(text) | ModelEvent::MessageId(text) => text.len(),
        // At least one: what takes room is counted.
        ModelEvent::Thinking { text, signature } => {
            text.len() + signature.as_ref().map_or(0, |s| s.len() + 1)
        }
        ModelEvent::CallStart { id, tool, .. } => id.len() + tool.len() + 1,
        ModelEvent::CallArgs { piece, .. } => piece.len(),
        ModelEvent::Media { kind, at } => kind.len() + at.len() + 1,
        ModelEvent::Started { .. } | ModelEvent::Usage(_) => 0,
    }
}
