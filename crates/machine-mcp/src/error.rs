//! Why a server cannot be used.
use std::fmt;
use std::time::Duration;

use machine_core::Text;

/// Why a server cannot be opened. Its process, if it has one, was ended.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its program cannot be run.
    #[error("the server `{name}` cannot be started: {error}")]
    Start {
        /// The server.
        name: Text,
        /// What the system says.
        error: std::io::Error,
    },
    /// It did not answer in time. A program that is no server of MCP may just be silent.
    #[error("the server `{name}` did not answer `{asked}` within {} s{output}", within.as_secs_f32())]
    Silent {
        /// The server.
        name: Text,
        /// The request that it did not answer: `initialize`, the first one, or `tools/list`.
        asked: Text,
        /// How long it was waited for, from its start.
        within: Duration,
        /// What it wrote.
        output: Output,
    },
    /// It ended, or said something else than the protocol wants.
    #[error("the server `{name}` cannot be talked to: {why}{output}")]
    Handshake {
        /// The server.
        name: Text,
        /// What happened, and what to look at.
        why: Text,
        /// What it wrote.
        output: Output,
    },
    /// Two of its tools would have one name, with the prefix and where only legal characters are left (V10).
    #[error("two tools of the server `{name}` would be named `{tool}`: `{first}` and `{second}`")]
    SameName {
        /// The server.
        name: Text,
        /// Their name here.
        tool: Text,
        /// The first, as the server names it.
        first: Text,
        /// The second.
        second: Text,
    },
    /// Tools that the host wants ([`only`](crate::Builder::only)) are not on its list, or cannot be used.
    #[error("the server `{name}` has no tools {}; it has {}", quoted(tools), quoted(there))]
    Missing {
        /// The server.
        name: Text,
        /// The tools that are missing.
        tools: Vec<Text>,
        /// Those that it has.
        there: Vec<Text>,
    },
}

fn quoted(names: &[Text]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// What a server wrote, for a message of one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The first line of its standard output, cut, where it answered nothing on it.
    pub stdout: Text,
    /// The end of its standard error, to the last 4 KiB.
    pub stderr: Text,
}

/// Lines of the standard error that stand in a message.
const LINES: usize = 5;

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.stdout.is_empty() {
            let first = &self.stdout;
            write!(f, "; its standard output, where only messages of MCP belong, begins with: {first}")?;
        }
        let lines: Vec<&str> = self.stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(LINES)..];
        if last.is_empty() { Ok(()) } else { write!(f, "; it wrote: {}", last.join(" / ")) }
    }
}
