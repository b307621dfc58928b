//! `write`: makes or replaces a whole file.
use serde::Deserialize;

use super::access::{Accesses, Mode};
use super::args;
use super::error::ToolError;
use super::replace::Put;
use super::table::{Runner, ToolDef};
use super::workspace::Workspace;

pub(super) const DEF: ToolDef = ToolDef {
    name: "write",
    description: "Write a whole text file: makes it, and the directories above it, or replaces what is \
                  there. The permissions of an existing file stay. To change a part of a file, use `edit`.",
    schema: r#"{
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "File, relative to the workspace."},
            "content": {"type": "string", "description": "Everything that the file is to contain."}
        },
        "required": ["path", "content"],
        "additionalProperties": false
    }"#,
    needs_approval: true,
    accesses,
    runner: Runner::Blocking(run),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    path: String,
    content: String,
}

fn accesses(workspace: &Workspace, args: &str) -> Result<Accesses, ToolError> {
    let args: Args = args::parse(args)?;
    Accesses::file(workspace, Mode::Write, &args.path)
}

fn run(workspace: &Workspace, args: &str) -> Result<String, ToolError> {
    let args: Args = args::parse(args)?;
    let changing = workspace.changing();
    let place = workspace.resolve(&args.path)?;
    let put = workspace.put(&changing, &place, args.content.as_bytes())?;
    let what = match put {
        Put::Created => "created",
        Put::Replaced => "replaced",
    };
    Ok(format!("{what} {} ({} bytes)", place.given(), args.content.len()))
}
