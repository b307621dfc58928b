//! Cutting what a model says into the pieces of a stream.
use machine_core::Text;
use machine_core::response::ModelEvent;

/// The most pieces of one text; a longer text gets longer pieces.
const MAX_PIECES: usize = 200;

/// The characters in one piece of a call's arguments.
const ARGS_PIECE: usize = 48;

/// A text in pieces of whole words, each with the blanks behind it.
pub(super) fn words(text: &str) -> Vec<Text> {
    let words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    let each = words.len().div_ceil(MAX_PIECES).max(1);
    words.chunks(each).map(|words| words.concat().into()).collect()
}

/// A call: its start, then its arguments in at least two pieces if there are two characters.
pub(super) fn call(index: u32, id: &str, tool: &str, args: &str) -> Vec<ModelEvent> {
    let start = ModelEvent::CallStart { index, id: id.into(), tool: tool.into() };
    let pieces =
        args_pieces(args).into_iter().map(|piece| ModelEvent::CallArgs { index: Some(index), piece });
    std::iter::once(start).chain(pieces).collect()
}

fn args_pieces(args: &str) -> Vec<Text> {
    let chars: Vec<char> = args.chars().collect();
    let each = chars.len().div_ceil(2).clamp(1, ARGS_PIECE);
    chars.chunks(each).map(|piece| piece.iter().collect::<String>().into()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_add_up_to_the_text() {
        let long = "wörd \n".repeat(10_000);
        for text in ["", " ", "one", "one two\n\n three  ", &long] {
            let pieces = words(text);
            assert_eq!(pieces.concat(), text);
            assert!(pieces.len() <= MAX_PIECES, "{}", pieces.len());
        }
        assert_eq!(words("one two").len(), 2);
    }

    #[test]
    fn arguments_come_in_pieces() {
        let long = format!(r#"{{"a":"{}"}}"#, "é".repeat(500));
        for (args, least) in [("", 0), ("{", 1), ("{}", 2), (r#"{"a":1}"#, 2), (&*long, 10)] {
            let pieces = args_pieces(args);
            assert_eq!(pieces.concat(), args);
            assert!(pieces.len() >= least, "{args}: {}", pieces.len());
        }
    }
}
