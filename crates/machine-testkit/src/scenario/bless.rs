//! Writing what came in the place of what was expected. It is never silent: every change is given, line by line.
use serde_json::Value;

use crate::scenario::judge::Missed;

/// A file with other expectations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blessed {
    /// The file's new text.
    pub text: String,
    /// What changed: removed lines with `-`, new ones with `+`.
    pub changes: Vec<String>,
    /// What could not be changed here: look at it.
    pub left: Vec<Missed>,
}

/// Puts what came in the place of what was expected, where an expectation is a plain list or value that stands in the
/// file: history, ends, starts, requests, results, receipts. Everything else is left to its author, and so is whatever
/// could not be changed without changing something beside it.
pub fn bless(text: &str, missed: &[Missed]) -> Blessed {
    let mut blessed = Blessed { text: text.to_owned(), changes: Vec::new(), left: Vec::new() };
    let mut missed: Vec<_> = missed.iter().collect();
    // From the end, so that the lines above keep their numbers.
    missed.sort_by_key(|missed| std::cmp::Reverse(missed.line));
    for missed in missed {
        match change(&blessed.text, missed) {
            Some((text, change)) => {
                blessed.text = text;
                blessed.changes.splice(0..0, change).for_each(drop);
            }
            None => blessed.left.push(missed.clone()),
        }
    }
    blessed
}

/// One expectation: the file with it, and the lines that changed; none: it is not of a kind, or not written in a way,
/// that can be changed.
fn change(text: &str, missed: &Missed) -> Option<(String, Vec<String>)> {
    let (key, name) =
        missed.what.split_once('.').map_or((&*missed.what, None), |(key, name)| (key, Some(name)));
    let list = match key {
        "history" | "ends" | "starts" | "receipts" => true,
        "requests" | "results" => false,
        _ => return None,
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let first = usize::try_from(missed.line).ok()?.checked_sub(1)?;
    let line = lines.get(first)?;
    let (at, end) = line.split_at(line.trim_end_matches(['\r', '\n']).len());
    let (last, new) = if list && at.trim_start().starts_with("- ") {
        let indent = indent(at);
        let items = missed.came.iter().map(|line| format!("{}- {}", " ".repeat(indent), quoted(line)));
        (first + list_lines(&lines[first..], indent), items.collect())
    } else {
        let name = name.unwrap_or(key);
        let colon = at.find(&format!("{name}:"))? + name.len() + 1;
        let items: Vec<_> = missed.came.iter().map(|line| quoted(line)).collect();
        let value = if list { format!("[{}]", items.join(", ")) } else { items.join(", ") };
        (first + 1, vec![format!("{} {value}", &at[..colon])])
    };
    let old = &lines[first..last];
    // A comment is its author's, wherever it stands.
    if old.iter().any(|line| line.trim_start().starts_with('#') || line.contains(" #")) {
        return None;
    }
    let new: Vec<String> = new;
    let end = if end.is_empty() { "\n" } else { end };
    let mut written = new.join(end);
    written += if old.last()?.ends_with('\n') { end } else { "" };
    let whole = [&lines[..first].concat(), &*written, &lines[last..].concat()].concat();
    if expected(text, key, name, missed, list)? != read(&whole)? {
        return None;
    }
    let removed = old.iter().map(|line| format!("-{}", line.trim_end_matches(['\r', '\n'])));
    Some((whole, removed.chain(new.iter().map(|line| format!("+{line}"))).collect()))
}

/// The lines of a list whose items stand at this indent.
fn list_lines(lines: &[&str], indent_of_list: usize) -> usize {
    let of_list = |line: &&&str| {
        let begins = line.trim_start().starts_with("- ");
        line.trim().is_empty() || indent(line) > indent_of_list || (indent(line) == indent_of_list && begins)
    };
    let mut count = lines.iter().take_while(of_list).count();
    while lines[count - 1].trim().is_empty() {
        count -= 1;
    }
    count
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// What the file says when this one expectation is another, and nothing else.
fn expected(text: &str, key: &str, name: Option<&str>, missed: &Missed, list: bool) -> Option<Value> {
    let mut file = read(text)?;
    let mut place = file.get_mut("expect")?.get_mut(key)?;
    if let Some(name) = name {
        place = place.get_mut(name)?;
    }
    *place = match (list, &*missed.came) {
        (true, came) => Value::from(came.to_vec()),
        (false, [one]) if key == "requests" => Value::from(one.parse::<u64>().ok()?),
        (false, [one]) => Value::from(one.as_str()),
        (false, _) => return None,
    };
    Some(file)
}

fn read(text: &str) -> Option<Value> {
    serde_saphyr::from_str(text).ok()
}

/// A text as YAML reads it back, also within a flow list.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || " ()_-./@+".contains(c);
    let begins = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    let word = !matches!(
        &*text.to_ascii_lowercase(),
        "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
    );
    if begins && word && text.chars().all(plain) && text.trim() == text {
        return text.to_owned();
    }
    if !text.is_empty() && text.chars().all(|c| c.is_ascii_digit()) {
        return text.to_owned();
    }
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missed(what: &str, line: u64, came: &[&str]) -> Missed {
        let came = came.iter().map(|line| (*line).to_owned()).collect();
        Missed { what: what.into(), line, expected: Vec::new(), came }
    }

    #[test]
    fn every_change_is_told_and_nothing_else_changes() {
        let text = "title: x\nexpect:\n  history:\n    - user go\n    - model a\n  ends: [completed]\n  requests: 1\n  never: [stray]\n";
        let all = [
            missed("history", 4, &["user go", "model a: b", "marker"]),
            missed("ends", 6, &["aborted(user)"]),
            missed("requests", 7, &["2"]),
            missed("never", 8, &["@3 stray"]),
        ];
        let blessed = bless(text, &all);
        let right = "title: x\nexpect:\n  history:\n    - user go\n    - \"model a: b\"\n    - marker\n  ends: [aborted(user)]\n  requests: 2\n  never: [stray]\n";
        assert_eq!(blessed.text, right);
        let told =
            ["-    - user go", "-    - model a", "+    - user go", "+    - \"model a: b\"", "+    - marker"];
        assert_eq!(blessed.changes[..5], told);
        assert_eq!(
            blessed.changes[5..],
            ["-  ends: [completed]", "+  ends: [aborted(user)]", "-  requests: 1", "+  requests: 2"]
        );
        assert_eq!(blessed.left.len(), 1, "what must never come is its author's to say");
    }

    #[test]
    fn the_ends_of_lines_stay() {
        let blessed =
            bless("expect:\r\n  ends: [paused]\r\n  never: []", &[missed("ends", 2, &["completed"])]);
        assert_eq!(blessed.text, "expect:\r\n  ends: [completed]\r\n  never: []");
    }

    #[test]
    fn keys_after_a_list_without_an_indent_of_its_own_stay() {
        let text = "expect:\n  ends:\n  - paused\n  requests: 9\n";
        let blessed = bless(text, &[missed("ends", 3, &["completed", "paused"])]);
        assert_eq!(blessed.text, "expect:\n  ends:\n  - completed\n  - paused\n  requests: 9\n");
    }

    #[test]
    fn a_change_that_would_touch_something_else_is_left() {
        for (text, what, line) in [
            ("expect:\n  results: {a: denied, b: denied}\n", "results.a", 2),
            ("expect:\n  results: {b: denied, a: denied}\n", "results.a", 2),
            ("expect:\n  results: {xa: ok, a: denied}\n", "results.a", 2),
            ("expect: {ends: [paused], requests: 4}\n", "requests", 1),
            ("expect:\n  requests: &n 4\n  counts: {held: *n}\n", "requests", 2),
            ("expect:\n  ends: [paused] # why\n", "ends", 2),
            ("expect:\n  requests: 7 # why\n", "requests", 2),
            ("expect:\n  ends:\n    - paused\n    # why\n    - paused\n", "ends", 3),
        ] {
            let came = if what == "requests" { "1" } else { "ok" };
            let blessed = bless(text, &[missed(what, line, &[came])]);
            assert_eq!((&*blessed.text, blessed.left.len()), (text, 1), "{text}");
        }
    }

    #[test]
    fn mixed_ends_of_lines_stay_mixed() {
        let blessed =
            bless("expect:\r\n  requests: 1\n  ends: [paused]\r\n", &[missed("ends", 3, &["completed"])]);
        assert_eq!(blessed.text, "expect:\r\n  requests: 1\n  ends: [completed]\r\n");
    }

    #[test]
    fn what_is_not_written_plainly_is_left() {
        let blessed = bless("expect: {ends: [completed], requests: 1}\n", &[missed("ends", 1, &["paused"])]);
        assert_eq!((blessed.changes.len(), blessed.left.len()), (0, 1));
        assert_eq!(blessed.text, "expect: {ends: [completed], requests: 1}\n");
    }
}
