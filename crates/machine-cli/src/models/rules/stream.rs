//! From a step to the pieces of a stream.
use machine_core::history::History;
use machine_core::message::Body;
use machine_core::response::{Finish, ModelEvent};
use machine_core::usage::Usage;

use super::plan::Step;
use crate::models::{Reply, pieces};

/// Characters in a token, about.
const CHARS_PER_TOKEN: usize = 4;

/// The stream of a step. The ids of its calls follow from the length of the history, so that they are new.
pub(super) fn reply(history: &History, step: Step) -> Reply {
    let Step { text, calls } = step;
    let mut events = vec![ModelEvent::Started { request_id: None }];
    events.extend(pieces::words(&text).into_iter().map(ModelEvent::Text));
    let mut output = text.chars().count();
    for (index, call) in (0..).zip(&calls) {
        let id = format!("call_{}_{index}", history.len());
        events.extend(pieces::call(index, &id, call.tool, &call.args));
        output += call.tool.len() + call.args.chars().count();
    }
    events.push(ModelEvent::Usage(Usage {
        input: tokens(input_chars(history)),
        output: tokens(output),
        cached: 0,
    }));
    Reply { events, finish: if calls.is_empty() { Finish::EndTurn } else { Finish::ToolUse } }
}

fn input_chars(history: &History) -> usize {
    let parts = history.iter().flat_map(|entry| entry.message.content().iter());
    parts
        .map(|part| match &part.body {
            Body::Text(text) | Body::Thinking { text, .. } => text.chars().count(),
            Body::Call(call) => call.tool.len() + call.args.chars().count(),
            Body::Media { .. } => 0,
        })
        .sum()
}

fn tokens(chars: usize) -> u64 {
    chars.div_ceil(CHARS_PER_TOKEN) as u64
}
