//! `list`: what is in a directory.
use serde::Deserialize;

use super::access::Accesses;
use super::args;
use super::error::{PathFault, ToolError};
use super::glob::Glob;
use super::report::{Answer, show};
use super::table::{Runner, ToolDef};
use super::walk::{Entry, Kind, Walk};
use super::workspace::Workspace;

/// The most entries in one answer.
const MAX_SHOWN: usize = 1_000;

pub(super) const DEF: ToolDef = ToolDef {
    name: "list",
    description: "List files and directories, one path a line, sorted. Directories end with `/`, symbolic \
                  links show their target after ` -> ` and are not followed. `.git` is not entered. At most \
                  1000 entries are shown; the answer says if there are more.",
    schema: r#"{
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Directory, relative to the workspace. Default: the workspace."},
            "recursive": {"type": "boolean", "description": "Also what is below. Default: true with a glob, else false."},
            "glob": {"type": "string", "description": "Only entries that fit. Without `/` it fits the name at any depth (`*.md`), with `/` the path (`src/**/*.rs`)."}
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
    recursive: Option<bool>,
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
    let start = place.path();
    // A glob is about any depth unless the call says otherwise.
    let recursive = args.recursive.unwrap_or(glob.is_some());
    let mut walk = Walk::new(workspace.dir(), start, recursive).map_err(|fault| place.fault(fault))?;
    let mut answer = Answer::default();
    let mut count = 0;
    for entry in
        walk.by_ref().filter(|entry| glob.as_ref().is_none_or(|glob| glob.matches(&entry.path, start)))
    {
        count += 1;
        if count <= MAX_SHOWN {
            answer.line(&line(workspace, &entry));
        }
    }
    if count == 0 {
        answer.line("[no entries]");
    }
    answer.cut(count.min(MAX_SHOWN), count, "entries", walk.is_stopped());
    walk.skipped.write(&mut answer);
    Ok(answer.finish())
}

fn line(workspace: &Workspace, entry: &Entry) -> String {
    let path = show(&entry.path);
    match entry.kind {
        Kind::Directory => format!("{path}/"),
        Kind::Link => match workspace.dir().read_link_contents(&entry.path).map_err(PathFault::reading) {
            Ok(target) => format!("{path} -> {}", show(&target)),
            Err(fault) => format!("{path} -> ({fault})"),
        },
        Kind::File | Kind::Other => path,
    }
}
