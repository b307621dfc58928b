//! What a call touches, and which accesses conflict (B01 to B03).
use alloc::string::String;
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Text;

/// What a call declares. What is not declared is [`Access::All`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Nothing that another call could touch.
    None,
    /// Everything: a barrier (B05).
    #[default]
    All,
    /// These paths.
    Paths(Arc<[Touch]>),
}

/// One path and what is done to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Touch {
    /// What is done.
    pub mode: Mode,
    /// As declared; compared after [`normalise`].
    pub path: Text,
    /// Whether everything below the path is meant too.
    #[serde(default)]
    pub recursive: bool,
}

/// What is done to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

impl Mode {
    /// Whether two accesses to one path conflict when one has this mode (B02).
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::ReadWrite)
    }
}

impl Touch {
    /// One path without what is below.
    pub fn path(mode: Mode, path: impl Into<Text>) -> Self {
        Self { mode, path: path.into(), recursive: false }
    }

    /// One path and everything below.
    pub fn tree(mode: Mode, path: impl Into<Text>) -> Self {
        Self { mode, path: path.into(), recursive: true }
    }
}

impl From<Touch> for Access {
    fn from(touch: Touch) -> Self {
        Self::Paths(Arc::from([touch]))
    }
}

/// How paths are compared: the session's root, and whether letter case counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PathRules {
    /// Relative paths are taken against it.
    pub root: Text,
    /// Fold ASCII letters, and only those.
    pub ignore_case: bool,
}

/// The path as it is compared: `""` is the top, everything else is `/segment/segment`. Both separators count,
/// `.` and empty segments go, `..` takes one segment away and stops at the top. Lexical, for scheduling alone,
/// never for permission (B03).
pub fn normalise(path: &str, rules: &PathRules) -> String {
    let root = if is_absolute(path) { "" } else { &*rules.root };
    let mut out = String::with_capacity(root.len() + path.len() + 2);
    for segment in [root, path].iter().flat_map(|part| part.split(['/', '\\'])) {
        match segment {
            "" | "." => {}
            ".." => out.truncate(out.rfind('/').unwrap_or(0)),
            name => {
                out.push('/');
                out.push_str(name);
            }
        }
    }
    if rules.ignore_case {
        out.make_ascii_lowercase();
    }
    out
}

fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '\\'])
        || matches!(path.as_bytes(), [drive, b':', ..] if drive.is_ascii_alphabetic())
}

/// Whether two accesses conflict, by comparing them pair by pair (B02). The batch uses it only where a call was declared
/// again or only deaf ones are left; tests hold the batch against it.
pub fn conflict(a: &Access, b: &Access, rules: &PathRules) -> bool {
    match (a, b) {
        (Access::None, _) | (_, Access::None) => false,
        (Access::All, Access::All) => true,
        (Access::All, Access::Paths(paths)) | (Access::Paths(paths), Access::All) => !paths.is_empty(),
        (Access::Paths(a), Access::Paths(b)) => a.iter().any(|a| b.iter().any(|b| clash(a, b, rules))),
    }
}

fn clash(a: &Touch, b: &Touch, rules: &PathRules) -> bool {
    let (pa, pb) = (normalise(&a.path, rules), normalise(&b.path, rules));
    let overlap = pa == pb || (a.recursive && is_below(&pb, &pa)) || (b.recursive && is_below(&pa, &pb));
    overlap && (a.mode.writes() || b.mode.writes())
}

/// Whether `path` lies strictly below `top`, both normalised.
fn is_below(path: &str, top: &str) -> bool {
    path.strip_prefix(top).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_b03_paths_are_normalised() {
        let rules = PathRules { root: "/work".into(), ignore_case: false };
        for (path, want) in [
            ("a", "/work/a"),
            ("./x/../a//b/", "/work/a/b"),
            ("/a/./b", "/a/b"),
            ("..\\..\\..", ""),
            ("/", ""),
            ("", "/work"),
            ("C:\\x", "/C:/x"),
        ] {
            assert_eq!(normalise(path, &rules), want, "{path}");
        }
        let folded = PathRules { root: "".into(), ignore_case: true };
        assert_eq!(normalise("/ÄA", &folded), "/Äa", "only ASCII is folded");
    }

    #[test]
    fn c_b02_overlap_is_segment_wise() {
        let rules = PathRules::default();
        let write = |p: &str| Access::from(Touch::path(Mode::Write, p));
        let tree = |m, p: &str| Access::from(Touch::tree(m, p));
        assert!(!conflict(&tree(Mode::Write, "/a"), &write("/ab"), &rules));
        assert!(conflict(&tree(Mode::Read, "/a"), &write("/a/b"), &rules));
        assert!(!conflict(&tree(Mode::Search, "/a"), &tree(Mode::Read, "/a/b"), &rules));
        assert!(!conflict(&write("/a"), &write("/a/b"), &rules), "not recursive");
        assert!(conflict(&Access::All, &tree(Mode::Read, "/a"), &rules));
        assert!(!conflict(&Access::All, &Access::None, &rules));
    }
}
