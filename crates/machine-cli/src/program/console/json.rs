//! Every event as one JSON line, and nothing else on standard output.
use machine_core::event::Event;
use machine_host::{ApproveQuestion, Place, Seen};
use serde::Serialize;

use crate::program::console::Console;
use crate::program::console::out::{Flushed, Out, tell};

/// JSON lines on standard output.
#[derive(Default)]
pub struct Json {
    out: Out,
}

/// One line: the number of a durable event, or the one that a live event comes after; then the event.
#[derive(Serialize)]
struct Line<'e> {
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<u64>,
    #[serde(flatten)]
    event: &'e Event,
}

impl Console for Json {
    fn event(&mut self, seen: &Seen) {
        let (n, after) = match seen.place {
            Place::Durable(n) => (Some(n), None),
            Place::Live { after } => (None, after),
        };
        match serde_json::to_string(&Line { n, after, event: &seen.event }) {
            Ok(line) => self.out.write(line + "\n"),
            Err(error) => tell(&format!("an event cannot be written as JSON: {error}")),
        }
    }

    fn ask(&mut self, _: &ApproveQuestion) {}

    fn note(&mut self, text: &str) {
        tell(text);
    }

    fn finish(&mut self) -> Option<Flushed> {
        self.out.end()
    }
}
