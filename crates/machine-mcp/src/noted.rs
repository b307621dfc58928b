//! What a server wrote where only messages belong: its beginning, for one that is no server of MCP, and the last line that was no
//! message, for a call that nothing answered.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::result::cut;

/// The most that is kept of the beginning, in bytes.
const HEAD: usize = 200;

/// What was noted of one server.
#[derive(Clone, Default)]
pub(crate) struct Noted(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    head: Vec<u8>,
    /// The last line that was no message, cut, and how many there were.
    stray: String,
    strays: u64,
}

impl Noted {
    /// Something was read.
    pub(crate) fn read(&self, bytes: &[u8]) {
        let mut kept = self.kept();
        let room = HEAD.saturating_sub(kept.head.len());
        kept.head.extend(bytes.iter().take(room));
    }

    /// A line was no message.
    pub(crate) fn stray(&self, line: &str) {
        let mut kept = self.kept();
        kept.stray = cut(line.trim());
        kept.strays += 1;
    }

    /// The first line that is not empty.
    pub(crate) fn first_line(&self) -> String {
        let text = String::from_utf8_lossy(&self.kept().head).into_owned();
        text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
    }

    /// How many lines were no messages.
    pub(crate) fn strays(&self) -> u64 {
        self.kept().strays
    }

    /// The last line that was no message, if there were more than so many.
    pub(crate) fn stray_after(&self, strays: u64) -> Option<String> {
        let kept = self.kept();
        (kept.strays > strays).then(|| kept.stray.clone())
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
