//! What is said about a replacement.
use super::Swap;
use super::progress::{Fate, Progress};
use crate::models::rules::say;

/// The answer: what was replaced, and by name what was not. `why` says why there may be more.
pub(super) fn of(progress: &Progress<'_>, swap: &Swap<'_>, why: Option<String>) -> String {
    let mut text = changed(progress, swap);
    let (mut unchanged, mut unsure) = (Vec::new(), Vec::new());
    for (path, fate) in progress.files() {
        match fate {
            Some(Fate::Changed(_)) => {}
            Some(Fate::Unchanged(done) | Fate::NotStarted(done)) => {
                unchanged.push(format!("- {path}: {}", say::reason_beside_path(done)));
            }
            Some(Fate::Unsure(done)) => unsure.push(format!("- {path}: {}", say::reason_beside_path(done))),
            None => unchanged.push(format!("- {path}: not tried, since the changes before it were refused")),
        }
    }
    let mut skipped: Vec<_> =
        progress.skipped.iter().map(|(path, reason)| format!("- {path}: {reason}")).collect();
    if progress.more_skipped > 0 {
        skipped.push(format!("- {} that no tool named", say::count(progress.more_skipped, "file", "files")));
    }
    for (title, lines) in
        [("Not changed", unchanged), ("Perhaps changed", unsure), ("Not looked into", skipped)]
    {
        if !lines.is_empty() {
            text.push_str(&format!("\n\n{title}:\n{}", lines.join("\n")));
        }
    }
    let why = match progress.failure() {
        Some(done) if progress.found() > 0 => Some(format!("a search failed: {}", say::reason(done))),
        _ if progress.is_refused() && progress.is_partial() => Some("I did not look for them".to_owned()),
        _ => why,
    };
    if let Some(why) = why {
        text.push_str(&format!("\n\nThere may be more files with {}: {why}.", say::quote(swap.old)));
    }
    text
}

/// What was replaced, in a sentence.
pub(super) fn changed(progress: &Progress<'_>, swap: &Swap<'_>) -> String {
    let (old, new) = (say::quote(swap.old), say::quote(swap.new));
    let changed: Vec<Option<u64>> = progress
        .files()
        .filter_map(|(_, fate)| match fate {
            Some(Fate::Changed(times)) => Some(times),
            Some(Fate::Unchanged(_) | Fate::Unsure(_) | Fate::NotStarted(_)) | None => None,
        })
        .collect();
    if !changed.is_empty() {
        let times = say::count(changed.iter().map(|times| times.unwrap_or(1)).sum::<u64>(), "time", "times");
        let least = if changed.contains(&None) { "at least " } else { "" };
        let files = say::count(changed.len(), "file", "files");
        return format!("Replaced {old} with {new} {least}{times} in {files}.");
    }
    let is_sure = progress.files().all(|(_, fate)| !matches!(fate, Some(Fate::Unsure(_))));
    match (progress.failure(), progress.found()) {
        (Some(done), 0) => format!("The search failed, so nothing was changed: {}.", say::reason(done)),
        _ if !is_sure => "Nothing was changed for certain.".to_owned(),
        (_, 0) => format!("I found no {old}{}, so nothing was changed.", swap.scope.say()),
        (_, found) => {
            let files = say::count(found, "file", "files");
            let has = if found == 1 { "has" } else { "have" };
            let refused = if progress.is_refused() { "The changes were not permitted. " } else { "" };
            format!("{refused}Nothing was changed: {files} still {has} {old}.")
        }
    }
}

/// What is said before a batch of edits.
pub(super) fn before_edits(progress: &Progress<'_>, swap: &Swap<'_>, batch: usize, todo: usize) -> String {
    let found = progress.found();
    let tried = progress.files().filter(|(_, fate)| fate.is_some()).count();
    if tried > 0 {
        return format!(
            "{} done. I go on with {batch} of {todo}.",
            say::count(tried, "file is", "files are")
        );
    }
    let files = say::count(found, "file", "files");
    let least = if progress.is_partial() { "at least " } else { "" };
    let then = match batch {
        1 if todo == 1 => "I change it.".to_owned(),
        _ if batch == todo => "I change them.".to_owned(),
        _ => format!("I change the first {batch}."),
    };
    format!("Found {} in {least}{files}. {then}", say::quote(swap.old))
}
