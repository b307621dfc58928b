//! From the path of a call to a place in the workspace.
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::args;
use super::error::{PathFault, ToolError};
use super::report;
use super::workspace::Workspace;

/// How many symbolic links one path may lead through; Linux has the same bound.
const MAX_LINKS: usize = 40;

/// A place in the workspace: what a path means after its links are followed. Something need not be there yet.
///
/// It is for naming, not for safety: each use goes through the workspace's `Dir`, which confines it again.
#[derive(Debug)]
pub(super) struct Place {
    given: String,
    path: PathBuf,
    /// The path ends with `/`, `.` or `..`, so that only a directory will do.
    directory: bool,
}

impl Place {
    /// Relative, without `.`, `..` and links; the workspace itself is empty.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The same for the functions of `Dir`, which take `.` for the directory itself.
    pub(super) fn at(&self) -> &Path {
        if self.path.as_os_str().is_empty() { Path::new(".") } else { &self.path }
    }

    /// As the call gave it, for messages.
    pub(super) fn given(&self) -> &str {
        &self.given
    }

    /// Whether the path can only mean a directory.
    pub(super) fn is_directory_only(&self) -> bool {
        self.directory || self.path.as_os_str().is_empty()
    }

    pub(super) fn fault(&self, fault: PathFault) -> ToolError {
        ToolError::Path { path: self.given.clone(), fault }
    }
}

impl Workspace {
    /// What the path of a call means.
    pub(super) fn resolve(&self, given: &str) -> Result<Place, ToolError> {
        if given.is_empty() {
            return Err(args::wrong("path", "is empty"));
        }
        let shown = report::show(Path::new(given));
        if given.contains('\0') {
            return Err(args::wrong("path", format!("contains a NUL character: {shown}")));
        }
        let directory = matches!(given.rsplit('/').next(), Some("" | "." | ".."));
        match self.follow(Path::new(given)) {
            Ok(path) => Ok(Place { given: shown, path, directory }),
            Err(fault) => Err(ToolError::Path { path: shown, fault }),
        }
    }

    /// The same for a path that may be left out.
    pub(super) fn resolve_or_root(&self, given: Option<&str>) -> Result<Place, ToolError> {
        self.resolve(given.unwrap_or("."))
    }

    fn follow(&self, given: &Path) -> Result<PathBuf, PathFault> {
        let mut path = PathBuf::new();
        let mut links = 0;
        // What is still to go, the next step last.
        let mut steps = steps(self.strip_root(given).ok_or(PathFault::Leaves)?);
        while let Some(step) = steps.pop() {
            if step == ".." {
                if !path.pop() {
                    return Err(PathFault::Leaves);
                }
                continue;
            }
            path.push(step);
            let Some(target) = self.link_at(&path)? else { continue };
            links += 1;
            if links > MAX_LINKS {
                return Err(PathFault::TooManyLinks);
            }
            if target.is_absolute() {
                path.clear();
            } else {
                path.pop();
            }
            steps.extend(self::steps(self.strip_root(&target).ok_or(PathFault::Leaves)?));
        }
        Ok(path)
    }

    /// Where the link at this path points; `None` if there is none, or nothing at all.
    fn link_at(&self, path: &Path) -> Result<Option<PathBuf>, PathFault> {
        match self.dir().symlink_metadata(path) {
            Ok(metadata) if metadata.is_symlink() => {
                self.dir().read_link_contents(path).map(Some).map_err(PathFault::reading)
            }
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(PathFault::reading(error)),
        }
    }
}

/// The names and `..` of a relative path, the last one first.
fn steps(path: &Path) -> Vec<OsString> {
    let mut steps: Vec<OsString> = path
        .components()
        .filter(|part| !matches!(part, Component::CurDir))
        .map(|part| part.as_os_str().to_owned())
        .collect();
    steps.reverse();
    steps
}
