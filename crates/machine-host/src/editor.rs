//! How a hook edits history (A18).
use std::sync::{Arc, Mutex, PoisonError};

use machine_core::ask::Piece;
use machine_core::history::{Edit, History, HistoryError};
use machine_core::ids::AskId;
use machine_core::message::Entry;
use tokio::sync::mpsc;

use crate::model::Inward;

/// History as it is now, and the way to change it. Hooks of one chain share it.
#[derive(Clone, Debug)]
pub struct Editor {
    ask: AskId,
    to: mpsc::Sender<Inward>,
    history: Arc<Mutex<History>>,
}

impl Editor {
    pub(crate) fn new(ask: AskId, to: mpsc::Sender<Inward>, history: History) -> Self {
        Self { ask, to, history: Arc::new(Mutex::new(history)) }
    }

    /// History with the edits so far.
    pub fn history(&self) -> History {
        self.history.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes history, or refuses and leaves it as it was. Nothing else changes it meanwhile: what is accepted here
    /// is accepted by the engine, and what is refused is reported by it.
    pub async fn edit(&self, edit: Edit) -> Result<(), HistoryError> {
        let edited = self.history.lock().unwrap_or_else(PoisonError::into_inner).edit(&edit);
        // Nobody takes it only when the question was withdrawn, and then this future is about to be dropped.
        let _ = self.to.send((self.ask, Piece::Edit(Arc::new(edit)))).await;
        edited
    }

    /// The first `up_to` entries become `into`: compaction.
    pub async fn fold(&self, up_to: usize, into: Vec<Arc<Entry>>) -> Result<(), HistoryError> {
        self.edit(Edit::Fold { up_to, into }).await
    }
}
