//! What a command says, within bounds.
use std::collections::VecDeque;

/// The most characters that are kept: so many of the beginning, and so many of the end.
const HEAD: usize = 20_000;
const TAIL: usize = 20_000;

/// Output as it comes: the beginning and the end are kept, the middle is only counted.
#[derive(Debug, Default)]
pub(super) struct Capture {
    head: String,
    head_len: usize,
    tail: VecDeque<char>,
    dropped: u64,
    /// The beginning of a character whose rest has not come yet; at most 3 bytes between two pushes.
    partial: Vec<u8>,
}

impl Capture {
    /// Takes the next bytes. What is not UTF-8 becomes U+FFFD.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let mut all = std::mem::take(&mut self.partial);
        all.extend_from_slice(bytes);
        let mut rest = &*all;
        loop {
            let error = match std::str::from_utf8(rest) {
                Ok(text) => return self.push_text(text),
                Err(error) => error,
            };
            let (valid, after) = rest.split_at(error.valid_up_to());
            self.push_text(&String::from_utf8_lossy(valid));
            let Some(bad) = error.error_len() else {
                self.partial = after.to_vec();
                return;
            };
            self.push_char(char::REPLACEMENT_CHARACTER);
            rest = &after[bad..];
        }
    }

    /// The text, with a mark where something is missing.
    pub(super) fn finish(mut self) -> String {
        if !self.partial.is_empty() {
            self.push_char(char::REPLACEMENT_CHARACTER);
        }
        let mut text = self.head;
        if self.dropped > 0 {
            text.push_str(&format!("\n[{} characters dropped]\n", self.dropped));
        }
        text.extend(self.tail);
        text
    }

    fn push_text(&mut self, text: &str) {
        for c in text.chars() {
            self.push_char(c);
        }
    }

    fn push_char(&mut self, c: char) {
        if self.head_len < HEAD {
            self.head.push(c);
            self.head_len += 1;
            return;
        }
        if self.tail.len() == TAIL {
            self.tail.pop_front();
            self.dropped += 1;
        }
        self.tail.push_back(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(chunks: &[&[u8]]) -> String {
        let mut capture = Capture::default();
        for chunk in chunks {
            capture.push(chunk);
        }
        capture.finish()
    }

    #[test]
    fn characters_may_come_in_pieces() {
        assert_eq!(captured(&[b"a\xe2", b"\x82", b"\xacb"]), "a€b");
        assert_eq!(captured(&[b"a\xff\xfeb", b"\xe2\x82"]), "a\u{fffd}\u{fffd}b\u{fffd}");
    }

    #[test]
    fn the_middle_is_dropped_and_counted() {
        let full = "é".repeat(HEAD + TAIL);
        assert_eq!(captured(&[full.as_bytes()]), full);
        let over = format!("{}{}{}", "a".repeat(HEAD), "é".repeat(7), "z".repeat(TAIL));
        let want = format!("{}\n[7 characters dropped]\n{}", "a".repeat(HEAD), "z".repeat(TAIL));
        assert_eq!(captured(&[over.as_bytes()]), want);
    }
}
