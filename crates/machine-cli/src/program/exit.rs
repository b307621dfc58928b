//! Exit codes, and what is wrong with a command line.
use std::path::PathBuf;
use std::process::ExitCode;

use machine_core::event::EndReason;

use crate::models::script::ScriptError;

/// The turn completed.
pub const COMPLETED: ExitCode = ExitCode::SUCCESS;
/// The turn failed or ended early.
pub const ENDED_EARLY: u8 = 1;
/// Bad usage.
pub const USAGE: u8 = 2;
/// Aborted by the user: 128 + SIGINT.
pub const ABORTED: u8 = 130;

/// The exit code of a turn's end.
pub fn of(reason: &EndReason) -> ExitCode {
    match reason {
        EndReason::Completed { .. } => COMPLETED,
        EndReason::Aborted(_) => ExitCode::from(ABORTED),
        EndReason::MaxTokens | EndReason::Suspended | EndReason::Other | EndReason::Filtered => {
            ENDED_EARLY.into()
        }
        EndReason::Paused | EndReason::Blocked(_) | EndReason::StepLimit => ENDED_EARLY.into(),
        EndReason::RepeatLimit | EndReason::BudgetLimit => ENDED_EARLY.into(),
        EndReason::Failed(_) | EndReason::Interrupted => ENDED_EARLY.into(),
    }
}

/// What is wrong with a command line. One line each, exit code 2.
#[derive(Debug, thiserror::Error)]
pub enum Usage {
    /// The command line cannot be read.
    #[error("{0}")]
    Line(String),
    /// There is nothing to do.
    #[error("the prompt is empty")]
    Prompt,
    /// The directory cannot be worked on.
    #[error("--dir {}: {error}", dir.display())]
    Dir {
        /// As it was given.
        dir: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// A server of tools cannot be used.
    #[error("--mcp {command}: {why}")]
    Mcp {
        /// As it was given.
        command: String,
        /// What is wrong with it.
        why: String,
    },
    /// Two tools have one name: those of two servers, or of a server and the program.
    #[error("{0}: `--mcp NAME=COMMAND` puts NAME_ before the names of a server's tools")]
    SameTool(String),
    /// There is no such model.
    #[error(
        "--model {0}: there is no such model; use `rules`, `script:FILE`, or a provider's, such as `openai:NAME`"
    )]
    Model(String),
    /// The provider's model cannot be set up.
    #[cfg(feature = "providers")]
    #[error("--model {name}: {error}")]
    Provider {
        /// As it was given.
        name: String,
        /// What is wrong with it.
        error: machine_genai::BuildError,
    },
    /// An address for a model that is embedded.
    #[error("--base-url: `{0}` needs none; it is for models of providers, such as `--model openai:NAME`")]
    BaseUrl(String),
    /// `script:` names no file.
    #[error("--model script: which file? use `script:FILE`; docs/script-model.md has the format")]
    NoScript,
    /// The script cannot be played.
    #[error("--model script: {0}")]
    Script(#[from] ScriptError),
    /// A chart could not be made.
    #[error("chart: {0}")]
    Chart(String),
    /// There is no scenario to play.
    #[error("scenario {}: {error}", path.display())]
    Scenarios {
        /// As it was given.
        path: PathBuf,
        /// What is wrong with it.
        error: std::io::Error,
    },
    /// A recorded session cannot be used.
    #[error("{}: {why}", path.display())]
    Record {
        /// As it was given.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A scenario cannot be written.
    #[error("--out {}: {error}", path.display())]
    Out {
        /// As it was given.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The agent could not be opened.
    #[error("{0}")]
    Open(String),
}
