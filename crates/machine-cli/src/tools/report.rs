//! What the tools say the same way: names of files, what was cut, what was skipped.
use std::path::Path;

use super::error::PathFault;

/// The most skipped paths that are named.
const MAX_NAMED: usize = 50;

/// A path on one line. A control character in a name must not look like a line end.
pub(super) fn show(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.chars().any(char::is_control) { text.escape_debug().to_string() } else { text.into_owned() }
}

/// What a walk had to leave out, and why. An answer that hides it would read as complete.
#[derive(Debug, Default)]
pub(super) struct Skipped {
    named: Vec<String>,
    more: usize,
}

impl Skipped {
    pub(super) fn add(&mut self, path: &Path, fault: &PathFault) {
        if self.named.len() < MAX_NAMED {
            self.named.push(format!("skipped: {} ({fault})", show(path)));
        } else {
            self.more += 1;
        }
    }

    /// One line each, at the end of an answer.
    pub(super) fn write(&self, answer: &mut Answer) {
        for line in &self.named {
            answer.line(line);
        }
        if self.more > 0 {
            answer.line(&format!("skipped: {} more", self.more));
        }
    }
}

/// Lines of text, the last without a line end.
#[derive(Debug, Default)]
pub(super) struct Answer(String);

impl Answer {
    pub(super) fn line(&mut self, line: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(line);
    }

    /// Says that not everything is shown. `all` is a lower bound if the walk was `stopped`.
    pub(super) fn cut(&mut self, shown: usize, all: usize, what: &str, stopped: bool) {
        if shown < all || stopped {
            let least = if stopped { "at least " } else { "" };
            self.line(&format!("[cut: {shown} of {least}{all} {what} shown]"));
        }
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}
