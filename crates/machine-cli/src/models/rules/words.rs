//! The words of a prompt. A text in quotes is one word, whatever is in it.

/// Opening quotes, each with the closing one.
const QUOTES: [(char, char); 6] = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('‘', '’'), ('«', '»')];

/// What ends a sentence, and is no part of a last word without quotes.
const ENDS: [char; 4] = ['.', '!', ',', ';'];

/// One word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// The word; for a quoted one, what is between the quotes, with `\\` and an escaped quote undone.
    pub(super) text: String,
    /// The opening quote.
    pub(super) quote: Option<char>,
    /// Where it begins in the prompt, in bytes.
    pub(super) start: usize,
    /// Where it ends.
    pub(super) end: usize,
}

/// A prompt in words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) all: Vec<Word>,
    /// Whether a quote was opened and not closed.
    pub(super) is_open: bool,
}

impl Word {
    /// A word without quotes as it is compared with the grammar's words: lower case, no sign at its end. A
    /// quoted word is never one of the grammar's.
    pub(super) fn key(&self) -> String {
        match self.quote {
            Some(_) => String::new(),
            None => {
                self.text.trim_end_matches([',', ';', ':', '.', '!', '?']).to_lowercase().replace('’', "'")
            }
        }
    }

    /// Whether it is one of these words of the grammar.
    pub(super) fn is(&self, keys: &[&str]) -> bool {
        keys.contains(&&*self.key())
    }
}

impl Words {
    /// Splits a prompt.
    pub(super) fn of(prompt: &str) -> Self {
        let mut words = Self { all: Vec::new(), is_open: false };
        let mut at = 0;
        while let Some(first) = prompt[at..].chars().next() {
            if first.is_whitespace() {
                at += first.len_utf8();
                continue;
            }
            let word = match QUOTES.iter().find(|(open, _)| *open == first) {
                Some(&(open, close)) => quoted(prompt, at, open, close),
                None => None,
            };
            // An apostrophe may begin a word without a quote, the other signs do not.
            words.is_open |= word.is_none() && first != '\'' && QUOTES.iter().any(|(open, _)| *open == first);
            let word = word.unwrap_or_else(|| bare(prompt, at));
            at = word.end;
            words.all.push(word);
        }
        words.drop_signs();
        words
    }

    /// Takes the sign that ends the sentence from the last word.
    pub(super) fn trim_end(&mut self, is_question: bool) {
        let Some(last) = self.all.last_mut().filter(|word| word.quote.is_none()) else { return };
        // `?` may be a wildcard.
        let trimmed = last.text.trim_end_matches(|c| ENDS.contains(&c) || (is_question && c == '?'));
        // `.` and `docs/..` are directories.
        if !trimmed.is_empty() && !trimmed.ends_with('/') {
            last.text.truncate(trimmed.len());
        }
    }

    /// Drops words that are nothing but signs: behind a quote all of them, elsewhere those that can be neither
    /// a directory nor a wildcard.
    fn drop_signs(&mut self) {
        let mut quote_end = None;
        self.all.retain(|word| {
            let follows = quote_end == Some(word.start);
            quote_end = word.quote.map(|_| word.end);
            let is_sign = |c| ",;:!".contains(c) || (follows && ".?".contains(c));
            word.quote.is_some() || !word.text.chars().all(is_sign)
        });
    }
}

/// The word in quotes that begins here; `None` if the quote is not closed.
fn quoted(prompt: &str, start: usize, open: char, close: char) -> Option<Word> {
    let mut text = String::new();
    let mut chars = prompt[start..].char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        // `'it's'`: a quote sign within a word does not close.
        let is_apostrophe = matches!(close, '\'' | '’') && next.is_some_and(char::is_alphanumeric);
        match next {
            Some(next) if c == '\\' && (next == close || next == '\\') => {
                text.push(next);
                chars.next();
            }
            _ if c == close && !is_apostrophe => {
                return Some(Word { text, quote: Some(open), start, end: start + at + c.len_utf8() });
            }
            _ => text.push(c),
        }
    }
    None
}

fn bare(prompt: &str, start: usize) -> Word {
    let rest = &prompt[start..];
    let end = start + rest.find(char::is_whitespace).unwrap_or(rest.len());
    Word { text: prompt[start..end].to_owned(), quote: None, start, end }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(prompt: &str, expected: &[&str]) {
        let mut words = Words::of(prompt);
        words.trim_end(false);
        let got: Vec<_> = words
            .all
            .iter()
            .map(|word| word.quote.map_or(word.text.clone(), |quote| format!("{quote}{}", word.text)))
            .collect();
        assert_eq!(got, expected, "{prompt}");
    }

    #[test]
    fn words_and_quotes() {
        check("", &[]);
        check("  a \n\tb ", &["a", "b"]);
        check(r#"a "b c" 'd e' `f g`."#, &["a", "\"b c", "'d e", "`f g"]);
        check("“a b” ‘c’ «d»!", &["“a b", "‘c", "«d"]);
        check(r#""a \"b\" \\ \n""#, &[r#""a "b" \ \n"#]);
        check("'it's' don't 'tis", &["'it's", "don't", "'tis"]);
        check(r#""a", "b"; c"#, &["\"a", "\"b", "c"]);
        check("'' \"\"", &["'", "\""]);
    }

    #[test]
    fn the_end_of_a_sentence_is_no_word() {
        check("in *.md.", &["in", "*.md"]);
        check("stop!!", &["stop"]);
        check("list .", &["list", "."]);
        check("list docs/..", &["list", "docs/.."]);
        check("say \"x.\".", &["say", "\"x."]);
        check("...", &["..."]);
    }

    #[test]
    fn an_open_quote_is_noticed() {
        for (prompt, is_open) in [("a \"b", true), ("`a", true), ("'tis", false), ("\"a\" b", false)] {
            assert_eq!(Words::of(prompt).is_open, is_open, "{prompt}");
        }
    }
}
