//! Events of a stream, and a response in words.
use crate::common::*;
use machine_core::message::Body;
use machine_core::response::{Finish, ModelEvent};
use machine_turn::attempt::Streamed;

pub fn start(index: u32, id: &str) -> ModelEvent {
    ModelEvent::CallStart { index, id: id.into(), tool: "t".into() }
}

pub fn args(index: Option<u32>, piece: &str) -> ModelEvent {
    ModelEvent::CallArgs { index, piece: piece.into() }
}

pub fn text(piece: &str) -> ModelEvent {
    ModelEvent::Text(piece.into())
}

pub fn thinking(piece: &str, signature: Option<&str>) -> ModelEvent {
    ModelEvent::Thinking { text: piece.into(), signature: signature.map(Into::into) }
}

/// One word a block.
pub fn shown(blocks: &[Streamed]) -> Vec<String> {
    let block = |block: &Streamed| match block {
        Streamed::Call { id, tool, args, too_long } => {
            format!("call {id} {tool} {args}{}", if *too_long { " too long" } else { "" })
        }
        Streamed::Part(part) => match &part.body {
            Body::Text(text) => format!("text {text}"),
            Body::Thinking { text, signature } => {
                format!(
                    "thinking {text}{}",
                    signature.as_ref().map(|s| format!(" signed {s}")).unwrap_or_default()
                )
            }
            Body::Media { kind, at } => format!("media {kind} {at}"),
            other => panic!("{other:?}"),
        },
    };
    blocks.iter().map(block).collect()
}

/// The response that these events make.
pub fn response(events: &[ModelEvent]) -> Vec<String> {
    let mut turn = Driven::default_turn();
    turn.stream(events);
    turn.finish(Finish::ToolUse);
    let responses = turn.responses();
    let [response] = &responses[..] else { panic!("it was empty: {events:?}") };
    shown(&response.blocks)
}
