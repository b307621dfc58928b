//! The table of the tools: a new tool is a file and a row here.
use super::access::Accesses;
use super::error::ToolError;
use super::workspace::Workspace;
use super::{count, edit, list, read, search, shell, write};

/// One tool.
#[derive(Clone, Copy, Debug)]
pub struct ToolDef {
    /// The name that the model calls it by.
    pub name: &'static str,
    /// What the model is told about it.
    pub description: &'static str,
    /// The JSON Schema of its arguments, as JSON text.
    pub schema: &'static str,
    /// Whether somebody must allow each call: it changes something.
    pub needs_approval: bool,
    /// What a call with these arguments touches. An error is the one that the call itself would end with, so
    /// that nobody is asked to allow a call that cannot work. Looks at links, so it may block for a moment.
    pub accesses: fn(&Workspace, &str) -> Result<Accesses, ToolError>,
    /// How it runs.
    pub runner: Runner,
}

/// How a tool runs.
#[derive(Clone, Copy, Debug)]
pub enum Runner {
    /// Blocks until it is done: arguments in, answer out. Belongs on a thread that may block.
    Blocking(fn(&Workspace, &str) -> Result<String, ToolError>),
    /// Asynchronous and can be cancelled: [`shell::ShellArgs::parse`], then [`shell::run`].
    Shell,
}

static ALL: [ToolDef; 7] = [list::DEF, read::DEF, search::DEF, count::DEF, write::DEF, edit::DEF, shell::DEF];

/// All tools, in the order that a model should see them.
pub fn all() -> &'static [ToolDef] {
    &ALL
}

/// The tool of this name.
pub fn find(name: &str) -> Option<&'static ToolDef> {
    ALL.iter().find(|tool| tool.name == name)
}
