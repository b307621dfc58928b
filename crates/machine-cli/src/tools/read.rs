//! `read`: the text of a file.
use serde::Deserialize;

use super::access::{Accesses, Mode};
use super::args;
use super::error::{PathFault, ToolError};
use super::table::{Runner, ToolDef};
use super::workspace::Workspace;

/// The lines in one answer if the call does not say.
const DEFAULT_LINES: usize = 2_000;

/// The most bytes in one answer.
const MAX_BYTES: usize = 128 * 1024;

pub(super) const DEF: ToolDef = ToolDef {
    name: "read",
    description: "Read a text file (UTF-8), exactly as it is. At most 2000 lines (or `limit`) and 128 KiB \
                  come at once; if that is not the rest of the file, a last line in brackets says which \
                  lines came and where to go on.",
    schema: r#"{
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "File, relative to the workspace."},
            "offset": {"type": "integer", "minimum": 0, "description": "First line, counted from 1. Default: 1."},
            "limit": {"type": "integer", "minimum": 1, "description": "Most lines. Default: 2000."}
        },
        "required": ["path"],
        "additionalProperties": false
    }"#,
    needs_approval: false,
    accesses,
    runner: Runner::Blocking(run),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    path: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

fn accesses(workspace: &Workspace, args: &str) -> Result<Accesses, ToolError> {
    let args: Args = args::parse(args)?;
    Accesses::file(workspace, Mode::Read, &args.path)
}

fn run(workspace: &Workspace, args: &str) -> Result<String, ToolError> {
    let args: Args = args::parse(args)?;
    let limit = args.limit.unwrap_or(DEFAULT_LINES);
    if limit == 0 {
        return Err(args::wrong("limit", "must be at least 1"));
    }
    // Models that fill in every field send 0 for "from the start".
    let offset = args.offset.unwrap_or(1).max(1);
    let place = workspace.resolve(&args.path)?;
    let text = workspace.read_text(place.at()).map_err(|fault| place.fault(fault))?;
    if place.is_directory_only() {
        return Err(place.fault(PathFault::NotDirectory));
    }
    let total = text.split_inclusive('\n').count();
    if offset > total.max(1) {
        return Err(args::wrong(
            "offset",
            format!("{offset} is past the end of {}, which has {total} lines", place.given()),
        ));
    }
    Ok(part(&text, total, offset, limit))
}

/// Whole lines from `offset` on, as many as the bounds allow. A first line that is too long for itself is
/// cut.
fn part(text: &str, total: usize, offset: usize, limit: usize) -> String {
    let mut out = String::new();
    let mut next = offset;
    for line in text.split_inclusive('\n').skip(offset - 1).take(limit) {
        if out.len() + line.len() > MAX_BYTES {
            break;
        }
        out.push_str(line);
        next += 1;
    }
    if next > total {
        return out;
    }
    if next == offset {
        let line = text.split_inclusive('\n').nth(offset - 1).unwrap_or_default();
        out.push_str(&line[..line.floor_char_boundary(MAX_BYTES)]);
        out.push_str(&format!("\n[line {offset} is cut: {MAX_BYTES} of its {} bytes shown", line.len()));
        next += 1;
    } else {
        if !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&format!("[lines {offset} to {} of {total}", next - 1));
    }
    if next <= total {
        out.push_str(&format!("; go on with offset {next}"));
    }
    out.push(']');
    out
}
