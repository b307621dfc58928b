//! The outermost fields of a message that is not read: one that is broken or too long, or that has no end yet.
use rmcp::model::RequestId;

/// The most that is kept of a field, in bytes: more than an id has.
const FIELD: usize = 256;

/// What is seen of a message, in pieces.
#[derive(Default)]
pub(crate) struct Outline {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The outermost field at hand, as it is written; of what is nested in it, nothing.
    field: Vec<u8>,
    id: Option<RequestId>,
    has_method: bool,
    /// A line of a log may have an id too.
    is_message: bool,
    has_version: bool,
    /// How many bytes were read until all that was opened was closed. What comes after it is none of it.
    length: usize,
    is_closed: bool,
}

impl Outline {
    /// Of a whole text.
    pub(crate) fn of(text: &[u8]) -> Self {
        let mut outline = Self::default();
        outline.read(text);
        outline
    }

    /// The next piece.
    pub(crate) fn read(&mut self, text: &[u8]) {
        for byte in text {
            if self.is_closed {
                return;
            }
            self.length += 1;
            self.step(*byte);
        }
    }

    /// Whether all that was opened is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Its length in bytes, if it is closed.
    pub(crate) fn length(&self) -> Option<usize> {
        self.is_closed.then_some(self.length)
    }

    /// Whether it names the protocol.
    pub(crate) fn has_version(&self) -> bool {
        self.has_version
    }

    /// The request that it answers. A question of the server names none: its ids are its own.
    pub(crate) fn answers(&self) -> Option<RequestId> {
        self.id.clone().filter(|_| self.is_message && !self.has_method)
    }

    fn step(&mut self, byte: u8) {
        let was_outermost = self.depth == 1;
        if self.in_string {
            self.in_string = self.escaped || byte != b'"';
            self.escaped = byte == b'\\' && !self.escaped;
        } else {
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.close(),
                b',' if was_outermost => self.end_field(),
                _ => {}
            }
        }
        let is_part = was_outermost && self.depth == 1 && (self.in_string || byte != b',');
        if is_part && self.field.len() < FIELD {
            self.field.push(byte);
        }
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.depth == 0 {
            self.end_field();
            self.is_closed = true;
        }
    }

    fn end_field(&mut self) {
        let field = self.field.trim_ascii();
        let value = |name: &[u8]| {
            let value = field.strip_prefix(name)?.trim_ascii_start().strip_prefix(b":")?;
            Some(value.trim_ascii())
        };
        if let Some(id) = value(br#""id""#) {
            self.id = self.id.take().or_else(|| serde_json::from_slice(id).ok());
        }
        self.has_method |= value(br#""method""#).is_some_and(|method| method != b"null");
        self.has_version |= value(br#""jsonrpc""#).is_some();
        self.is_message |=
            self.has_version || [&br#""result""#[..], br#""error""#].iter().any(|name| value(name).is_some());
        self.field.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_an_answer_is_found_wherever_it_stands() {
        for (text, id) in [
            (r#"{"jsonrpc":"2.0","id":3,"result":{"id":4}}"#, Some("3")),
            (r#"{"result":{"id":4,"x":[{"id":5}]},"jsonrpc":"2.0" , "id" : "a,b" }"#, Some("a,b")),
            (r#"{"result":{"x":NaN,"y":"} \" {"},"id":3}"#, Some("3")),
            (r#"{"text":"id","id":3,"method":null,"error":7}"#, Some("3")),
            (r#"{"jsonrpc":"2.0","id":3,"result":{"#, Some("3")),
            (r#"{"jsonrpc":"2.0","id":3}"#, Some("3")),
            (r#"{"level":"info","id":3,"message":"no answer"}"#, None),
            (r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#, None),
            (r#"{"id":null,"result":{}}"#, None),
            (r#"{"id":1.5,"result":{}}"#, None),
            (r#"{"result":{"id":3}}"#, None),
            (r#"{"result":{},"id":3"#, None),
            ("]}, \"", None),
        ] {
            let answers = Outline::of(text.as_bytes()).answers().map(|id| id.to_string());
            assert_eq!(answers.as_deref(), id, "{text}");
        }
    }

    #[test]
    fn it_is_closed_where_its_first_bracket_is() {
        for (text, is_closed) in
            [("", false), ("{", false), ("{}", true), (r#"{"a":"}"#, false), ("[{}", false), ("[{}]", true)]
        {
            assert_eq!(Outline::of(text.as_bytes()).is_closed(), is_closed, "{text}");
        }
    }
}
