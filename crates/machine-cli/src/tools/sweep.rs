//! The text files that a call is about, one after the other: what `search` and `count` have in common.
use std::path::Path;

use super::error::{PathFault, ToolError};
use super::glob::Glob;
use super::place::Place;
use super::report::{Skipped, show};
use super::walk::{Kind, Walk, is_not_walked};
use super::workspace::Workspace;

/// What came of a sweep.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    /// How many files were read.
    pub(super) files: usize,
    /// Whether there may be more files than the walk looked at.
    pub(super) stopped: bool,
    /// What was selected and not read.
    pub(super) skipped: Skipped,
}

/// Calls `visit` with the shown path and the text of each file below the place, or of the one file there.
pub(super) fn sweep(
    workspace: &Workspace,
    place: &Place,
    glob: Option<&Glob>,
    mut visit: impl FnMut(&str, &str),
) -> Result<Sweep, ToolError> {
    let start = place.path();
    let selected = |path: &Path| glob.is_none_or(|glob| glob.matches(path, start));
    let mut sweep = Sweep::default();
    let metadata = workspace.dir().metadata(place.at()).map_err(|e| place.fault(PathFault::reading(e)))?;
    if !metadata.is_dir() {
        if place.is_directory_only() {
            return Err(place.fault(PathFault::NotDirectory));
        }
        if selected(start) {
            // The one file that was asked for is not skipped: what is wrong with it is the answer.
            let text = workspace.read_text(start).map_err(|fault| place.fault(fault))?;
            visit(&show(start), &text);
            sweep.files = 1;
        }
        return Ok(sweep);
    }
    let mut walk = Walk::new(workspace.dir(), start, true).map_err(|fault| place.fault(fault))?;
    while let Some(entry) = walk.next() {
        let path = &*entry.path;
        if entry.kind == Kind::Directory || is_not_walked(path) || !selected(path) {
            continue;
        }
        let text = match entry.kind {
            Kind::Link => Err(PathFault::Link),
            Kind::Directory | Kind::File | Kind::Other => workspace.read_text(path),
        };
        match text {
            Ok(text) => {
                visit(&show(path), &text);
                sweep.files += 1;
            }
            Err(fault) => walk.skipped.add(path, &fault),
        }
    }
    sweep.stopped = walk.is_stopped();
    sweep.skipped = walk.skipped;
    Ok(sweep)
}
