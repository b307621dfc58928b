//! How much text hooks may put into history in one turn: messages of a gate and of a stop hook, notes and messages that
//! they add to results. What is too much is cut, and the report names the hook (H09). A message counts in the turn that
//! reads it, what a hook adds to a result when the call settles.
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use machine_core::Text;
use machine_core::event::Event as Report;
use machine_core::message::{Body, Content, Part, sayable, text_content};
use machine_core::outcome::{Settlement, ToolResult};
use serde::{Deserialize, Serialize};

use crate::deliver::Run;
use crate::engine::Engine;

/// What hooks said since the last turn ended. It is that of the next turn that begins now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct HookText {
    /// Characters (Unicode scalar values).
    used: usize,
}

impl Run<'_> {
    /// What may go into history of a hook's message. Media has no length, and stays.
    pub(crate) fn hook_says(&mut self, hook: &Text, content: &Content) -> Content {
        let content = sayable(content);
        // What opens a turn goes into history before its machine is there.
        let Engine { turn, turn_config, config, hook_text, .. } = &*self.engine;
        let config = if turn.is_some() { turn_config } else { config };
        let room = config.turn.hook_chars.saturating_sub(hook_text.used);
        let chars = content.iter().map(|part| part.chars()).sum();
        self.engine.hook_text.used += room.min(chars);
        if chars <= room {
            return content;
        }
        self.out.events.push(Report::HookTextCut { hook: hook.clone(), chars, kept: room });
        cut(&content, room, chars)
    }

    /// A result as it may be told: what a hook added to it counts as the hook's.
    pub(crate) fn hook_adds(&mut self, settlement: &Settlement) -> Settlement {
        let mut settlement = settlement.clone();
        let Some((result, hook)) = settlement.result.as_ref().and_then(|r| Some((r, r.hook.clone()?))) else {
            return settlement;
        };
        let note = result.note.clone().map(|note| one_text(&self.hook_says(&hook, &text_content(note))));
        let deliver = result.deliver.as_ref().map(|message| self.hook_says(&hook, message));
        if (&note, &deliver) != (&result.note, &result.deliver) {
            settlement.result = Some(Arc::new(ToolResult { note, deliver, ..(**result).clone() }));
        }
        settlement
    }
}

/// The first `room` characters, and a marker.
fn cut(content: &Content, mut room: usize, chars: usize) -> Content {
    let left_out = chars - room;
    let mut parts = Vec::with_capacity(content.len() + 1);
    for part in content.iter() {
        let Body::Text(text) = &part.body else {
            parts.push(part.clone());
            continue;
        };
        let end = text.char_indices().nth(room).map_or(text.len(), |(end, _)| end);
        room -= text[..end].chars().count();
        if end > 0 {
            parts.push(Part { body: Body::Text(text[..end].into()), ..part.clone() });
        }
    }
    let marker = format!("[{left_out} characters left out: hooks said too much in this turn.]");
    parts.push(Part::text(marker));
    parts.into()
}

/// A note is one text.
fn one_text(content: &Content) -> Text {
    let texts: Vec<&str> = content.iter().filter_map(Part::as_text).collect();
    texts.join("\n").into()
}
