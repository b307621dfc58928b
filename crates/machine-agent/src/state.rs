//! The states of an agent (A01), and what outlives them.
use alloc::vec::Vec;

use machine_core::Text;
use machine_core::drain::Pending;
use machine_core::event::HeldBecause;
use machine_core::ids::{InputId, TurnId};
use machine_core::machine::Path;
use machine_core::message::Content;
use serde::{Deserialize, Serialize};

use crate::inbox::{Inbox, Screen, Waiting};
use crate::roster::Roster;

/// What outlives the states of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Agent {
    /// Stands in every id (V02).
    pub branch: u32,
    /// The number of the last turn.
    pub turns: u32,
    /// The number of the last maintenance.
    pub maintenance: u32,
    /// Shown beside the state (A12).
    pub paused: bool,
    /// What waits.
    pub inbox: Inbox,
    /// What works on.
    pub roster: Roster,
}

/// The running turn, as the agent sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Active {
    /// The turn.
    pub turn: TurnId,
    /// The prompts it took, in order.
    pub prompts: Vec<InputId>,
    /// The prompt that opened it.
    pub opener: Option<InputId>,
    /// When it ends, hold what waits: its process is gone (J05).
    pub hold: bool,
    /// What its abort gave back (A15).
    pub returned: Vec<InputId>,
}

/// Where maintenance goes back to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Back {
    /// Idle.
    Idle,
    /// Idle, and `resume` was said meanwhile; whether history ended in something unanswered (A12).
    Resume(bool),
    /// Idle, holding what waits.
    Held(HeldBecause),
    /// A failed check, unless history was replaced (A22).
    Faulted(Text),
}

/// The leaf states.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "at", content = "with", rename_all = "snake_case")]
pub enum State {
    /// Nothing to do.
    Ready,
    /// Nothing to do but to wait for background calls.
    Waiting,
    /// What waits is kept until the next `submit`, `notify` or `resume` (A14).
    Held(HeldBecause),
    /// This prompt is screened; it opens a turn if it is admitted (A11).
    Screening(InputId),
    /// A turn runs.
    Active(Active),
    /// A turn is being stopped.
    Aborting(Active),
    /// Maintenance has history to itself (A17).
    Maintaining(Back),
    /// The last work is being stopped (A19); the turn, if it is not over.
    Closing(Option<Active>),
    /// This opening is over.
    Closed,
    /// The engine is faulted (A22).
    Faulted {
        /// Why.
        why: Text,
        /// Whether an accepted `Replace` helps.
        check: bool,
        /// The turn, until its end is told.
        active: Option<Active>,
    },
}

/// Superstates borrow from the active leaf.
pub enum Parent<'s> {
    /// Commands are taken.
    Open,
    /// No turn.
    Idle,
    /// A turn.
    Running(&'s mut Active),
    /// Commands are refused.
    Shut,
}

impl Path for State {
    fn path(&self) -> &'static [&'static str] {
        match self {
            Self::Ready => &["Open", "Idle", "Ready"],
            Self::Waiting => &["Open", "Idle", "Waiting"],
            Self::Held(_) => &["Open", "Idle", "Held"],
            Self::Screening(_) => &["Open", "Screening"],
            Self::Active(_) => &["Open", "Running", "Active"],
            Self::Aborting(_) => &["Open", "Running", "Aborting"],
            Self::Maintaining(_) => &["Open", "Maintaining"],
            Self::Closing(_) => &["Shut", "Closing"],
            Self::Closed => &["Shut", "Closed"],
            Self::Faulted { .. } => &["Shut", "Faulted"],
        }
    }
}

impl State {
    /// The running turn.
    pub fn active(&self) -> Option<&Active> {
        match self {
            Self::Active(active) | Self::Aborting(active) => Some(active),
            Self::Closing(active) | Self::Faulted { active, .. } => active.as_ref(),
            Self::Ready | Self::Waiting | Self::Held(_) | Self::Screening(_) => None,
            Self::Maintaining(_) | Self::Closed => None,
        }
    }
}

impl Active {
    /// Moves it out of a state that is being left.
    pub(crate) fn take(&mut self) -> Self {
        let Self { turn, prompts, opener, hold, returned } = self;
        let (prompts, returned) = (core::mem::take(prompts), core::mem::take(returned));
        Self { turn: *turn, prompts, opener: opener.take(), hold: *hold, returned }
    }
}

impl Agent {
    /// An agent that has done nothing yet.
    pub fn new(branch: u32) -> Self {
        let (inbox, roster) = (Inbox::default(), Roster::default());
        Self { branch, turns: 0, maintenance: 0, paused: false, inbox, roster }
    }

    /// A copy without what grows with the session: the receipts of its inputs (A10).
    pub fn without_receipts(&self) -> Self {
        Self { inbox: self.inbox.without_receipts(), roster: self.roster.clone(), ..*self }
    }

    /// How many past inputs are remembered (A10).
    pub fn remembered(&self) -> usize {
        self.inbox.remembered()
    }

    /// The same agent, with the receipts that were told again, as many of past inputs as are remembered. `accepted`: inputs
    /// that were accepted meanwhile.
    pub fn with_receipts<'i>(
        self,
        of: Inbox,
        remembered: usize,
        accepted: impl Iterator<Item = &'i InputId>,
    ) -> Self {
        Self { inbox: self.inbox.with_receipts(of, remembered, accepted), ..self }
    }

    /// What waits for the next step, as a turn needs to know it (T13).
    pub fn pending(&self) -> Pending {
        let mut pending = Pending { paused: self.paused, ..Pending::default() };
        for waiting in &self.inbox.lane {
            match waiting {
                Waiting::Prompt(prompt) => pending.steered |= prompt.screen == Screen::Passed,
                Waiting::Note { screen, .. } => pending.outside |= *screen == Screen::Passed,
                Waiting::BackgroundEnd { .. } | Waiting::LateResult { .. } => pending.outside = true,
                Waiting::Deliver { .. } | Waiting::StopHook(_) => pending.inside = true,
            }
        }
        pending
    }

    /// Whether a message says nothing.
    pub(crate) fn is_blank(message: &Content) -> bool {
        !message.iter().any(machine_core::message::Part::is_visible)
    }
}
