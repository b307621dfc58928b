//! `edit`: replaces an exact text in a file.
use serde::Deserialize;

use super::access::{Accesses, Mode};
use super::args;
use super::error::{PathFault, ToolError};
use super::table::{Runner, ToolDef};
use super::workspace::Workspace;

pub(super) const DEF: ToolDef = ToolDef {
    name: "edit",
    description: "Replace an exact text in a text file (UTF-8). `old` must stand in the file exactly once, \
                  unless `all` is set. Everything else stays as it is, line ends too: in a file with CRLF \
                  line ends throughout, the line ends of `old` and `new` are taken as CRLF.",
    schema: r#"{
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "File, relative to the workspace."},
            "old": {"type": "string", "minLength": 1, "description": "The text to replace, exactly as it stands in the file."},
            "new": {"type": "string", "description": "The text to put in its place."},
            "all": {"type": "boolean", "description": "Replace `old` wherever it stands. Default: false."}
        },
        "required": ["path", "old", "new"],
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
    old: String,
    new: String,
    all: Option<bool>,
}

fn accesses(workspace: &Workspace, args: &str) -> Result<Accesses, ToolError> {
    let args: Args = args::parse(args)?;
    Accesses::file(workspace, Mode::ReadWrite, &args.path)
}

fn run(workspace: &Workspace, args: &str) -> Result<String, ToolError> {
    let Args { path, mut old, mut new, all } = args::parse(args)?;
    if old.is_empty() {
        return Err(args::wrong("old", "is empty"));
    }
    if old == new {
        return Err(args::wrong("new", "is the same as `old`"));
    }
    let changing = workspace.changing();
    let place = workspace.resolve(&path)?;
    let text = workspace.read_text(place.at()).map_err(|fault| place.fault(fault))?;
    if place.is_directory_only() {
        return Err(place.fault(PathFault::NotDirectory));
    }
    // Who writes `\r` himself means it.
    if is_crlf(&text) && !old.contains('\r') && !new.contains('\r') {
        old = old.replace('\n', "\r\n");
        new = new.replace('\n', "\r\n");
    }
    let count = text.matches(&old).count();
    if count == 0 {
        return Err(ToolError::OldNotFound { path: place.given().to_owned() });
    }
    // The first and the last differ also where two overlap, which `count` takes for one.
    if !all.unwrap_or(false) && text.find(&old) != text.rfind(&old) {
        return Err(ToolError::OldNotUnique { path: place.given().to_owned(), count: count.max(2) });
    }
    workspace.put(&changing, &place, text.replace(&old, &new).as_bytes())?;
    let times = if count == 1 { "time" } else { "times" };
    Ok(format!("replaced {count} {times} in {}", place.given()))
}

/// Whether the text has lines, and all of them end with CRLF.
fn is_crlf(text: &str) -> bool {
    let ends = text.matches('\n').count();
    ends > 0 && ends == text.matches("\r\n").count()
}
