//! Plain lines, for pipes and logs.
use std::collections::BTreeMap;
use std::io::Write;

use machine_core::event::Event;
use machine_core::ids::CallId;
use machine_core::response::ModelEvent;
use machine_host::{ApproveQuestion, Seen};

use crate::program::console::{Console, say};

/// Plain lines on standard output.
#[derive(Default)]
pub struct Plain {
    tools: BTreeMap<CallId, String>,
    /// Whether text stands on the current line.
    mid_line: bool,
}

impl Plain {
    /// Shown so far by call.
    fn name(&self, call: CallId) -> String {
        self.tools.get(&call).cloned().unwrap_or_else(|| call.to_string())
    }

    fn write(&mut self, text: &str) {
        let mut out = std::io::stdout().lock();
        // A reader that went away does not stop the work.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        self.mid_line = !text.is_empty() && !text.ends_with('\n');
    }

    /// One whole line.
    pub(super) fn line(&mut self, text: &str) {
        self.end_line();
        self.write(&format!("{text}\n"));
    }

    pub(super) fn end_line(&mut self) {
        if self.mid_line {
            self.write("\n");
        }
    }

    pub(super) fn is_mid_line(&self) -> bool {
        self.mid_line
    }
}

impl Console for Plain {
    fn event(&mut self, seen: &Seen) {
        match &*seen.event {
            Event::Delta { delta: ModelEvent::Text(text), .. } => self.write(&say::safe(text)),
            Event::AttemptDiscarded { .. } if self.mid_line => self.line(" [discarded]"),
            Event::CallAnnounced { call, tool, .. } => {
                self.tools.insert(*call, tool.to_string());
            }
            event => {
                if let Some(line) = say::line(event, |call| self.name(call)) {
                    self.line(&line);
                }
                if matches!(event, Event::StepEnded { .. } | Event::TurnEnded(_)) {
                    self.end_line();
                }
                if matches!(event, Event::TurnEnded(_)) {
                    self.tools.clear();
                }
            }
        }
    }

    fn ask(&mut self, question: &ApproveQuestion) {
        self.end_line();
        self.write(&format!("{}\n  allow? [y]es, [n]o, [a]lways: ", wanted(question)));
        self.mid_line = false;
    }

    fn note(&mut self, text: &str) {
        self.line(text);
    }

    fn finish(&mut self) {
        self.end_line();
    }
}

fn wanted(question: &ApproveQuestion) -> String {
    format!("  wants to run {} {}", question.tool, say::short(&question.args))
}
