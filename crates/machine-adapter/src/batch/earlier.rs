//! How a batch was written before marks were looked at one by one, so that sessions that were saved then go on (J07).
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use machine_core::access::Access;
use machine_core::ids::CallId;
use serde::Deserialize;

use super::{At, Entered, Mark, Mode, Node};

/// A call, as it is written or was.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum WrittenEntered {
    Now {
        access: Access,
        marks: Vec<Mark>,
        clear: usize,
        at: At,
        redeclared: bool,
    },
    /// What must not be held stood beside what is held; `passed` of it was clear.
    Before {
        access: Access,
        holds: Vec<Mark>,
        checks: Vec<Mark>,
        passed: usize,
        at: AtBefore,
        redeclared: bool,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AtBefore {
    Idle,
    Waiting,
    Clear,
    Started,
}

impl From<WrittenEntered> for Entered {
    fn from(written: WrittenEntered) -> Self {
        match written {
            WrittenEntered::Now { access, marks, clear, at, redeclared } => {
                Self { access, marks, clear, at, redeclared }
            }
            WrittenEntered::Before { access, holds: marks, checks, passed, at, redeclared } => {
                let whole = marks.len();
                let (at, clear) = match (at, checks.get(passed)) {
                    (AtBefore::Waiting, Some((path, mode))) => {
                        (At::Waiting(*mode), marks.iter().position(|(own, _)| own == path).unwrap_or(0))
                    }
                    // Nothing is taken for clear that is not.
                    (AtBefore::Idle | AtBefore::Waiting, _) => (At::Idle, 0),
                    (AtBefore::Clear, _) => (At::Clear, whole),
                    (AtBefore::Started, _) => (At::Started, whole),
                };
                Self { access, marks, clear, at, redeclared }
            }
        }
    }
}

/// A node, as it is written or was: mode by mode.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum WrittenNode {
    Now { held: BTreeSet<(Mode, CallId)>, waiting: BTreeSet<(Mode, CallId)> },
    Before { held: ByMode, waiting: ByMode },
}

type ByMode = BTreeMap<Mode, BTreeSet<CallId>>;

impl From<WrittenNode> for Node {
    fn from(written: WrittenNode) -> Self {
        let flat = |by_mode: ByMode| {
            let each = by_mode.into_iter();
            each.flat_map(|(mode, calls)| calls.into_iter().map(move |call| (mode, call))).collect()
        };
        match written {
            WrittenNode::Now { held, waiting } => Self { held, waiting },
            WrittenNode::Before { held, waiting } => Self { held: flat(held), waiting: flat(waiting) },
        }
    }
}
