//! How much text hooks may put into the history of one turn (H09).
use std::sync::{Mutex, PoisonError};

use machine_core::Text;
use machine_core::ids::TurnId;
use machine_core::message::{Body, Content, Part};

/// Characters that the hooks of an agent may add in a turn, if nobody says otherwise.
pub(crate) const HOOK_TEXT: usize = 100_000;

/// What may be added, and what was.
#[derive(Debug)]
pub(crate) struct Budget {
    chars: usize,
    spent: Mutex<Spent>,
}

#[derive(Debug, Default)]
struct Spent {
    /// None: before the first turn.
    turn: Option<TurnId>,
    chars: usize,
}

impl Budget {
    pub(crate) fn of(chars: usize) -> Self {
        Self { chars, spent: Mutex::default() }
    }

    /// A message of this hook, as far as the budget of the turn goes. What is cut ends with a marker that names the
    /// hook; media is not counted.
    pub(crate) fn cut(&self, turn: Option<TurnId>, hook: &str, message: Content) -> Content {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        if spent.turn != turn {
            *spent = Spent { turn, chars: 0 };
        }
        let said: usize = message.iter().filter_map(text_of).map(|text| text.chars().count()).sum();
        let room = self.chars.saturating_sub(spent.chars);
        spent.chars = spent.chars.saturating_add(said.min(room));
        if said <= room {
            return message;
        }
        tracing::warn!(hook, left_out = said - room, "a hook says too much");
        let marker = format!("\n[{} characters of the hook `{hook}` left out.]", said - room);
        shorten(&message, room).chain([Part::text(marker)]).collect()
    }
}

/// The first characters of its texts.
fn shorten(message: &Content, mut room: usize) -> impl Iterator<Item = Part> + '_ {
    message.iter().filter_map(move |part| {
        let Some(text) = text_of(part) else { return Some(part.clone()) };
        let kept = text.char_indices().nth(room).map_or(&**text, |(end, _)| &text[..end]);
        room -= kept.chars().count();
        (!kept.is_empty()).then(|| Part::text(kept))
    })
}

fn text_of(part: &Part) -> Option<&Text> {
    match &part.body {
        Body::Text(text) => Some(text),
        Body::Thinking { .. } | Body::Media { .. } | Body::Call(_) => None,
    }
}
