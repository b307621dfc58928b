//! `search`: where a literal text stands.
use serde::Deserialize;

use super::access::Accesses;
use super::args;
use super::error::ToolError;
use super::glob::Glob;
use super::report::Answer;
use super::sweep::sweep;
use super::table::{Runner, ToolDef};
use super::workspace::Workspace;

/// The most lines in one answer.
const MAX_SHOWN: usize = 500;

/// The most characters of one line, and how many of them stand before the match.
const MAX_LINE: usize = 300;
const BEFORE: usize = 80;

pub(super) const DEF: ToolDef = ToolDef {
    name: "search",
    description: "Search text files for a literal text (not a regular expression), at any depth. Answers \
                  with `path:line: text`, sorted by path. `.git` is left out, symbolic links are not \
                  followed. Files that cannot be read as UTF-8 are named at the end. At most 500 lines are \
                  shown; the answer says if there are more.",
    schema: r#"{
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "minLength": 1, "description": "The text to find, literally, within one line."},
            "path": {"type": "string", "description": "Directory or file, relative to the workspace. Default: the workspace."},
            "glob": {"type": "string", "description": "Only files that fit. Without `/` it fits the name at any depth (`*.md`), with `/` the path (`src/**/*.rs`)."},
            "ignore_case": {"type": "boolean", "description": "Upper and lower case count as equal. Default: false."}
        },
        "required": ["pattern"],
        "additionalProperties": false
    }"#,
    needs_approval: false,
    accesses,
    runner: Runner::Blocking(run),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    ignore_case: Option<bool>,
}

fn accesses(workspace: &Workspace, args: &str) -> Result<Accesses, ToolError> {
    let args: Args = args::parse(args)?;
    Accesses::search(workspace, args.path.as_deref())
}

fn run(workspace: &Workspace, args: &str) -> Result<String, ToolError> {
    let args: Args = args::parse(args)?;
    if args.pattern.is_empty() {
        return Err(args::wrong("pattern", "is empty"));
    }
    if args.pattern.contains(['\n', '\r']) {
        return Err(args::wrong("pattern", "has more than one line; lines are searched one by one"));
    }
    let glob = Glob::parse_option(args.glob.as_deref())?;
    let place = workspace.resolve_or_root(args.path.as_deref())?;
    let needle = Needle::new(args.pattern, args.ignore_case.unwrap_or(false));
    let mut answer = Answer::default();
    let mut count = 0;
    let swept = sweep(workspace, &place, glob.as_ref(), |path, text| {
        for (number, line, column) in needle.lines(text) {
            count += 1;
            if count <= MAX_SHOWN {
                answer.line(&format!("{path}:{number}: {}", clip(line, column)));
            }
        }
    })?;
    if count == 0 {
        answer.line(&format!("[no matches, files searched: {}]", swept.files));
    }
    answer.cut(count.min(MAX_SHOWN), count, "matching lines", swept.stopped);
    swept.skipped.write(&mut answer);
    Ok(answer.finish())
}

/// What is searched for.
enum Needle {
    Exact(String),
    Folded(String),
}

impl Needle {
    fn new(pattern: String, ignore_case: bool) -> Self {
        if ignore_case { Self::Folded(fold(&pattern)) } else { Self::Exact(pattern) }
    }

    /// The matching lines: number, text, and how many characters stand before the match.
    fn lines<'t>(&'t self, text: &'t str) -> impl Iterator<Item = (usize, &'t str, usize)> {
        // Most files have no match at all; one look at the whole tells.
        let text = match self {
            Self::Exact(pattern) if !text.contains(&**pattern) => "",
            Self::Exact(_) | Self::Folded(_) => text,
        };
        text.lines().enumerate().filter_map(|(index, line)| Some((index + 1, line, self.column(line)?)))
    }

    fn column(&self, line: &str) -> Option<usize> {
        match self {
            Self::Exact(pattern) => Some(line[..line.find(&**pattern)?].chars().count()),
            Self::Folded(pattern) => {
                let line = fold(line);
                Some(line[..line.find(&**pattern)?].chars().count())
            }
        }
    }
}

/// Lower case, one character for one, so that columns stay what they are.
fn fold(text: &str) -> String {
    text.chars()
        .map(|c| {
            let mut lower = c.to_lowercase();
            match (lower.next(), lower.next()) {
                (Some(lower), None) => lower,
                _ => c,
            }
        })
        .collect()
}

/// The line, or the part of a long one that has the match.
fn clip(line: &str, column: usize) -> String {
    let length = line.chars().count();
    if length <= MAX_LINE {
        return line.to_owned();
    }
    let from = column.saturating_sub(BEFORE);
    let part: String = line.chars().skip(from).take(MAX_LINE).collect();
    let (head, tail) = (if from > 0 { "…" } else { "" }, if from + MAX_LINE < length { "…" } else { "" });
    format!("{head}{part}{tail}")
}
