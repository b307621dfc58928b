//! What a model says in a turn, for loops that call it: responses with calls, then a text.
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::loops::{Shape, wire_id};

/// Shared by a loop and its model.
#[derive(Debug, Default)]
pub struct Replies {
    /// Responses with calls that are left of this turn.
    left: AtomicU32,
    /// Calls of each.
    calls: AtomicU32,
    serial: AtomicU64,
}

impl Replies {
    /// A turn begins.
    pub fn begin(&self, shape: Shape) {
        self.left.store(shape.steps, Ordering::Relaxed);
        self.calls.store(shape.calls, Ordering::Relaxed);
    }

    /// How many calls the next response has; none: it is the text that ends the turn.
    pub fn next_calls(&self) -> Option<u32> {
        let left = self.left.load(Ordering::Relaxed).checked_sub(1)?;
        self.left.store(left, Ordering::Relaxed);
        Some(self.calls.load(Ordering::Relaxed))
    }

    /// The provider's name for the next call.
    pub fn id(&self) -> String {
        wire_id(self.serial.fetch_add(1, Ordering::Relaxed))
    }
}
