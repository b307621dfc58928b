//! Wording that several requests share.
use machine_core::outcome::Outcome;

use super::conversation::Done;

/// The most characters of a text or reason within a sentence.
const MAX_INLINE: usize = 200;

/// A text within a sentence: in quotes, on one line, not too long.
pub(super) fn quote(text: &str) -> String {
    format!("\"{}\"", inline(&text.replace('\n', "\\n").replace('\r', "\\r")))
}

/// A number with its noun.
pub(super) fn count(number: impl TryInto<u64>, one: &str, many: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Why a call did not do what was asked, on one line.
pub(super) fn reason(done: &Done) -> String {
    match &done.outcome {
        Outcome::Denied { reason } if reason.trim().is_empty() => "permission denied".to_owned(),
        Outcome::Denied { reason } => inline(&format!("permission denied: {reason}")),
        Outcome::Ok
        | Outcome::Error { .. }
        | Outcome::NotStarted { .. }
        | Outcome::Cancelled { .. }
        | Outcome::TimedOut { .. }
        | Outcome::Unknown => inline(&done.all),
    }
}

/// The same behind the path that the call was about, which need not be named again.
pub(super) fn reason_beside_path(done: &Done) -> String {
    let reason = reason(done);
    let path = done.arg("path").map(|path| format!(": {path}"));
    path.and_then(|path| reason.strip_suffix(&path)).unwrap_or(&reason).to_owned()
}

/// Lines, at most so many; what is left out is counted.
pub(super) fn lines<'a>(lines: impl IntoIterator<Item = &'a str>, most: usize) -> String {
    let mut lines = lines.into_iter();
    let mut said: Vec<String> = lines.by_ref().take(most).map(str::to_owned).collect();
    let more = lines.count();
    if more > 0 {
        said.push(format!("(and {more} more)"));
    }
    said.join("\n")
}

/// On one line, and not too long.
pub(super) fn inline(text: &str) -> String {
    let line = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_INLINE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
