//! What the model streams in a long run.
use std::collections::VecDeque;
use std::sync::Arc;

use machine_core::Text;
use machine_core::ask::Answer;
use machine_core::response::{Failure, Finish, Finished, ModelError, ModelEvent};
use machine_core::usage::Usage;

use super::settings::{Settings, TOOLS};
use super::tools::Tools;
use crate::draw::Draw;

/// What is still to come of a response.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Stream {
    pub(super) pieces: VecDeque<ModelEvent>,
    pub(super) end: Answer,
}

/// What the run may still have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Left {
    pub(super) responses: u32,
    pub(super) calls: u32,
    pub(super) failures: u32,
}

impl Stream {
    /// A response, or a failed one; the first choice is a last word.
    pub(super) fn drawn(
        settings: &Settings,
        left: &mut Left,
        tools: Option<&Tools>,
        draw: &mut impl Draw,
    ) -> Self {
        let mut pieces = VecDeque::new();
        let kind = draw.below(16);
        if kind > 13 && left.failures > 0 {
            left.failures -= 1;
            return if draw.flag() { Self::empty(draw) } else { Self::failed(draw) };
        }
        let text = |draw: &mut dyn FnMut(usize) -> usize| "words ".repeat(1 + draw(4)).into();
        if draw.flag() {
            pieces.push_back(ModelEvent::Started { request_id: draw.flag().then(|| "request".into()) });
        }
        if draw.flag() {
            let signature = draw.flag().then(|| "signed".into());
            pieces.push_back(ModelEvent::Thinking { text: "first ".into(), signature: None });
            pieces.push_back(ModelEvent::Thinking { text: "then".into(), signature });
        }
        pieces.push_back(ModelEvent::Text(text(&mut |n| draw.below(n))));
        if draw.flag() {
            pieces.push_back(ModelEvent::Usage(usage(draw)));
        }
        let most = match tools {
            Some(tools) if tools.calls.is_empty() => 0,
            _ => settings.calls.min(left.calls),
        };
        if kind > 0 && left.responses > 0 && most > 0 {
            let count = 1 + draw.number(most);
            left.responses -= 1;
            left.calls -= count;
            match tools {
                Some(tools) => tools.stream(&mut pieces, count, draw),
                None => calls(&mut pieces, count, settings.habits.malformed, draw),
            }
        }
        if draw.flag() {
            pieces.push_back(ModelEvent::Media { kind: "image/png".into(), at: "digest".into() });
            pieces.push_back(ModelEvent::MessageId("message".into()));
            pieces.push_back(ModelEvent::Usage(usage(draw)));
        }
        let finish = match draw.below(32) {
            0..=19 => Finish::ToolUse,
            20..=27 => Finish::EndTurn,
            28 => Finish::MaxTokens,
            29 => Finish::Suspended,
            30 => Finish::Filtered,
            _ => Finish::Other,
        };
        let usage = draw.flag().then(|| usage(draw));
        Self { pieces, end: Answer::Finished(Arc::new(Finished { usage, ..Finished::new(finish) })) }
    }

    /// Nothing, blank text or thinking only (T11).
    fn empty(draw: &mut impl Draw) -> Self {
        let pieces = match draw.below(3) {
            0 => VecDeque::new(),
            1 => [ModelEvent::Text(" \n".into()), ModelEvent::Usage(usage(draw))].into(),
            _ => [ModelEvent::Thinking { text: "hm".into(), signature: Some("signed".into()) }].into(),
        };
        Self { pieces, end: Answer::Finished(Arc::new(Finished::new(Finish::EndTurn))) }
    }

    fn failed(draw: &mut impl Draw) -> Self {
        let mut pieces = VecDeque::new();
        for _ in 0..draw.below(4) {
            pieces.push_back(ModelEvent::Text("half ".into()));
        }
        if draw.flag() {
            pieces.push_back(ModelEvent::Usage(usage(draw)));
            calls(&mut pieces, 1, false, draw);
        }
        let kind = draw.one_of(&[
            Failure::Overloaded,
            Failure::RateLimit,
            Failure::StreamCut,
            Failure::ContextOverflow,
            Failure::InvalidRequest,
            Failure::Connection,
        ]);
        let error = ModelError {
            retry_after_ms: draw.one_of(&[None, Some(10), Some(10_000_000)]),
            usage: draw.flag().then(|| usage(draw)),
            ..ModelError::new(kind, "no")
        };
        Self { pieces, end: Answer::AttemptFailed(Arc::new(error)) }
    }
}

/// Calls with their arguments, some in pieces; what they are follows from one choice.
fn calls(pieces: &mut VecDeque<ModelEvent>, count: u32, malformed: bool, draw: &mut impl Draw) {
    let seed = draw.number(60);
    for index in 0..count {
        let variant = if malformed { (seed + index * 7) % 13 } else { 0 };
        let id: Text = match variant {
            1 => "".into(),
            2 => "same".into(),
            3 => "not legal!".into(),
            _ => format!("id_{seed}_{index}").into(),
        };
        let name: Text = match variant {
            4 => "".into(),
            5 => "no name!".into(),
            _ => TOOLS[(seed + index) as usize % TOOLS.len()].into(),
        };
        let args = match variant {
            6 => "[]",
            7 => "{\"a\":",
            8 => "null",
            9 => "",
            _ if (seed + index).is_multiple_of(3) => "{}",
            _ => r#"{"path":"/a/b"}"#,
        };
        // One index for all is taken for one call by its id (M01).
        let at = if variant == 10 { 0 } else { index };
        pieces.push_back(ModelEvent::CallStart { index: at, id: id.clone(), tool: name.clone() });
        if variant == 11 {
            pieces.push_back(ModelEvent::CallStart { index: at, id, tool: name });
        }
        let (first, rest) = args.split_at(args.len() / 2);
        for piece in [first, rest].into_iter().filter(|piece| !piece.is_empty()) {
            let index = (variant != 12).then_some(at);
            pieces.push_back(ModelEvent::CallArgs { index, piece: piece.into() });
        }
    }
}

pub(super) fn usage(draw: &mut impl Draw) -> Usage {
    Usage { input: draw.one_of(&[10, 0, 150]), output: draw.one_of(&[1, 30]), cached: draw.one_of(&[0, 5]) }
}
