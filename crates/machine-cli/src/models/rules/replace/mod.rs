//! `replace OLD with NEW in GLOB`.
//!
//! The files come from a search, and each is edited once, in batches of parallel calls. One search may not show
//! everything. Then the next one shows more, because what was changed has no match any more. Where that does
//! not help (the shown files could not be changed, or the new text contains the old one), the files are listed,
//! and those behind the last one shown are searched one by one.

mod progress;
mod summary;

use machine_core::config::ToolSpec;

use super::calls;
use super::conversation::Work;
use super::plan::{Step, has};
use super::say;
use super::scope::Scope;
use progress::{Progress, Rest};

/// What is to be replaced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Swap<'a> {
    /// The text to replace.
    pub(super) old: &'a str,
    /// The text to put in its place.
    pub(super) new: &'a str,
    /// Where.
    pub(super) scope: &'a Scope,
}

/// The next step.
pub(super) fn plan(work: &Work, swap: &Swap<'_>, tools: &[ToolSpec]) -> Step {
    let Swap { old, new, scope } = *swap;
    if old == new {
        return Step::answer(format!("There is nothing to do: {} is to stay as it is.", say::quote(old)));
    }
    let progress = Progress::of(work, swap);
    if progress.is_refused() {
        return Step::answer(summary::of(&progress, swap, None));
    }
    let todo = progress.todo();
    if !todo.is_empty() {
        let batch = &todo[..todo.len().min(progress.room())];
        let text = summary::before_edits(&progress, swap, batch.len(), todo.len());
        return Step::calls(text, batch.iter().map(|path| calls::edit_all(path, old, new)).collect());
    }
    let what = format!("{}{}", say::quote(old), scope.say());
    match progress.rest(swap, has(tools, "list")) {
        Rest::Nothing => Step::answer(summary::of(&progress, swap, None)),
        Rest::Unknown(why) => Step::answer(summary::of(&progress, swap, Some(why))),
        Rest::Search if progress.is_new() => {
            Step::calls(format!("I look for {what}."), vec![calls::search(old, scope)])
        }
        Rest::Search => Step::calls(
            format!("Not everything was shown. I look for {what} again."),
            vec![calls::search(old, scope)],
        ),
        Rest::List => Step::calls(
            "A search does not show the rest. I list the files to look into them one by one.",
            vec![calls::list_all(scope)],
        ),
        Rest::Files(files) => {
            let batch = &files[..files.len().min(progress.room())];
            let text = format!(
                "I look into {}{}.",
                say::count(batch.len(), "more file", "more files"),
                if batch.len() < files.len() { format!(" of {}", files.len()) } else { String::new() },
            );
            Step::calls(text, batch.iter().map(|path| calls::search_file(old, path)).collect())
        }
    }
}

/// What was changed up to now, in a sentence.
pub(super) fn changed_so_far(work: &Work, swap: &Swap<'_>) -> String {
    summary::changed(&Progress::of(work, swap), swap)
}
