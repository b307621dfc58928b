//! One text for all ways to write the same JSON object (T19).
//!
//! By hand, because a parsed number looks different in builds with other features of the parser (J01).
use alloc::string::String;
use alloc::vec::Vec;

use crate::history::is_object;

/// The object without blanks, with its members by key at every depth, and with strings escaped in one way. Numbers stay
/// as they are written. None if it is no JSON object.
pub fn canonical(json: &str) -> Option<String> {
    // The parser's own bound on depth bounds the recursion here.
    is_object(json).then(|| Reader { rest: json }.value())
}

/// What is still to be read of a sound text.
struct Reader<'j> {
    rest: &'j str,
}

impl<'j> Reader<'j> {
    fn value(&mut self) -> String {
        match self.peek() {
            Some('{') => self.object(),
            Some('[') => self.list(),
            Some('"') => self.string(),
            _ => self.take(|c| matches!(c, ',' | ']' | '}') || c.is_ascii_whitespace()).into(),
        }
    }

    fn object(&mut self) -> String {
        let mut members: Vec<(String, String)> = Vec::new();
        self.skip();
        while let Some('"') = self.next_item('}') {
            let key = self.string();
            self.peek();
            self.skip(); // the colon
            members.push((key, self.value()));
        }
        // Stable: of two members with one key the later one stays the later one.
        members.sort_by(|(a, _), (b, _)| a.cmp(b));
        let members: Vec<String> = members.into_iter().map(|(key, value)| key + ":" + &value).collect();
        String::from("{") + &members.join(",") + "}"
    }

    fn list(&mut self) -> String {
        let mut items: Vec<String> = Vec::new();
        self.skip();
        while self.next_item(']').is_some() {
            items.push(self.value());
        }
        String::from("[") + &items.join(",") + "]"
    }

    /// The first character of the next item; at the end, what closes is taken too.
    fn next_item(&mut self, closes: char) -> Option<char> {
        if self.peek() == Some(',') {
            self.skip();
        }
        let next = self.peek();
        if next == Some(closes) {
            self.skip();
            return None;
        }
        next
    }

    fn string(&mut self) -> String {
        let mut escaped = true; // the opening quote
        let end = self.rest.find(|c| {
            let closes = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        });
        let (raw, rest) = self.rest.split_at(end.map_or(self.rest.len(), |end| end + 1));
        self.rest = rest;
        let plain = serde_json::from_str::<String>(raw).and_then(|text| serde_json::to_string(&text));
        plain.unwrap_or_else(|_| raw.into())
    }

    fn take(&mut self, ends: impl Fn(char) -> bool) -> &'j str {
        let (taken, rest) = self.rest.split_at(self.rest.find(ends).unwrap_or(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// The next character that is not blank.
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        self.rest.chars().next()
    }

    /// Leaves out one character.
    fn skip(&mut self) {
        let mut chars = self.rest.chars();
        chars.next();
        self.rest = chars.as_str();
    }
}
