//! Plain lines, for pipes and logs.
use std::collections::BTreeMap;

use machine_core::event::{Event, Receipt};
use machine_core::history::History;
use machine_core::ids::CallId;
use machine_core::message::Message;
use machine_core::outcome::Outcome;
use machine_core::response::ModelEvent;
use machine_host::{ApproveQuestion, Seen};

use crate::program::console::out::{Flushed, Out};
use crate::program::console::{Console, say};

/// Plain lines on standard output.
#[derive(Default)]
pub struct Plain {
    out: Out,
    words: Words,
}

impl Console for Plain {
    fn recall(&mut self, history: &History) {
        self.words.recall(history);
    }

    fn event(&mut self, seen: &Seen) {
        let text = self.words.event(&seen.event);
        if !text.is_empty() {
            self.out.write(text);
        }
    }

    fn ask(&mut self, question: &ApproveQuestion) {
        self.out.write(self.words.question(question));
    }

    fn note(&mut self, text: &str) {
        self.out.write(self.words.line(text));
    }

    fn finish(&mut self) -> Option<Flushed> {
        self.out.write(self.words.end_line());
        self.out.end()
    }
}

/// What is to be written for what happens, and whether it ends within a line.
#[derive(Default)]
pub(super) struct Words {
    /// What the running calls are called.
    labels: BTreeMap<CallId, String>,
    /// How many inputs wait.
    waiting: usize,
    /// Whether something stands on the current line.
    mid_line: bool,
}

impl Words {
    /// The text for an event; empty if it is not worth any.
    pub(super) fn event(&mut self, event: &Event) -> String {
        match event {
            Event::Delta { delta: ModelEvent::Text(text), .. } => return self.text(&say::safe(text)),
            Event::AttemptDiscarded { .. } if self.mid_line => return self.text(" [discarded]\n"),
            Event::CallAnnounced { call, tool, args, .. } => {
                self.labels.insert(*call, say::label(tool, args));
            }
            Event::TurnStarted { .. } => self.labels.clear(),
            // Its error is told with what the tool said, when that is committed.
            Event::CallSettled { outcome: Outcome::Error { .. }, .. } => return String::new(),
            Event::Receipt { receipt, .. } => self.receipt(receipt),
            _ => {}
        }
        let line = match event {
            Event::Held { .. } if self.waiting > 0 => {
                Some(format!("  {} waiting, held until the next prompt", self.waiting))
            }
            Event::Committed { entry, .. } => match &entry.message {
                Message::Tool(result) => say::error(result, &self.label(result.call)),
                _ => None,
            },
            event => say::line(event, |call| self.label(call)),
        };
        let mut text = line.map(|line| self.line(&line)).unwrap_or_default();
        if matches!(event, Event::StepEnded { .. } | Event::TurnEnded(_)) {
            text.push_str(&self.end_line());
        }
        text
    }

    /// What the calls of an earlier run were about.
    pub(super) fn recall(&mut self, history: &History) {
        let last = history.iter().rev().find_map(|entry| entry.message.calls().next().map(|_| entry));
        let calls = last.into_iter().flat_map(|entry| entry.message.calls());
        self.labels.extend(calls.map(|call| (call.id, say::label(&call.tool, &call.args))));
    }

    /// The text for a question to a person. The answer is typed behind it.
    pub(super) fn question(&mut self, question: &ApproveQuestion) -> String {
        let ApproveQuestion { call, tool, args, .. } = question;
        // One of an earlier run was announced there.
        self.labels.entry(*call).or_insert_with(|| say::label(tool, args));
        let wanted = self.line(&say::wanted(tool, args));
        wanted + &self.text(say::ALLOW)
    }

    /// One whole line.
    pub(super) fn line(&mut self, text: &str) -> String {
        self.end_line() + text + "\n"
    }

    /// Text that goes on where the last one ended.
    pub(super) fn text(&mut self, text: &str) -> String {
        if let Some(last) = text.chars().next_back() {
            self.mid_line = last != '\n';
        }
        text.to_owned()
    }

    /// The end of the current line, if something stands on it.
    pub(super) fn end_line(&mut self) -> String {
        if std::mem::take(&mut self.mid_line) { "\n".to_owned() } else { String::new() }
    }

    /// The line was ended by whoever typed on it.
    pub(super) fn entered(&mut self) {
        self.mid_line = false;
    }

    pub(super) fn is_mid_line(&self) -> bool {
        self.mid_line
    }

    fn receipt(&mut self, receipt: &Receipt) {
        match receipt {
            Receipt::Accepted => self.waiting += 1,
            Receipt::Taken(_) | Receipt::Dropped(_) | Receipt::Returned => {
                self.waiting = self.waiting.saturating_sub(1);
            }
            Receipt::Steered | Receipt::Held(_) | Receipt::TurnEnded(..) => {}
        }
    }

    fn label(&self, call: CallId) -> String {
        self.labels.get(&call).cloned().unwrap_or_else(|| call.to_string())
    }
}
