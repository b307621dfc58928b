//! Pieces of a stream that are written late, as one record (J02). To handle them joined leads to the same engine as to
//! handle them one by one.
use alloc::string::String;

use machine_core::ask::{Piece, Subject};
use machine_core::ids::AskId;
use machine_core::input::Input;
use machine_core::response::ModelEvent;

/// Bytes of text that wait at most.
const MOST: usize = 64 << 10;

/// What waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deltas(Option<Waiting>);

/// Deltas of one kind in one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Waiting {
    ask: AskId,
    about: Option<Subject>,
    /// When the last one came.
    at: u64,
    kind: Kind,
    text: String,
    /// Where the last one begins, and when the one before it came; none if it is the only one.
    last: Option<(usize, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Args(Option<u32>),
}

/// What is to be written of it.
pub(crate) struct Joined {
    pub(crate) at: u64,
    pub(crate) about: Option<Subject>,
    pub(crate) input: Input,
}

impl Deltas {
    /// Takes a delta, if it is one that may join those that wait, or the first to wait.
    pub(crate) fn take(&mut self, at: u64, about: Option<&Subject>, input: &Input) -> bool {
        let Some((ask, kind, text)) = delta(input) else { return false };
        match &mut self.0 {
            Some(waiting)
                if (waiting.ask, waiting.kind) == (ask, kind) && waiting.text.len() + text.len() <= MOST =>
            {
                waiting.last = Some((waiting.text.len(), waiting.at));
                waiting.text.push_str(text);
                waiting.at = waiting.at.max(at);
                true
            }
            Some(_) => false,
            None => {
                self.0 =
                    Some(Waiting { ask, about: about.cloned(), at, kind, text: text.into(), last: None });
                true
            }
        }
    }

    /// The last delta was too much for its stream, which is over: it stays apart, so that what came before it is taken
    /// in again (M11). Gives what came before.
    pub(crate) fn part(&mut self) -> Option<Joined> {
        let waiting = self.0.as_mut()?;
        let (begins, before) = waiting.last.take()?;
        let text = waiting.text.split_off(begins);
        let Waiting { ask, at, kind, .. } = *waiting;
        let rest = Waiting { ask, about: waiting.about.clone(), at, kind, text, last: None };
        waiting.at = before;
        let joined = self.flush();
        self.0 = Some(rest);
        joined
    }

    /// The stream that a delta which waits belongs to.
    pub(crate) fn ask(&self) -> Option<AskId> {
        self.0.as_ref().map(|waiting| waiting.ask)
    }

    /// What waits is to be written now.
    pub(crate) fn flush(&mut self) -> Option<Joined> {
        let Waiting { ask, about, at, kind, text, last: _ } = self.0.take()?;
        let text = text.into();
        let event = match kind {
            Kind::Text => ModelEvent::Text(text),
            Kind::Thinking => ModelEvent::Thinking { text, signature: None },
            Kind::Args(index) => ModelEvent::CallArgs { index, piece: text },
        };
        Some(Joined { at, about, input: Input::Piece { ask, piece: Piece::Model(event) } })
    }
}

/// A piece that is nothing but more text.
fn delta(input: &Input) -> Option<(AskId, Kind, &str)> {
    let Input::Piece { ask, piece: Piece::Model(event) } = input else { return None };
    let (kind, text) = match event {
        ModelEvent::Text(text) => (Kind::Text, text),
        ModelEvent::Thinking { text, signature: None } => (Kind::Thinking, text),
        ModelEvent::CallArgs { index, piece } => (Kind::Args(*index), piece),
        _ => return None,
    };
    Some((*ask, kind, text))
}
