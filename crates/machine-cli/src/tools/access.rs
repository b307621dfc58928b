//! What a call touches, for whoever decides which calls may run at the same time.
use super::error::ToolError;
use super::place::Place;
use super::workspace::Workspace;

/// What is done to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads, then writes.
    ReadWrite,
    /// Looks through.
    Search,
}

/// One path and what is done to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Access {
    /// What is done.
    pub mode: Mode,
    /// Relative to the workspace, `/` between the names, without `.`, `..` and symbolic links; the workspace
    /// itself is `""`. Two spellings of one place are equal here.
    pub path: String,
    /// Whether everything below the path is meant too.
    pub recursive: bool,
}

/// Everything that one call touches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Accesses {
    /// Whatever there is: nothing else may run beside it.
    All,
    /// These paths.
    Paths(Vec<Access>),
}

impl Accesses {
    /// One file.
    pub(super) fn file(workspace: &Workspace, mode: Mode, path: &str) -> Result<Self, ToolError> {
        Ok(Self::one(mode, &workspace.resolve(path)?, false))
    }

    /// A search of a directory and everything below it.
    pub(super) fn search(workspace: &Workspace, path: Option<&str>) -> Result<Self, ToolError> {
        Ok(Self::one(Mode::Search, &workspace.resolve_or_root(path)?, true))
    }

    fn one(mode: Mode, place: &Place, recursive: bool) -> Self {
        let path = place.path().to_string_lossy().into_owned();
        Self::Paths(vec![Access { mode, path, recursive }])
    }
}
