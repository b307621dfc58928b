//! What can go wrong for a client of an agent.
use std::panic::Location;
use std::sync::Arc;

use machine_adapter::{ForkError, RestoreError};
use machine_core::Text;
use machine_core::ask::HookError;
use machine_core::config::ConfigError;
use machine_core::event::{DroppedBecause, TurnEnd};
use machine_core::input::Refused;
use machine_journal::{Maintaining, ReplayError};

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
    /// The records of these events were dropped.
    #[error("durable events are kept from number {oldest} on")]
    NotKept {
        /// The number of the oldest.
        oldest: u64,
    },
    /// The session cannot be forked there (J08).
    #[error(transparent)]
    Fork(#[from] ForkError),
}

/// Why a prompt has no turn whose end could be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// It was not accepted, or the agent went away before its turn ended. In the second case the prompt, and what it
    /// led to, are in the journal.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// It was accepted and then dropped: by the screen, by an abort (A11, A13).
    #[error("the prompt was dropped: {0}")]
    Dropped(DroppedBecause),
    /// It was withdrawn (A23).
    #[error("the prompt was withdrawn")]
    Returned,
    /// The agent is faulted, the prompt waits in the journal if it got there (A22).
    #[error("the agent is faulted ({0}): open it again")]
    Faulted(Text),
}

/// Why a prompt has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It has no turn whose end could be told.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// Its turn did not complete. What was said until then is in history.
    #[error("turn {} {}", .0.turn, .0.reason)]
    Ended(TurnEnd),
}

/// Why an agent cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// An agent needs a model.
    #[error("no model: call `.model(…)` before `.open()`")]
    NoModel,
    /// An agent that may make no request.
    #[error("the model limit is 0: no request could ever leave; give it at least one place")]
    NoRequests,
    /// Two tools have one name.
    #[error("two tools are named `{0}`")]
    SameTool(Text),
    /// A source has a tool of a name that is there already.
    #[error("two tools are named `{tool}`: {first} has one, and {second} has one; a prefix keeps them apart")]
    SameToolFrom {
        /// Their name.
        tool: Text,
        /// Who has the first.
        first: Text,
        /// The source with the second.
        second: Text,
    },
    /// A source of tools panicked (H03).
    #[error("a source of tools panicked: {0}")]
    ToolSource(Text),
    /// The hooks have no order (H01).
    #[error(transparent)]
    Hooks(#[from] HooksError),
    /// A hook at the start of the session failed: nothing was begun (H02).
    #[error("the session cannot start: {0}")]
    SessionStart(Arc<HookError>),
    /// The configuration is nonsense (B11).
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The journal cannot be read or written.
    #[error("the journal cannot be used: {0}")]
    Journal(BoxError),
    /// The journal is no session that can be opened (J04, J06).
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// A journal cannot begin with an agent whose maintenance runs.
    #[error(transparent)]
    Maintaining(#[from] Maintaining),
    /// A hook could not seal the configuration (J11).
    #[error("the configuration cannot be sealed: {0}")]
    Seal(Text),
    /// The parked agent was saved by a later version (J07).
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// The parked agent and the journal do not belong together (J09).
    #[error(
        "the agent was parked after {parked} inputs; the journal has {journal}, or leads elsewhere: \
         open the journal without `.parked(…)`, or give the parked agent its own"
    )]
    NotItsJournal {
        /// Inputs that the parked agent had handled.
        parked: u64,
        /// Inputs in the journal.
        journal: u64,
    },
}

/// Why hooks cannot be put in order (H01).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HooksError {
    /// Two have one name.
    #[error(
        "two hooks are named `{name}`, at {first} and at {second}: give one another name with `.named(…)`"
    )]
    SameName {
        /// The name.
        name: Text,
        /// Where the first was added.
        first: &'static Location<'static>,
        /// Where the second was added.
        second: &'static Location<'static>,
    },
    /// One is to run before or after a hook that there is not.
    #[error(
        "the hook `{name}`, at {at}, has its place beside `{other}`, which is none: the hooks are {known}"
    )]
    UnknownName {
        /// The hook.
        name: Text,
        /// Where it was added.
        at: &'static Location<'static>,
        /// The name that it knows.
        other: Text,
        /// The names that there are.
        known: Text,
    },
    /// Each of them is to run before the next, and the last before the first.
    #[error(
        "the hooks {names} run before each other in a circle: leave out one `runs_before` or `runs_after`"
    )]
    Cycle {
        /// Their names, in this order.
        names: Text,
    },
    /// Something was said of the last hook before there was one.
    #[error("`.{method}(…)`, at {at}, comes before any hook: it is about the hook that was added last")]
    NoHook {
        /// The builder's method.
        method: &'static str,
        /// Where it was called.
        at: &'static Location<'static>,
    },
}
