//! The calls of one response: whose each piece is.
use std::collections::{BTreeMap, BTreeSet};

use machine_core::response::{Failure, ModelError};
use machine_host::ModelOut;

use crate::frames::{Args, Piece};

/// The calls so far.
#[derive(Debug, Default)]
pub struct Calls {
    known: BTreeMap<u32, Known>,
    /// The ids of those whose position another one has taken.
    past: BTreeSet<String>,
}

/// One call.
#[derive(Debug, Default)]
struct Known {
    id: String,
    /// Empty as long as no piece had it.
    tool: String,
    /// All of its arguments so far.
    said: String,
}

impl Calls {
    /// Passes on what is new in a piece. On a used position an id of its own begins another call, if there is a name with it (M01).
    /// A call is told when its name is known.
    pub async fn piece(&mut self, piece: Piece, out: &ModelOut) -> Result<(), ModelError> {
        let Piece { index, id, tool, args } = piece;
        let (id, tool) = (id.unwrap_or_default(), tool.unwrap_or_default());
        let goes_on = |known: &&mut Known| {
            let is_named = !known.tool.is_empty() && !tool.is_empty();
            id.is_empty() || id == known.id || !is_named
        };
        let known = match self.known.get_mut(&index).filter(goes_on) {
            Some(_) if tool.is_empty() && self.past.contains(&id) => {
                return Err(lost(format!("pieces of two calls at the position {index}")));
            }
            Some(known) => known,
            None => {
                let begun = Known { id: id.clone(), ..Known::default() };
                let past = self.known.insert(index, begun).map(|known| known.id);
                self.past.extend(past.filter(|past| !past.is_empty()));
                self.known.entry(index).or_default()
            }
        };
        let is_new = known.tool.is_empty() && !tool.is_empty();
        if is_new {
            known.id = if id.is_empty() { std::mem::take(&mut known.id) } else { id };
            known.tool = tool;
            out.call_start(index, &*known.id, &*known.tool).await;
            if !known.said.is_empty() {
                out.call_args(index, known.said.clone()).await;
            }
        } else if !tool.is_empty() && tool != known.tool {
            return Err(lost(format!("the name of a call in pieces, `{}` and `{tool}`", known.tool)));
        }
        match args {
            Args::More(text) | Args::Whole(text) if text.is_empty() => {}
            Args::Whole(text) if !known.said.is_empty() => return known.compare(&text),
            Args::More(text) | Args::Whole(text) => {
                known.said.push_str(&text);
                if !known.tool.is_empty() {
                    out.call_args(index, text).await;
                }
            }
        }
        Ok(())
    }

    /// Tells calls of which no piece had a name: nobody can run them, and the model reads so.
    pub async fn end(&mut self, out: &ModelOut) {
        for (index, known) in std::mem::take(&mut self.known) {
            if known.tool.is_empty() {
                out.call_start(index, &*known.id, "").await;
                out.call_args(index, known.said).await;
            }
        }
    }
}

impl Known {
    /// If they differ, a part of the stream was lost: nothing is run by guess.
    fn compare(&self, whole: &str) -> Result<(), ModelError> {
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        if whole == self.said || value(whole).is_some_and(|whole| value(&self.said) == Some(whole)) {
            return Ok(());
        }
        let why = format!("the arguments of a call of `{}` came twice, and differ", self.tool);
        Err(ModelError::new(Failure::StreamCut, why))
    }
}

fn lost(what: String) -> ModelError {
    ModelError::new(Failure::Unknown, format!("the stream has {what}"))
}
