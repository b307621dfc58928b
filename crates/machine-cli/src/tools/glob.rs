//! Which paths a glob selects.
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use super::args;
use super::error::ToolError;

/// A glob: without `/` it is about the file name, at any depth; with `/` it is about the path.
#[derive(Debug)]
pub(super) struct Glob {
    matcher: GlobMatcher,
    about_path: bool,
}

impl Glob {
    pub(super) fn parse(text: &str) -> Result<Self, ToolError> {
        let pattern = text.strip_prefix("./").unwrap_or(text);
        if pattern.is_empty() {
            return Err(args::wrong("glob", "is empty"));
        }
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .build()
            .map_err(|error| args::wrong("glob", error.to_string()))?;
        Ok(Self { matcher: glob.compile_matcher(), about_path: pattern.contains('/') })
    }

    pub(super) fn parse_option(text: Option<&str>) -> Result<Option<Self>, ToolError> {
        text.map(Self::parse).transpose()
    }

    /// Whether a path below `start` is selected. A glob with `/` may be meant from the workspace or from the
    /// start.
    pub(super) fn matches(&self, path: &Path, start: &Path) -> bool {
        if !self.about_path {
            return path.file_name().is_some_and(|name| self.matcher.is_match(name));
        }
        self.matcher.is_match(path)
            || path.strip_prefix(start).is_ok_and(|below| self.matcher.is_match(below))
    }
}
