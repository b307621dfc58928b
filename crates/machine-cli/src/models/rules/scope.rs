//! Which files a request is about: from words like `in *.md` or `in all rs files under src`.
use super::words::Word;

/// After one of these a place is named.
pub(super) const PREPOSITIONS: [&str; 9] =
    ["in", "inside", "within", "under", "below", "across", "throughout", "from", "of"];

/// Words that say nothing about the place, as long as another word follows.
const DETERMINERS: [&str; 17] = [
    "a", "all", "an", "and", "any", "are", "current", "each", "entire", "every", "is", "or", "that", "the",
    "these", "this", "whole",
];

/// Words for the place that was named, or for the workspace. Directly behind a preposition they are the name of a
/// place themselves: `in files` must not mean everything.
const NOUNS: [&str; 9] =
    ["directory", "file", "files", "folder", "project", "repo", "repository", "tree", "workspace"];

/// The whole workspace.
const EVERYWHERE: [&str; 3] = ["everywhere", "here", "there"];

/// Files: all below a place that fit a glob.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// A directory or a file; none is the workspace.
    pub path: Option<String>,
    /// Which files; none is all.
    pub glob: Option<String>,
}

impl Scope {
    /// Reads the words of a scope; `None` if there is a word that cannot be a place. With `named`, the first
    /// may be a place without a preposition before it.
    pub(super) fn parse(words: &[Word], named: bool) -> Option<Self> {
        let (mut expects_place, mut is_fresh) = (named, false);
        let mut globs = Vec::new();
        let mut path = None;
        for (i, word) in words.iter().enumerate() {
            let next_is = |keys: &[&str]| words.get(i + 1).is_some_and(|next| next.is(keys));
            let is_last = i + 1 == words.len() || next_is(&PREPOSITIONS);
            if word.is(&PREPOSITIONS) && !(is_fresh && is_last) {
                (expects_place, is_fresh) = (true, true);
                continue;
            }
            let says_nothing = word.is(&EVERYWHERE)
                || (word.is(&DETERMINERS) && !(is_fresh && is_last))
                || (word.is(&NOUNS) && !is_fresh);
            is_fresh = false;
            if says_nothing {
                continue;
            }
            let text = match word.quote {
                Some(_) => &*word.text,
                None => word.text.trim_end_matches([',', ';']),
            };
            match Target::of(text, next_is(&["file", "files"]), word.quote.is_some()) {
                Target::Everything => {}
                Target::Glob(glob) => globs.push(glob),
                Target::Path { path: at, is_plain } => {
                    if path.is_some() || (is_plain && !expects_place && !next_is(&["directory", "folder"])) {
                        return None;
                    }
                    path = Some(at);
                }
            }
            expects_place = false;
        }
        Some(Self { path, glob: one_glob(globs) })
    }

    /// As it is said: empty, or with a blank before it.
    pub(super) fn say(&self) -> String {
        match (&self.glob, &self.path) {
            (None, None) => String::new(),
            (Some(glob), None) => format!(" in {glob}"),
            (None, Some(path)) => format!(" in {path}"),
            (Some(glob), Some(path)) => format!(" in {glob} below {path}"),
        }
    }
}

/// What one word means.
enum Target {
    Everything,
    Glob(String),
    /// `is_plain`: it might as well be a word of another meaning.
    Path {
        path: String,
        is_plain: bool,
    },
}

impl Target {
    fn of(text: &str, is_kind: bool, is_quoted: bool) -> Self {
        if matches!(text, "" | "." | "./") {
            return Self::Everything;
        }
        let name = text.rsplit('/').next().unwrap_or_default();
        let is_word = text.chars().all(char::is_alphanumeric);
        if is_glob(text) {
            Self::Glob(text.to_owned())
        } else if is_kind && text.starts_with('.') && text[1..].chars().all(char::is_alphanumeric) {
            Self::Glob(format!("*{text}"))
        } else if is_kind && is_word {
            Self::Glob(format!("*.{text}"))
        } else if text.contains('/') || !name.trim_start_matches('.').contains('.') {
            Self::Path { path: text.to_owned(), is_plain: is_word && !is_quoted }
        } else {
            Self::Glob(text.to_owned())
        }
    }
}

/// Whether a text has wildcards.
pub(super) fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// Several globs as one. A glob with `/` is about the path, so the others must be too.
fn one_glob(mut globs: Vec<String>) -> Option<String> {
    if globs.len() < 2 {
        return globs.pop();
    }
    let about_path = globs.iter().any(|glob| glob.contains('/'));
    let any_depth =
        |glob: String| if about_path && !glob.contains('/') { format!("**/{glob}") } else { glob };
    let globs: Vec<String> = globs.into_iter().map(any_depth).collect();
    Some(format!("{{{}}}", globs.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::rules::words::Words;

    fn check(text: &str, path: Option<&str>, glob: Option<&str>) {
        let scope = Scope::parse(&Words::of(text).all, false);
        let expected = Scope { path: path.map(str::to_owned), glob: glob.map(str::to_owned) };
        assert_eq!(scope, Some(expected), "{text}");
    }

    #[test]
    fn places() {
        check("", None, None);
        check("in *.md", None, Some("*.md"));
        check("in all *.md files", None, Some("*.md"));
        check("in every md file", None, Some("*.md"));
        check("in the .md files in docs", Some("docs"), Some("*.md"));
        check("in README.md", None, Some("README.md"));
        check("in docs/guide.md", Some("docs/guide.md"), None);
        check("in docs/", Some("docs/"), None);
        check("in the docs directory", Some("docs"), None);
        check("in this directory", None, None);
        check("everywhere", None, None);
        check("in the whole project", None, None);
        check("in .", None, None);
        check("in ..", Some(".."), None);
        check("in src/**/*.rs", None, Some("src/**/*.rs"));
        check("in *.md, *.txt and *.rst", None, Some("{*.md,*.txt,*.rst}"));
        check("in *.md or src/*.rs", None, Some("{**/*.md,src/*.rs}"));
        check("in a", Some("a"), None);
        check("in files", Some("files"), None);
        check("in all", Some("all"), None);
        check("in all files", None, None);
        check("in `my dir`", Some("my dir"), None);
        check("in ünï", Some("ünï"), None);
    }

    #[test]
    fn a_word_that_is_no_place_is_not_taken_for_one() {
        for text in ["in *.md and then stop", "in *.md now", "in docs and src"] {
            assert_eq!(Scope::parse(&Words::of(text).all, false), None, "{text}");
        }
    }
}
