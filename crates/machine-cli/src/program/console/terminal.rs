//! A terminal: streamed text, and one status line with the machines' states and the running calls. The status line
//! is drawn only while no text stands on the line, and is gone before anything else is written.
use std::io::{IsTerminal, Write};

use crossterm::cursor::MoveToColumn;
use crossterm::queue;
use crossterm::style::{Attribute, SetAttribute};
use crossterm::terminal::{Clear, ClearType, size};
use machine_adapter::view::View;
use machine_host::{ApproveQuestion, Seen};

use crate::program::console::Console;
use crate::program::console::plain::Plain;

/// A terminal on standard output.
#[derive(Default)]
pub struct Terminal {
    plain: Plain,
    drawn: bool,
    /// A question stands on the line: no status line until it is answered.
    asking: bool,
}

impl Terminal {
    /// Whether there is one, for reading and for writing.
    pub fn is_there() -> bool {
        std::io::stdout().is_terminal() && std::io::stdin().is_terminal()
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let mut out = std::io::stdout().lock();
            let _ = queue!(out, MoveToColumn(0), Clear(ClearType::CurrentLine)).and_then(|()| out.flush());
        }
    }
}

impl Console for Terminal {
    fn event(&mut self, seen: &Seen) {
        self.clear();
        self.plain.event(seen);
    }

    fn status(&mut self, view: &View) {
        self.clear();
        if self.asking || self.plain.is_mid_line() || view.turn.is_none() {
            return;
        }
        let width = size().map_or(80, |(columns, _)| usize::from(columns).saturating_sub(1));
        let line: String = status_line(view).chars().take(width).collect();
        let mut out = std::io::stdout().lock();
        let dim = (SetAttribute(Attribute::Dim), SetAttribute(Attribute::Reset));
        let _ = queue!(out, dim.0)
            .and_then(|()| write!(out, "{line}"))
            .and_then(|()| queue!(out, dim.1))
            .and_then(|()| out.flush());
        self.drawn = true;
    }

    fn ask(&mut self, question: &ApproveQuestion) {
        self.clear();
        self.asking = true;
        self.plain.ask(question);
    }

    fn note(&mut self, text: &str) {
        self.clear();
        self.asking = false;
        self.plain.note(text);
    }

    fn finish(&mut self) {
        self.clear();
        self.plain.finish();
    }
}

/// `agent Active · turn 1 step 2 Acting/Running · read Attached, edit Queued`
fn status_line(view: &View) -> String {
    let leaf = |path: &[&'static str]| path.last().copied().unwrap_or("").to_owned();
    let mut parts = vec![format!("agent {}", leaf(view.agent))];
    if let Some(turn) = &view.turn {
        parts.push(format!("turn {} step {} {}", turn.id.turn, turn.step.step, leaf(turn.state)));
    }
    let shown = 4;
    let mut calls: Vec<String> =
        view.calls.iter().take(shown).map(|call| format!("{} {}", call.tool, leaf(call.state))).collect();
    if view.calls.len() > shown {
        calls.push(format!("and {} more", view.calls.len() - shown));
    }
    if !calls.is_empty() {
        parts.push(calls.join(", "));
    }
    parts.join(" · ")
}
