//! A terminal: streamed text, and below it one status line with the machines' states and the running calls. Where
//! prompts may be typed at any time, that is on a line of its own below. Both are drawn only while no text stands on
//! the line, and are gone before anything else is written.
use std::io::{IsTerminal, Write};

use crossterm::cursor::MoveUp;
use crossterm::queue;
use crossterm::style::{Attribute, SetAttribute};
use crossterm::terminal::{Clear, ClearType, DisableLineWrap, EnableLineWrap, size};
use machine_adapter::view::View;
use machine_core::history::History;
use machine_host::{ApproveQuestion, Seen};

use crate::program::console::out::{Flushed, Out};
use crate::program::console::plain::Words;
use crate::program::console::{Console, say};

/// Stands before what is typed.
const PROMPT: &str = "> ";

/// A terminal on standard output.
pub struct Terminal {
    out: Out,
    words: Words,
    /// Whether prompts may be typed at any time.
    prompts: bool,
    /// The status line that stands below the text; empty if only the prompt does.
    drawn: Option<String>,
    /// A question stands on the line: nothing is drawn until it is answered.
    asking: bool,
}

impl Terminal {
    /// `prompts`: whether they may be typed at any time.
    pub fn new(prompts: bool) -> Self {
        Self { out: Out::default(), words: Words::default(), prompts, drawn: None, asking: false }
    }

    /// Whether there is one, for reading and for writing.
    pub fn is_there() -> bool {
        std::io::stdout().is_terminal() && std::io::stdin().is_terminal()
    }

    /// What takes away what is drawn, if the cursor has moved down this many lines since, and what was typed there.
    fn clear(&mut self, moved: u16) -> Vec<u8> {
        let mut text = Vec::new();
        let up = match self.drawn.take() {
            Some(status) => moved + u16::from(self.prompts && !status.is_empty()),
            None if self.words.is_mid_line() => return text,
            None => 0,
        };
        text.push(b'\r');
        if up > 0 {
            // Nothing fails that is written to memory.
            let _ = queue!(text, MoveUp(up));
        }
        let _ = queue!(text, Clear(ClearType::FromCursorDown));
        text
    }

    /// Text above what is drawn; a question that is open is asked again below it.
    fn print(&mut self, make: impl FnOnce(&mut Words) -> String) {
        let was_mid_line = self.words.is_mid_line();
        let shown = make(&mut self.words);
        if shown.is_empty() {
            return;
        }
        let mut text = if was_mid_line { Vec::new() } else { self.clear(0) };
        text.extend_from_slice(shown.as_bytes());
        if self.asking && !self.words.is_mid_line() {
            text.extend_from_slice(self.words.text(say::ALLOW).as_bytes());
        }
        self.out.write(text);
    }
}

impl Console for Terminal {
    fn recall(&mut self, history: &History) {
        self.words.recall(history);
    }

    fn event(&mut self, seen: &Seen) {
        self.print(|words| words.event(&seen.event));
    }

    fn has_status(&self) -> bool {
        true
    }

    fn status(&mut self, view: &View) {
        let line = if view.turn.is_some() { status_line(view, columns()) } else { String::new() };
        let nothing = line.is_empty() && !self.prompts;
        if self.asking || self.words.is_mid_line() || self.drawn.as_ref() == Some(&line) {
            return;
        }
        let mut text = self.clear(0);
        if !nothing {
            draw(&mut text, &line, self.prompts);
            self.drawn = Some(line);
        }
        self.out.write(text);
    }

    fn ask(&mut self, question: &ApproveQuestion) {
        let mut text = self.clear(0);
        text.extend_from_slice(self.words.question(question).as_bytes());
        self.asking = true;
        self.out.write(text);
    }

    fn withdrawn(&mut self) {
        self.asking = false;
        self.note("  (no longer asked)");
    }

    fn entered(&mut self, line: &str) {
        self.words.entered();
        if std::mem::take(&mut self.asking) || self.drawn.is_none() {
            return;
        }
        // Wide characters take two columns.
        let fits = 2 * (PROMPT.len() + line.chars().count()) < columns();
        if !fits {
            // What was typed went over several lines: it stays as it is, with the status line above it.
            self.drawn = None;
            return;
        }
        let mut text = self.clear(1);
        if self.prompts && !line.trim().is_empty() {
            text.extend_from_slice(format!("{PROMPT}{}\n", say::one_line(line)).as_bytes());
        }
        self.out.write(text);
    }

    fn note(&mut self, text: &str) {
        self.print(|words| words.line(text));
    }

    fn finish(&mut self) -> Option<Flushed> {
        let mut text = self.clear(0);
        text.extend_from_slice(self.words.end_line().as_bytes());
        self.out.write(text);
        self.out.end()
    }
}

fn columns() -> usize {
    // Some terminals do not know their size and say 0.
    size().ok().map(|(columns, _)| usize::from(columns)).filter(|columns| *columns > 0).unwrap_or(80)
}

/// The status line, never longer than the terminal is wide, and the prompt.
fn draw(text: &mut Vec<u8>, line: &str, prompts: bool) {
    let line: String = say::one_line(line).chars().take(columns().saturating_sub(1)).collect();
    // Wide characters that do not fit are cut off by the terminal.
    let _ = queue!(text, DisableLineWrap, SetAttribute(Attribute::Dim))
        .and_then(|()| text.write_all(line.as_bytes()))
        .and_then(|()| queue!(text, SetAttribute(Attribute::Reset), EnableLineWrap));
    if prompts {
        text.extend_from_slice(if line.is_empty() { b"" } else { b"\n" });
        text.extend_from_slice(PROMPT.as_bytes());
    }
}

/// `agent Active · turn 1 step 2 Acting · read Attached, edit Queued · 1 queued`, or with fewer words.
fn status_line(view: &View, columns: usize) -> String {
    let long = status(view, true);
    if long.chars().count() < columns { long } else { status(view, false) }
}

fn status(view: &View, long: bool) -> String {
    let leaf = |path: &[&'static str]| path.last().copied().unwrap_or("").to_owned();
    let mut parts = vec![format!("{}{}", if long { "agent " } else { "" }, leaf(view.agent))];
    if let Some(turn) = &view.turn {
        let (at, state) = (turn.step, leaf(turn.state));
        parts.push(if long { format!("turn {} step {} {state}", at.turn, at.step) } else { state });
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
    if view.queued_prompts > 0 {
        parts.push(format!("{} queued", view.queued_prompts));
    }
    parts.join(" · ")
}
