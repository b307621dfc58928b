//! What the tools print, read back.
//!
//! Output may have been shortened on its way: the middle is then missing, and the lines around the gap may be
//! parts of lines. Whatever cannot be read counts as such a gap.

/// The answer of `search`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Matches<'a> {
    /// The lines shown.
    pub(super) lines: Vec<Match<'a>>,
    /// How many there are, if more than are shown. A lower bound if that begins with `at least`.
    pub(super) of: Option<&'a str>,
    /// The file after which something is missing; empty if that is from the beginning.
    pub(super) missing_after: Option<&'a str>,
    /// What could not be searched.
    pub(super) skipped: Skipped<'a>,
}

/// A line with the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Match<'a> {
    /// The file.
    pub(super) path: &'a str,
    /// The whole line as it was shown.
    pub(super) shown: &'a str,
}

/// The answer of `list`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Listing<'a> {
    /// The entries shown.
    pub(super) entries: Vec<&'a str>,
    /// How many there are, if more than are shown.
    pub(super) of: Option<&'a str>,
    /// Whether anything is missing.
    pub(super) is_cut: bool,
    /// What could not be listed.
    pub(super) skipped: Skipped<'a>,
}

/// The answer of `count`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Counts<'a> {
    /// `path: lines` of each file shown.
    pub(super) files: Vec<&'a str>,
    /// `12 lines, 3 files`.
    pub(super) total: Option<&'a str>,
    /// What could not be counted.
    pub(super) skipped: Skipped<'a>,
}

/// What a tool left out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Skipped<'a> {
    /// Path and reason.
    pub(super) named: Vec<(&'a str, &'a str)>,
    /// How many are not named.
    pub(super) more: u64,
}

impl<'a> Matches<'a> {
    pub(super) fn read(output: &'a str) -> Self {
        let mut matches = Self::default();
        // The line behind a gap may have lost its beginning, and then names another file.
        let mut is_behind_gap = false;
        for line in output.lines().filter(|line| !line.is_empty()) {
            if let Some(of) = cut(line) {
                matches.of = Some(of);
                matches.miss();
            } else if let Some(path) = match_path(line).filter(|_| !is_skip(line)) {
                if !is_behind_gap {
                    matches.lines.push(Match { path, shown: line });
                }
            } else if !line.starts_with("[no matches") && !matches.skipped.read(line) {
                matches.miss();
                is_behind_gap = true;
                continue;
            }
            is_behind_gap = false;
        }
        matches
    }

    /// The files, each once, in order.
    pub(super) fn files(&self) -> Vec<&'a str> {
        let mut files: Vec<_> = self.lines.iter().map(|line| line.path).collect();
        files.dedup();
        files
    }

    fn miss(&mut self) {
        let last = self.lines.last().map_or("", |line| line.path);
        self.missing_after.get_or_insert(last);
    }
}

impl<'a> Listing<'a> {
    pub(super) fn read(output: &'a str) -> Self {
        let mut listing = Self::default();
        let mut is_behind_gap = false;
        for line in output.lines().filter(|line| !line.is_empty() && *line != "[no entries]") {
            if let Some(of) = cut(line) {
                listing.of = Some(of);
                listing.is_cut = true;
            } else if line.starts_with('[') && line.ends_with(".]") {
                // Before the mark of a gap stands a part of a name, and behind it another one.
                listing.entries.pop();
                listing.is_cut = true;
                is_behind_gap = true;
                continue;
            } else if !listing.skipped.read(line) && !is_behind_gap {
                listing.entries.push(line);
            }
            is_behind_gap = false;
        }
        listing
    }

    /// The entries that are files.
    pub(super) fn files(&self) -> impl Iterator<Item = &'a str> {
        self.entries.iter().copied().filter(|entry| !entry.ends_with('/') && !entry.contains(" -> "))
    }
}

impl<'a> Counts<'a> {
    pub(super) fn read(output: &'a str) -> Self {
        let mut counts = Self::default();
        for line in output.lines().filter(|line| !line.is_empty() && !line.starts_with('[')) {
            if let Some(total) = line.strip_prefix("total: ").filter(|total| total.contains(" lines, ")) {
                counts.total = Some(total);
            } else if !counts.skipped.read(line) {
                counts.files.push(line);
            }
        }
        counts
    }
}

impl<'a> Skipped<'a> {
    /// Takes a line if it is about something that was left out.
    fn read(&mut self, line: &'a str) -> bool {
        let Some(rest) = line.strip_prefix("skipped: ") else { return false };
        if let Some(more) = rest.strip_suffix(" more").and_then(|more| more.parse::<u64>().ok()) {
            self.more += more;
            return true;
        }
        let Some((path, reason)) = skip_parts(rest) else { return false };
        self.named.push((path, reason));
        true
    }
}

/// How often `edit` says that it replaced the text.
pub(super) fn replaced(output: &str) -> Option<u64> {
    output.strip_prefix("replaced ")?.split(' ').next()?.parse().ok()
}

/// How a command ended, from the last line of the shell's error: `[exit code 3]`.
pub(super) fn shell_end(output: &str) -> Option<(&str, &str)> {
    let body = output.strip_suffix(']')?;
    let at = body.rfind('[').filter(|at| *at == 0 || body[..*at].ends_with('\n'))?;
    Some((&body[..at], &body[at + 1..]))
}

/// The path of `path:12: text`.
fn match_path(line: &str) -> Option<&str> {
    line.match_indices(':')
        .map(|(at, _)| at)
        .find(|&at| at > 0 && is_number(&line[at + 1..]))
        .map(|at| &line[..at])
}

/// Whether a text begins with a number and `: `, as between path and text.
fn is_number(text: &str) -> bool {
    text.split_once(": ")
        .is_some_and(|(number, _)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `800` of `[cut: 500 of 800 matching lines shown]`.
fn cut(line: &str) -> Option<&str> {
    let inner = line.strip_prefix("[cut: ")?.strip_suffix(" shown]")?;
    let (_, of) = inner.split_once(" of ")?;
    let digit = of.find(|c: char| c.is_ascii_digit())?;
    let length = of[digit..].find(|c: char| !c.is_ascii_digit()).unwrap_or(of.len() - digit);
    Some(&of[..digit + length])
}

fn is_skip(line: &str) -> bool {
    line.strip_prefix("skipped: ").is_some_and(|rest| skip_parts(rest).is_some())
}

/// Path and reason of `path (reason)`. The reason may itself end with something in brackets.
fn skip_parts(rest: &str) -> Option<(&str, &str)> {
    let body = rest.strip_suffix(')')?;
    let mut at = body.rfind(" (")?;
    if body.ends_with(')') {
        at = body[..at].rfind(" (")?;
    }
    Some((&body[..at], &body[at + 2..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_with_everything_around() {
        let output = "a b.md:1: x\na b.md:22: y: 3: z\nc:d.md:3: x\n[cut: 3 of at least 800 matching lines shown]\n\
                      skipped: bin (1).md (not UTF-8)\nskipped: io (Boo (os error 5))\nskipped: 12 more";
        let matches = Matches::read(output);
        assert_eq!(matches.files(), ["a b.md", "c:d.md"]);
        assert_eq!(matches.of, Some("at least 800"));
        assert_eq!(matches.missing_after, Some("c:d.md"));
        assert_eq!(matches.skipped.named, [("bin (1).md", "not UTF-8"), ("io", "Boo (os error 5)")]);
        assert_eq!(matches.skipped.more, 12);
    }

    #[test]
    fn no_matches() {
        let matches = Matches::read("[no matches, files searched: 3]");
        assert_eq!(matches, Matches::default());
    }

    #[test]
    fn lines_around_a_gap_are_not_trusted() {
        let output = "a.md:1: x\nb.m\n[123 characters left out.]\nc/d.md:9: x\ne.md:2: x";
        let matches = Matches::read(output);
        assert_eq!(matches.files(), ["a.md", "e.md"]);
        assert_eq!(matches.missing_after, Some("a.md"));
        let listing = Listing::read("a/\na/b\na/c.m\n[12 characters left out.]\nd.md\ne.md -> f\ng.md");
        assert_eq!(listing.files().collect::<Vec<_>>(), ["a/b", "g.md"]);
        assert!(listing.is_cut);
    }

    #[test]
    fn counts_and_ends() {
        let counts = Counts::read("a.md: 3\nb: 4\ntotal: 7 lines, 2 files\nskipped: c (not UTF-8)");
        assert_eq!((counts.files.len(), counts.total), (2, Some("7 lines, 2 files")));
        assert_eq!(replaced("replaced 12 times in a.md"), Some(12));
        assert_eq!(replaced("done"), None);
        assert_eq!(shell_end("out\n[exit code 3]"), Some(("out\n", "exit code 3")));
        assert_eq!(shell_end("[timed out, ended by signal 9]"), Some(("", "timed out, ended by signal 9")));
        assert_eq!(shell_end("a [b]"), None);
    }
}
