//! `count`: how many lines there are.
use serde::Deserialize;

use super::access::Accesses;
use super::args;
use super::error::ToolError;
use super::glob::Glob;
use super::report::Answer;
use super::sweep::sweep;
use super::table::{Runner, ToolDef};
use super::workspace::Workspace;

/// The most files in one answer.
const MAX_SHOWN: usize = 1_000;

pub(super) const DEF: ToolDef = ToolDef {
    name: "count",
    description: "Count the lines of text files, at any depth: `path: lines` for each file, sorted by path, \
                  then the total. A last line without a line end counts. `.git` is left out, symbolic links \
                  are not followed. Files that cannot be read as UTF-8 are named at the end and not counted. \
                  At most 1000 files are shown; the total is of all.",
    schema: r#"{
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Directory or file, relative to the workspace. Default: the workspace."},
            "glob": {"type": "string", "description": "Only files that fit. Without `/` it fits the name at any depth (`*.md`), with `/` the path (`src/**/*.rs`)."}
        },
        "required": [],
        "additionalProperties": false
    }"#,
    needs_approval: false,
    accesses,
    runner: Runner::Blocking(run),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    path: Option<String>,
    glob: Option<String>,
}

fn accesses(workspace: &Workspace, args: &str) -> Result<Accesses, ToolError> {
    let args: Args = args::parse(args)?;
    Accesses::search(workspace, args.path.as_deref())
}

fn run(workspace: &Workspace, args: &str) -> Result<String, ToolError> {
    let args: Args = args::parse(args)?;
    let glob = Glob::parse_option(args.glob.as_deref())?;
    let place = workspace.resolve_or_root(args.path.as_deref())?;
    let mut answer = Answer::default();
    let (mut files, mut total) = (0, 0);
    let swept = sweep(workspace, &place, glob.as_ref(), |path, text| {
        let lines = text.lines().count();
        files += 1;
        total += lines;
        if files <= MAX_SHOWN {
            answer.line(&format!("{path}: {lines}"));
        }
    })?;
    answer.cut(files.min(MAX_SHOWN), files, "files", swept.stopped);
    answer.line(&format!("total: {total} lines, {files} files"));
    swept.skipped.write(&mut answer);
    Ok(answer.finish())
}
