//! A line that is read, or the lines of one message, of bounded length.
use std::borrow::Cow;

use crate::message::{self, Parsed};
use crate::outline::Outline;

/// The longest message that is read, in bytes, as in `rmcp`.
const LONGEST: usize = 16 << 20;

/// Of a longer one so much is kept, in bytes, to tell of it.
const BEGINNING: usize = 1 << 10;

/// What was read so far.
#[derive(Default)]
pub(crate) struct Line {
    /// All of it, or the beginning of what is too long.
    bytes: Vec<u8>,
    /// Of what is too long, or goes on over several lines.
    outline: Option<Outline>,
    is_too_long: bool,
}

impl Line {
    /// The beginning of one that goes on over several lines.
    pub(crate) fn begun(text: &str) -> Self {
        Self { bytes: text.into(), outline: Some(Outline::of(text.as_bytes())), is_too_long: false }
    }

    /// It goes on with this.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.bytes.len() + bytes.len() > LONGEST && !self.is_too_long {
            self.is_too_long = true;
            self.outline.get_or_insert_with(|| Outline::of(&self.bytes));
            self.bytes.truncate(BEGINNING);
        }
        if let Some(outline) = &mut self.outline {
            outline.read(bytes);
        }
        if !self.is_too_long {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// It goes on with this line.
    pub(crate) fn push_line(&mut self, line: &Self) {
        self.push(b"\n");
        self.push(&line.bytes);
    }

    /// Whether only its beginning is here.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_too_long
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.bytes.trim_ascii().is_empty() && !self.is_too_long
    }

    /// Whether one that goes on over several lines is at its end.
    pub(crate) fn is_closed(&self) -> bool {
        self.outline.as_ref().is_some_and(Outline::is_closed)
    }

    /// All that can be read in it.
    pub(crate) fn read(&self) -> Parsed {
        if self.is_too_long { self.give_up() } else { message::read(&self.bytes) }
    }

    /// What can be said of it if it is not read.
    pub(crate) fn give_up(&self) -> Parsed {
        self.outline.as_ref().map_or_else(Parsed::default, |outline| message::broken(outline, &self.shown()))
    }

    /// For messages, whole or not.
    pub(crate) fn shown(&self) -> Cow<'_, str> {
        let text = String::from_utf8_lossy(&self.bytes);
        if self.is_too_long { format!("more than 16 MiB, which begin with {text}").into() } else { text }
    }
}
