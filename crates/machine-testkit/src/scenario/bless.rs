//! Writing what came in the place of what was expected. It is never silent: every change is given, line by line.
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
/// file: history, ends, starts, requests, results, receipts. Everything else is left to its author.
pub fn bless(text: &str, missed: &[Missed]) -> Blessed {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let (mut changes, mut left) = (Vec::new(), Vec::new());
    let mut missed: Vec<_> = missed.iter().collect();
    // From the end, so that the lines above keep their numbers.
    missed.sort_by_key(|missed| std::cmp::Reverse(missed.line));
    for missed in missed {
        match usize::try_from(missed.line).ok().and_then(|line| change(&mut lines, line, missed)) {
            Some(change) => changes.splice(0..0, change).for_each(drop),
            None => left.push(missed.clone()),
        }
    }
    // The ends of lines, and of the file, stay as they are.
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let last = if text.ends_with('\n') { end } else { "" };
    Blessed { text: lines.join(end) + last, changes, left }
}

/// One expectation; none: it is not of a kind, or not written in a way, that can be changed.
fn change(lines: &mut Vec<String>, line: usize, missed: &Missed) -> Option<Vec<String>> {
    let key = missed.what.split('.').next()?;
    let list = match key {
        "history" | "ends" | "starts" | "receipts" => true,
        "requests" | "results" => false,
        _ => return None,
    };
    let first = line.checked_sub(1)?;
    let at = lines.get(first)?;
    let (range, new) = if list && at.trim_start().starts_with("- ") {
        let indent = at.len() - at.trim_start().len();
        let of_list =
            |line: &&String| line.trim().is_empty() || line.len() - line.trim_start().len() >= indent;
        let mut end = first + lines[first..].iter().take_while(of_list).count();
        while lines[end - 1].trim().is_empty() {
            end -= 1;
        }
        let item = |line: &String| format!("{}- {}", " ".repeat(indent), quoted(line));
        (first..end, missed.came.iter().map(item).collect::<Vec<_>>())
    } else {
        let name = missed.what.rsplit('.').next()?;
        let colon = at.find(&format!("{name}:"))? + name.len() + 1;
        let rest = at[colon..].trim();
        let whole = if list { rest.starts_with('[') && rest.ends_with(']') } else { !rest.ends_with(',') };
        if !whole {
            return None;
        }
        let items: Vec<_> = missed.came.iter().map(|line| quoted(line)).collect();
        let value = if list { format!("[{}]", items.join(", ")) } else { items.join(", ") };
        (first..first + 1, vec![format!("{} {value}", &at[..colon])])
    };
    let mut told: Vec<String> = lines[range.clone()].iter().map(|line| format!("-{line}")).collect();
    told.extend(new.iter().map(|line| format!("+{line}")));
    lines.splice(range, new);
    Some(told)
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
    serde_json::Value::from(text).to_string()
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
    fn what_is_not_written_plainly_is_left() {
        let blessed = bless("expect: {ends: [completed], requests: 1}\n", &[missed("ends", 1, &["paused"])]);
        assert_eq!((blessed.changes.len(), blessed.left.len()), (0, 1));
        assert_eq!(blessed.text, "expect: {ends: [completed], requests: 1}\n");
    }
}
