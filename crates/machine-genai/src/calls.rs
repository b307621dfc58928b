//! The calls of one response: whose each piece is.
use std::collections::BTreeMap;

use machine_core::response::{Failure, ModelError};
use machine_host::ModelOut;

use crate::frames::{Args, Piece};

/// The calls so far.
#[derive(Debug, Default)]
pub struct Calls {
    known: BTreeMap<u32, Known>,
}

/// One call.
#[derive(Debug)]
struct Known {
    id: String,
    tool: String,
    /// All of its arguments that were passed on.
    said: String,
}

impl Calls {
    /// Passes on what is new in a piece. On a used position an id of its own begins another call, if there is a name with it (M01).
    pub async fn piece(&mut self, piece: Piece, out: &ModelOut) -> Result<(), ModelError> {
        let Piece { index, id, tool, args } = piece;
        let (id, tool) = (id.unwrap_or_default(), tool.unwrap_or_default());
        let goes_on = |known: &Known| id.is_empty() || tool.is_empty() || id == known.id;
        if !self.known.get(&index).is_some_and(goes_on) {
            out.call_start(index, &*id, &*tool).await;
            self.known.insert(index, Known { id, tool, said: String::new() });
        }
        let Some(known) = self.known.get_mut(&index) else { return Ok(()) };
        match args {
            Args::More(text) | Args::Whole(text) if text.is_empty() => {}
            Args::Whole(text) if !known.said.is_empty() => return known.compare(&text),
            Args::More(text) | Args::Whole(text) => {
                known.said.push_str(&text);
                out.call_args(index, text).await;
            }
        }
        Ok(())
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
