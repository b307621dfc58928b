//! `shell`: runs a command, and leaves nothing of it running.
//!
//! A command is one process group. It ends on its own, or it is stopped: by the token, or when its time is
//! up. Then the group gets SIGTERM and a grace period. Either way, what is left of the group is killed in the
//! end, and so it is if the future is dropped, or if the program ends, even by SIGKILL. A process that leaves
//! its group on purpose (`setsid`) is out of reach.
use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::Signal;
use serde::Deserialize;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::access::Accesses;
use super::args;
use super::error::ToolError;
use super::group::{Group, Until};
use super::table::{Runner, ToolDef};
use super::workspace::Workspace;

/// The time of a command if the call does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// How long a killed command may take to be gone. Only a process stuck in the system takes any time at all.
const KILL_WAIT: Duration = Duration::from_secs(10);

pub(super) const DEF: ToolDef = ToolDef {
    name: "shell",
    description: "Run a command with `/bin/sh -c` in the workspace. Answers with its output (stdout and \
                  stderr as they came); of a long output, the beginning and the end. There is no input. \
                  Background processes are ended when the command ends.",
    schema: r#"{
        "type": "object",
        "properties": {
            "command": {"type": "string", "minLength": 1, "description": "The command."},
            "timeout_ms": {"type": "integer", "minimum": 1, "description": "The most time it may take, in milliseconds. Default: 600000."}
        },
        "required": ["command"],
        "additionalProperties": false
    }"#,
    needs_approval: true,
    accesses,
    runner: Runner::Shell,
};

/// The arguments of the shell tool.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShellArgs {
    /// What `/bin/sh -c` gets.
    pub command: String,
    /// The most time it may take.
    pub timeout_ms: Option<u64>,
}

impl ShellArgs {
    /// Reads the arguments of a call.
    pub fn parse(text: &str) -> Result<Self, ToolError> {
        let args: Self = args::parse(text)?;
        if args.command.trim().is_empty() {
            return Err(args::wrong("command", "is empty"));
        }
        if args.command.contains('\0') {
            return Err(args::wrong("command", "contains a NUL character"));
        }
        if args.timeout_ms == Some(0) {
            return Err(args::wrong("timeout_ms", "must be at least 1"));
        }
        Ok(args)
    }

    fn timeout(&self) -> Duration {
        self.timeout_ms.map_or(DEFAULT_TIMEOUT, Duration::from_millis)
    }
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellEnd {
    /// How its shell ended.
    pub exit: ShellExit,
    /// Why it was stopped; `None` if it ended on its own.
    pub stopped: Option<ShellStop>,
    /// What it said on both outputs, in order; of a long output, the beginning and the end.
    pub output: String,
}

/// How the shell of a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellExit {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

/// Why a command was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellStop {
    /// The token was cancelled.
    Cancelled,
    /// Its time was up.
    TimedOut,
}

/// Runs a command in the directory until it ends, the token is cancelled, or its time is up. A stopped
/// command has `grace` between SIGTERM and SIGKILL.
pub async fn run(
    dir: &Path,
    args: &ShellArgs,
    cancel: CancellationToken,
    grace: Duration,
) -> Result<ShellEnd, ToolError> {
    let mut group = Group::spawn(dir, &args.command)?;
    let stopped = tokio::select! {
        biased;
        () = cancel.cancelled() => Some(ShellStop::Cancelled),
        () = sleep(args.timeout()) => Some(ShellStop::TimedOut),
        end = group.wait(Until::Exit) => end.map(|()| None)?,
    };
    if stopped.is_some() {
        group.signal(Signal::TERM);
        // The shell often ends before what it started; that has the grace too, as long as it holds the
        // output.
        if let Ok(end) = timeout(grace, group.wait(Until::Silence)).await {
            end?;
        }
        group.signal(Signal::KILL);
        timeout(KILL_WAIT, group.wait(Until::Exit))
            .await
            .map_err(|_| io::Error::other("it cannot be killed"))??;
    }
    let (status, output) = group.finish().await?;
    Ok(ShellEnd { exit: ShellExit::from(status), stopped, output })
}

impl ShellEnd {
    /// Whether it ended on its own with exit code 0.
    pub fn is_success(&self) -> bool {
        self.exit == ShellExit::Code(0) && self.stopped.is_none()
    }

    /// The answer of the call: the output, or an error that has the output and says how it ended.
    pub fn into_result(self) -> Result<String, ToolError> {
        if self.is_success() { Ok(self.output) } else { Err(ToolError::Command(Box::new(self))) }
    }
}

impl fmt::Display for ShellEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.output)?;
        if !self.output.is_empty() && !self.output.ends_with('\n') {
            f.write_str("\n")?;
        }
        match self.stopped {
            None => write!(f, "[{}]", self.exit),
            Some(ShellStop::Cancelled) => write!(f, "[cancelled, {}]", self.exit),
            Some(ShellStop::TimedOut) => write!(f, "[timed out, {}]", self.exit),
        }
    }
}

impl fmt::Display for ShellExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "ended by signal {signal}"),
        }
    }
}

impl From<ExitStatus> for ShellExit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, signal) => Self::Signal(signal.unwrap_or_default()),
        }
    }
}

fn accesses(_: &Workspace, args: &str) -> Result<Accesses, ToolError> {
    ShellArgs::parse(args)?;
    Ok(Accesses::All)
}
