//! What is shown of a run: on a terminal, as plain lines, or as JSON.
//!
//! A console is a watcher: it gets events and says nothing back, so it can be exchanged freely.

mod json;
mod out;
mod plain;
mod say;
mod terminal;

pub use json::Json;
pub use out::{Flushed, print, tell};
pub use plain::Plain;
pub use say::{cut, one_line, safe};
pub use terminal::Terminal;

use machine_adapter::view::View;
use machine_core::history::History;
use machine_host::{ApproveQuestion, Seen};

/// Shows a run.
pub trait Console {
    /// Something happened.
    fn event(&mut self, seen: &Seen);

    /// What was said before this run: its calls may still end.
    fn recall(&mut self, history: &History) {
        let _ = history;
    }

    /// Whether it shows the states as they are now.
    fn has_status(&self) -> bool {
        false
    }

    /// The states as they are now, for a status line. Called after events, when it is cheap to redraw.
    fn status(&mut self, view: &View) {
        let _ = view;
    }

    /// A person is asked.
    fn ask(&mut self, question: &ApproveQuestion);

    /// The question that was asked is no longer open.
    fn withdrawn(&mut self) {}

    /// A person has typed a line and ended it.
    fn entered(&mut self, line: &str) {
        let _ = line;
    }

    /// A line of the program's own.
    fn note(&mut self, text: &str);

    /// Events were missed.
    fn lagged(&mut self, missed: u64) {
        self.note(&format!("{missed} events were not shown"));
    }

    /// The run is over, nothing more is shown.
    fn finish(&mut self) -> Option<Flushed>;
}
