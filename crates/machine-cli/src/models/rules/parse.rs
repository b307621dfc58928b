//! The grammar: from a prompt to a request.
//!
//! A prompt is a verb with what it needs; [`VERBS`] is the table. Words that only make it polite are left out,
//! and a text may stand in quotes of any kind or, if it is one word, without.
use thiserror::Error;

use super::scope::{PREPOSITIONS, Scope, is_glob};
use super::words::{Word, Words};

/// What a prompt asks for. A new kind is a variant here, a verb in the table below, and a function in `plan`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Replace a text in files.
    Replace {
        /// What to replace.
        old: String,
        /// With what.
        new: String,
        /// Where.
        scope: Scope,
    },
    /// Find a text in files.
    Find {
        /// The text.
        text: String,
        /// Where.
        scope: Scope,
    },
    /// Count the lines of files.
    Count {
        /// Which.
        scope: Scope,
    },
    /// List files.
    List {
        /// Which.
        scope: Scope,
    },
    /// Read a file.
    Read {
        /// The file.
        path: String,
    },
    /// Show what is at a path: a file's text, a directory's entries.
    Show {
        /// The path.
        path: String,
    },
    /// Run a command.
    Run {
        /// The command.
        command: String,
    },
}

/// Why a prompt is not a request.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unclear {
    /// It begins with no known verb.
    #[error("I do not know what to do with that.")]
    Verb,
    /// A quote is opened and not closed.
    #[error("A quote in that is opened and not closed.")]
    OpenQuote,
    /// The text to look for is empty.
    #[error("The text to look for is empty.")]
    NoText,
    /// The verb is known, but not what follows it.
    #[error("I could not read that. Try: {0}")]
    Form(&'static str),
}

type Rule = fn(&[Word]) -> Result<Request, Unclear>;

/// Each verb, with what reads the words behind it. `run` is read apart: a command is not made of words.
const VERBS: [(&str, Rule); 19] = [
    ("replace", replace),
    ("substitute", replace),
    ("find", find),
    ("search", find),
    ("grep", find),
    ("look", find),
    ("count", count),
    ("how many", count),
    ("list", list),
    ("ls", list),
    ("what's", what),
    ("whats", what),
    ("what", what),
    ("show", show),
    ("display", show),
    ("print", show),
    ("read", read),
    ("open", read),
    ("cat", read),
];

const RUN: [&str; 2] = ["run", "execute"];

/// Words before and behind a request that only make it polite.
const BEFORE: [&str; 17] = [
    "please", "kindly", "now", "then", "ok", "okay", "hey", "hi", "hello", "and", "can", "could", "would",
    "will", "you", "just", "also",
];
const BEHIND: [&str; 5] = ["please", "thanks", "thank", "you", "now"];
const QUESTIONS: [&str; 8] = ["how", "what", "what's", "whats", "can", "could", "would", "will"];

/// Words before a text that do not belong to it.
const BEFORE_OLD: [&str; 17] = [
    "the",
    "all",
    "every",
    "each",
    "any",
    "word",
    "words",
    "text",
    "texts",
    "string",
    "strings",
    "phrase",
    "occurrence",
    "occurrences",
    "instance",
    "instances",
    "of",
];
/// The same for a text that is searched for.
const BEFORE_FOUND: [&str; 10] =
    ["for", "lines", "files", "file", "with", "containing", "that", "contain", "to", "mentions"];
/// Words that a text follows, so that what comes next is not politeness.
const TEXT_FOLLOWS: [&str; 6] = ["with", "by", "for", "of", "word", "text"];

/// Words around a path that do not belong to it.
const AROUND_PATH: [&str; 16] = [
    "me",
    "us",
    "the",
    "file",
    "content",
    "contents",
    "of",
    "directory",
    "folder",
    "what",
    "what's",
    "is",
    "in",
    "my",
    "this",
    "current",
];

const REPLACE: &str = r#"replace "OLD" with "NEW" in *.md"#;
const FIND: &str = r#"find "TEXT" in *.md"#;
const COUNT: &str = "count lines in *.md";
const LIST: &str = "list docs";
const READ: &str = "read README.md";
const SHOW: &str = "show docs";
const COMMAND: &str = "run `ls -l`";

/// One example of each request, for a model that has to say what it can do.
pub(super) const EXAMPLES: [&str; 7] = [REPLACE, FIND, COUNT, LIST, READ, SHOW, COMMAND];

/// Reads a prompt.
pub fn parse(prompt: &str) -> Result<Request, Unclear> {
    let mut words = Words::of(prompt);
    if let [only] = &*words.all
        && only.quote == Some('`')
    {
        return command(&inner(prompt, only, '`'));
    }
    let first = words.all.iter().position(|word| !word.is(&BEFORE)).ok_or(Unclear::Verb)?;
    let is_question = words.all[..=first].iter().any(|word| word.is(&QUESTIONS));
    words.all.drain(..first);
    if words.all[0].is(&RUN) {
        return run(prompt, &words.all);
    }
    while let [_, .., before, last] = &*words.all
        && last.is(&BEHIND)
        && !before.is(&TEXT_FOLLOWS)
    {
        words.all.pop();
    }
    words.trim_end(is_question);
    let key = words.all[0].key();
    let second = words.all.get(1).map(Word::key).unwrap_or_default();
    let verb = VERBS.iter().find_map(|(verb, rule)| match verb.split_once(' ') {
        Some((first, then)) => (key == first && second == then).then_some((2, rule)),
        None => (key == *verb).then_some((1, rule)),
    });
    let (length, rule) = verb.ok_or(Unclear::Verb)?;
    if words.is_open {
        return Err(Unclear::OpenQuote);
    }
    rule(&words.all[length..])
}

/// `OLD with NEW [in …]`, or `OLD in … with NEW`.
fn replace(words: &[Word]) -> Result<Request, Unclear> {
    let form = || Unclear::Form(REPLACE);
    let at = |key| (1..words.len()).find(|&i| words[i].is(&[key]));
    let with = at("with").or_else(|| at("by")).ok_or_else(form)?;
    let (old, old_scope) = text_and_scope(&words[..with], &[]).ok_or_else(form)?;
    let (new, new_scope) = text_and_scope(&words[with + 1..], &[]).ok_or_else(form)?;
    if old.is_empty() {
        return Err(Unclear::NoText);
    }
    let scope = match (old_scope, new_scope) {
        (scope, None) | (None, scope) => scope.unwrap_or_default(),
        (Some(_), Some(_)) => return Err(form()),
    };
    Ok(Request::Replace { old, new, scope })
}

/// `[for] TEXT [in …]`, or `PLACE for TEXT`.
fn find(words: &[Word]) -> Result<Request, Unclear> {
    let form = || Unclear::Form(FIND);
    let place = (1..words.len()).find(|&i| words[i].is(&["for"]) && !words[0].is(&["for"]));
    let (text, scope) = match place {
        Some(at) if words[..at].iter().any(|word| word.quote.is_none() && is_glob(&word.text)) => {
            let scope = Scope::parse(&words[..at], true).ok_or_else(form)?;
            (text(&words[at + 1..], &BEFORE_FOUND).ok_or_else(form)?, scope)
        }
        _ => {
            let (text, scope) = text_and_scope(words, &BEFORE_FOUND).ok_or_else(form)?;
            (text, scope.unwrap_or_default())
        }
    };
    if text.is_empty() {
        return Err(Unclear::NoText);
    }
    Ok(Request::Find { text, scope })
}

/// `lines [in …]`, `[how many] lines are in …`.
fn count(words: &[Word]) -> Result<Request, Unclear> {
    let is_filler = |word: &Word| word.is(&["number", "line", "lines", "do", "does", "have", "has", "me"]);
    if !words.iter().any(|word| word.is(&["line", "lines"])) {
        return Err(Unclear::Form(COUNT));
    }
    let rest: Vec<Word> = words.iter().filter(|word| !is_filler(word)).cloned().collect();
    let scope = Scope::parse(&rest, true).ok_or(Unclear::Form(COUNT))?;
    Ok(Request::Count { scope })
}

/// `[the files in] DIR`, or a glob.
fn list(words: &[Word]) -> Result<Request, Unclear> {
    let is_filler = |word: &Word| word.is(&["me", "content", "contents", "entries", "directories"]);
    let rest: Vec<Word> = words.iter().filter(|word| !is_filler(word)).cloned().collect();
    let scope = Scope::parse(&rest, true).ok_or(Unclear::Form(LIST))?;
    Ok(Request::List { scope })
}

/// `is in DIR`.
fn what(words: &[Word]) -> Result<Request, Unclear> {
    if !words.iter().any(|word| word.is(&["in", "inside", "here", "there"])) {
        return Err(Unclear::Verb);
    }
    let is_filler = |word: &Word| word.is(&["files", "is", "are", "there", "here", "inside"]);
    let rest: Vec<Word> = words.iter().filter(|word| !is_filler(word)).cloned().collect();
    show(&rest)
}

fn show(words: &[Word]) -> Result<Request, Unclear> {
    let path = path(words).ok_or(Unclear::Form(SHOW))?.unwrap_or_else(|| ".".to_owned());
    if is_glob(&path) {
        return Ok(Request::List { scope: Scope { path: None, glob: Some(path) } });
    }
    Ok(Request::Show { path })
}

fn read(words: &[Word]) -> Result<Request, Unclear> {
    let path = path(words).flatten().ok_or(Unclear::Form(READ))?;
    Ok(Request::Read { path })
}

/// Everything behind the verb as it is written, or what is in its quotes if it is one quoted text.
fn run(prompt: &str, words: &[Word]) -> Result<Request, Unclear> {
    let is_filler = |word: &&Word| word.is(&["the", "command", "this", "following"]) || word.is(&BEHIND);
    let mut rest = words[1..].iter().filter(|word| !is_filler(word));
    if let (Some(word), None) = (rest.next(), rest.next())
        && let Some(quote) = word.quote
    {
        return command(&inner(prompt, word, quote));
    }
    command(prompt[words[0].end..].trim_start().trim_start_matches(':'))
}

/// What stands between the quotes. Backslashes are the command's own, but for those before such a quote.
fn inner(prompt: &str, word: &Word, quote: char) -> String {
    let text = prompt[word.start..word.end].strip_prefix(quote).unwrap_or_default();
    let end = text.char_indices().next_back().map_or(0, |(at, _)| at);
    text[..end].replace(&format!("\\{quote}"), &quote.to_string())
}

fn command(text: &str) -> Result<Request, Unclear> {
    match text.trim() {
        "" => Err(Unclear::Form(COMMAND)),
        command => Ok(Request::Run { command: command.to_owned() }),
    }
}

/// A text, and the scope behind it if there is one.
fn text_and_scope(words: &[Word], fillers: &[&str]) -> Option<(String, Option<Scope>)> {
    let begins = |i: &usize| words[*i].is(&PREPOSITIONS[..7]) || words[*i].is(&["everywhere", "here"]);
    match (1..words.len()).find(begins) {
        Some(at) => Some((text(&words[..at], fillers)?, Some(Scope::parse(&words[at..], false)?))),
        None => Some((text(words, fillers)?, None)),
    }
}

/// The last word, if nothing but fillers stands before it. Several words without quotes are no text: which of
/// them belong to it would be a guess.
fn text(words: &[Word], fillers: &[&str]) -> Option<String> {
    let (last, before) = words.split_last()?;
    let is_filler = |word: &Word| word.is(&BEFORE_OLD) || word.is(fillers);
    // `the foo` may be all of it, `the word foo` is not.
    if last.quote.is_none() && before.last().is_some_and(|word| word.is(&["the"])) {
        return None;
    }
    before.iter().all(is_filler).then(|| last.text.clone())
}

/// The one word that is a path; `Some(None)` if there is none.
fn path(words: &[Word]) -> Option<Option<String>> {
    let mut rest = words.iter().filter(|word| !word.is(&AROUND_PATH));
    match (rest.next(), rest.next()) {
        (path, None) => Some(path.map(|word| word.text.clone())),
        (_, Some(_)) => None,
    }
}
