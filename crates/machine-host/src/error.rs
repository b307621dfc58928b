//! What can go wrong for a client of an agent.
use machine_adapter::RestoreError;
use machine_core::Text;
use machine_core::config::ConfigError;
use machine_core::event::DroppedBecause;
use machine_core::input::Refused;
use machine_journal::ReplayError;

/// Any error of a hook or a journal.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a command was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// It fits nothing now. Nothing happened, nothing is journaled (E07).
    #[error(transparent)]
    Refused(#[from] Refused),
    /// No question of this call with this digest waits for an approval (C04).
    #[error("no such approval is waited for")]
    NotAsked,
    /// The agent was closed, parked, or died.
    #[error("the agent is gone: open it again")]
    Gone,
    /// A tool or hook of the same agent asks: it would wait for itself (H08).
    #[error("a tool or hook of this agent would wait for itself")]
    Inside,
    /// The journal cannot be read, or there is none.
    #[error("the journal cannot be read: {0}")]
    Journal(Text),
}

/// Why a prompt has no turn whose end could be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// It was not accepted, or the agent went away before its turn ended. In the second case the prompt, and what it
    /// led to, are in the journal.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// It was accepted and then dropped: by the screen, by an abort (A11, A13).
    #[error("the prompt was dropped: {0:?}")]
    Dropped(DroppedBecause),
    /// It was withdrawn (A23).
    #[error("the prompt was withdrawn")]
    Returned,
    /// The agent is faulted, the prompt waits in the journal if it got there (A22).
    #[error("the agent is faulted ({0}): open it again")]
    Faulted(Text),
}

/// Why an agent cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// An agent needs a model.
    #[error("no model: call `.model(…)` before `.open()`")]
    NoModel,
    /// Two tools have one name.
    #[error("two tools are named `{0}`")]
    SameTool(Text),
    /// The configuration is nonsense (B11).
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The journal cannot be read or written.
    #[error("the journal cannot be used: {0}")]
    Journal(BoxError),
    /// The journal is no session that can be opened (J04, J06).
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The parked agent was saved by a later version (J07).
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// The parked agent and the journal do not belong together (J09).
    #[error("the agent was parked after {parked} inputs, the journal has {journal}")]
    NotItsJournal {
        /// Inputs that the parked agent had handled.
        parked: u64,
        /// Inputs in the journal.
        journal: u64,
    },
}
