//! What is shown of a run: on a terminal, as plain lines, or as JSON.
//!
//! A console is a watcher: it gets events and says nothing back, so it can be exchanged freely.

mod json;
mod plain;
mod say;
mod terminal;

pub use json::Json;
pub use plain::Plain;
pub use terminal::Terminal;

use machine_adapter::view::View;
use machine_host::{ApproveQuestion, Seen};

/// Shows a run.
pub trait Console {
    /// Something happened.
    fn event(&mut self, seen: &Seen);

    /// The states as they are now, for a status line. Called after events, when it is cheap to redraw.
    fn status(&mut self, view: &View) {
        let _ = view;
    }

    /// A person is asked.
    fn ask(&mut self, question: &ApproveQuestion);

    /// A line of the program's own.
    fn note(&mut self, text: &str);

    /// Events were missed.
    fn lagged(&mut self, missed: u64) {
        self.note(&format!("{missed} events were not shown"));
    }

    /// The run is over.
    fn finish(&mut self) {}
}
