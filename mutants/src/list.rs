//! The mutants, as `cargo mutants --list --json` names them.
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use crate::Done;

/// The crates without a clock, a thread or a file.
pub(crate) const PURE: &[&str] =
    &["machine-core", "machine-tool", "machine-turn", "machine-agent", "machine-adapter", "machine-journal"];

/// One change of the source.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Mutant {
    /// Place and change, for people.
    pub(crate) name: String,
    pub(crate) package: String,
    /// From the root of the project.
    pub(crate) file: String,
    pub(crate) genre: Genre,
    /// What stands in the place instead; empty: nothing.
    pub(crate) replacement: String,
    pub(crate) span: Span,
}

/// What kind of place is changed.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Hash)]
pub(crate) enum Genre {
    /// A function returns a made-up value.
    FnValue,
    /// Another operator.
    BinaryOperator,
    /// Without the operator.
    UnaryOperator,
    /// An arm of a match is not there.
    MatchArm,
    /// The guard of an arm always holds, or never.
    MatchArmGuard,
    /// A field is taken from the base of the struct.
    StructField,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Span {
    pub(crate) start: Place,
}

/// A place in a file. Both count from 1.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// All mutants of the pure crates. Planted faults are no code: what switches them is left out.
pub(crate) fn list(project: &Path) -> Done<Vec<Mutant>> {
    let mut command = Command::new("cargo");
    command.current_dir(project).args(["mutants", "--list", "--json"]);
    command.args(["--exclude", "canary.rs", "--exclude-re", "is_planted"]);
    for package in PURE {
        command.args(["--package", package]);
    }
    let out = command.output()?;
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        return Err(format!(
            "`cargo mutants` does not run; `cargo install cargo-mutants --locked` first: {said}"
        )
        .into());
    }
    Ok(serde_json::from_slice(&out.stdout)?)
}
