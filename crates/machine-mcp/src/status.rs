//! What a server told of itself: how often its list of tools changed, whatever the session; and whether a session is in doubt.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Of one session. The changes are those of all sessions with the server.
#[derive(Default)]
pub(crate) struct Status {
    changes: Arc<AtomicU64>,
    in_doubt: AtomicBool,
}

impl Status {
    /// That of another session with the same server.
    pub(crate) fn of_next_session(&self) -> Arc<Self> {
        Arc::new(Self { changes: self.changes.clone(), ..Self::default() })
    }

    /// How often the list of tools changed. Who has a list from before a change is behind.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// The list changed.
    pub(crate) fn note_change(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether the server has to be looked for before it is used.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.in_doubt.load(Ordering::Acquire)
    }

    /// A request found nobody, or what came broke off: is the server still there?
    pub(crate) fn doubt(&self) {
        self.in_doubt.store(true, Ordering::Release);
    }
}
