//! The requests that only look: find, count, list, read, show.
use super::calls;
use super::conversation::{Done, Work};
use super::output::{Counts, Listing, Matches, Skipped};
use super::plan::Step;
use super::say;
use super::scope::Scope;

/// The most lines that an answer repeats of what a tool printed.
const MAX_LINES: usize = 40;

/// The most lines of a file in an answer.
const MAX_FILE_LINES: usize = 200;

pub(super) fn find(work: &Work, text: &str, scope: &Scope) -> Step {
    let what = format!("{}{}", say::quote(text), scope.say());
    let Some(done) = work.last("search") else {
        return Step::calls(format!("I look for {what}."), vec![calls::search(text, scope)]);
    };
    let Some(printed) = done.printed() else { return failed("The search", done) };
    let matches = Matches::read(printed);
    let files = matches.files().len();
    if files == 0 {
        return Step::answer(format!("I found no {what}.{}", skipped(&matches.skipped)));
    }
    let shown = matches.lines.len();
    let lines = say::count(shown, "line", "lines");
    let found = match (matches.of, matches.missing_after) {
        (Some(of), _) => format!("{of} lines have {what}; these are in the first {shown} of them"),
        (None, Some(_)) => format!("At least {lines} in {} have {what}", say::count(files, "file", "files")),
        (None, None) => {
            let (verb, files) = (if shown == 1 { "has" } else { "have" }, say::count(files, "file", "files"));
            format!("{lines} in {files} {verb} {what}")
        }
    };
    let listed = say::lines(matches.lines.iter().map(|line| line.shown), MAX_LINES);
    Step::answer(format!("{found}:\n{listed}{}", skipped(&matches.skipped)))
}

pub(super) fn count(work: &Work, scope: &Scope) -> Step {
    let Some(done) = work.last("count") else {
        return Step::calls(format!("I count the lines{}.", scope.say()), vec![calls::count(scope)]);
    };
    let Some(printed) = done.printed() else { return failed("The count", done) };
    let counts = Counts::read(printed);
    let total = match counts.total {
        Some(total) => format!("There {}{}.", in_words(total), scope.say()),
        None => "The total was not in what I got.".to_owned(),
    };
    let files = say::lines(counts.files.iter().copied(), MAX_LINES);
    let files = if counts.files.len() > 1 { format!("\n{files}") } else { String::new() };
    Step::answer(format!("{total}{files}{}", skipped(&counts.skipped)))
}

/// From `7 lines, 1 files` to `are 7 lines in 1 file`.
fn in_words(total: &str) -> String {
    let number = |text: &str| text.trim_end_matches(" files").parse::<u64>().ok();
    let read = total.split_once(" lines, ").and_then(|(lines, files)| number(lines).zip(number(files)));
    let Some((lines, files)) = read else { return format!("are {total}") };
    let verb = if lines == 1 { "is" } else { "are" };
    format!("{verb} {} in {}", say::count(lines, "line", "lines"), say::count(files, "file", "files"))
}

pub(super) fn list(work: &Work, scope: &Scope) -> Step {
    match work.last("list") {
        None => Step::calls(format!("I look what is there{}.", scope.say()), vec![calls::list(scope)]),
        Some(done) => listed(done, scope),
    }
}

pub(super) fn read(work: &Work, path: &str) -> Step {
    match work.last("read") {
        None => Step::calls(format!("I read {path}."), vec![calls::read(path)]),
        Some(done) => text_of(done, path),
    }
}

/// A path may be a file or a directory: what it looks like is tried first, then the other.
pub(super) fn show(work: &Work, path: &str) -> Step {
    let scope = Scope { path: Some(path.to_owned()), glob: None };
    let name = path.rsplit('/').next().unwrap_or_default();
    let looks_like_file = name.trim_start_matches('.').contains('.');
    match (work.last("list"), work.last("read")) {
        (None, None) if looks_like_file => read(work, path),
        (None, None) => list(work, &scope),
        (Some(done), None) if says(done, "not a directory") => {
            Step::calls(format!("{path} is a file; I read it."), vec![calls::read(path)])
        }
        (None, Some(done)) if says(done, "is a directory") => {
            Step::calls(format!("{path} is a directory; I list it."), vec![calls::list(&scope)])
        }
        // What came last is the answer; the first of two failed.
        (Some(done), read) if read.is_none_or(|read| read.response < done.response) => listed(done, &scope),
        (_, Some(done)) => text_of(done, path),
        (Some(done), None) => listed(done, &scope),
    }
}

fn says(done: &Done, fault: &str) -> bool {
    !done.outcome.is_ok() && done.output.starts_with(fault)
}

fn listed(done: &Done, scope: &Scope) -> Step {
    let Some(printed) = done.printed() else { return failed("The list", done) };
    let listing = Listing::read(printed);
    let place = if scope.say().is_empty() { " in this directory".to_owned() } else { scope.say() };
    if listing.entries.is_empty() {
        return Step::answer(format!("There is nothing{place}.{}", skipped(&listing.skipped)));
    }
    let number = listing
        .of
        .map_or_else(|| say::count(listing.entries.len(), "entry", "entries"), |of| format!("{of} entries"));
    let entries = say::lines(listing.entries.iter().copied(), MAX_LINES);
    let is = if number.starts_with("1 ") { "is" } else { "are" };
    Step::answer(format!("There {is} {number}{place}:\n{entries}{}", skipped(&listing.skipped)))
}

fn text_of(done: &Done, path: &str) -> Step {
    match done.printed() {
        None => failed("Reading", done),
        Some("") => Step::answer(format!("{path} is empty.")),
        Some(text) => Step::answer(format!("{path}:\n\n{}", say::lines(text.lines(), MAX_FILE_LINES))),
    }
}

fn failed(what: &str, done: &Done) -> Step {
    Step::answer(format!("{what} failed: {}.", say::reason(done)))
}

/// What a tool left out, below an answer.
fn skipped(skipped: &Skipped<'_>) -> String {
    let mut text = String::new();
    for (path, reason) in &skipped.named {
        text.push_str(&format!("\n- {path}: not looked at ({reason})"));
    }
    if skipped.more > 0 {
        text.push_str(&format!("\n- {} not looked at", say::count(skipped.more, "more file", "more files")));
    }
    text
}
