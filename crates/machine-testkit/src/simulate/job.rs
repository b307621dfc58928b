//! What one call will do: drawn when the model asks for it, and named in its arguments.
use machine_core::Text;
use machine_core::access::{Access, Mode, Touch};
use machine_core::ask::{AtTurnEnd, Plan};

use super::fault::Fault;
use super::world::World;

/// One call's whole fate, as far as its tool decides it.
#[derive(Clone, Debug)]
pub(super) struct Job {
    /// Its place in the book.
    pub(super) n: usize,
    pub(super) plan: Plan,
    /// How long it works first, in milliseconds.
    pub(super) ms: u64,
    pub(super) does: Does,
    pub(super) detaches: bool,
    pub(super) detaches_twice: bool,
    pub(super) talks: bool,
    pub(super) talks_after_its_end: bool,
    pub(super) stops_turn: bool,
    pub(super) delivers: bool,
    pub(super) talks_too_much: bool,
}

/// How it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    Ends,
    Fails,
    FailsFatally,
    Malformed,
    Panics,
    /// Waits until it must stop.
    Obeys,
    /// The same, and panics then.
    PanicsWhenCancelled,
    /// Waits until it must stop, and brings its result after the grace.
    Late,
    /// Does not listen, for long.
    Deaf,
}

const ENDS: &[(Fault, Does)] = &[
    (Fault::ToolFails, Does::Fails),
    (Fault::ToolFatal, Does::FailsFatally),
    (Fault::ToolMalformed, Does::Malformed),
    (Fault::ToolPanics, Does::Panics),
    (Fault::ToolHangs, Does::Obeys),
    (Fault::ToolPanicsWhenCancelled, Does::PanicsWhenCancelled),
    (Fault::ToolLate, Does::Late),
    (Fault::ToolDeaf, Does::Deaf),
];

impl Job {
    pub(super) fn drawn(world: &World, n: usize) -> Self {
        let random = &world.random;
        let slow = world.strikes(Fault::ToolSlow);
        let ms = if slow { random.of(&[1, 100, 2_000, 30_000]) } else { random.of(&[0, 0, 1, 5]) };
        let does = ENDS.iter().find(|(fault, _)| world.strikes(*fault)).map_or(Does::Ends, |(_, does)| *does);
        let at_turn_end = match world.strikes(Fault::CallBoundToTurn) {
            true => {
                random.of(&[AtTurnEnd::Cancel, AtTurnEnd::Wait { ms: 1_000 }, AtTurnEnd::Wait { ms: 60_000 }])
            }
            false => AtTurnEnd::GoOn,
        };
        let plan = Plan {
            args: None,
            access: access(world),
            approval: world.strikes(Fault::CallNeedsApproval),
            stop_batch: world.strikes(Fault::ToolStopsBatch),
            timeout_ms: world.strikes(Fault::CallTimeout).then(|| random.of(&[0, 5, 1_000, 5_000])),
            keep_access: random.percent(30),
            cut_by_steer: world.strikes(Fault::CallCutBySteer),
            at_turn_end,
        };
        let detaches = world.strikes(Fault::ToolDetaches);
        Self {
            n,
            plan,
            ms,
            does,
            detaches,
            detaches_twice: detaches && world.strikes(Fault::ToolDetachesTwice),
            talks: random.percent(30),
            talks_after_its_end: world.strikes(Fault::ToolTalksAfterItsEnd),
            stops_turn: world.strikes(Fault::ToolStopsTurn),
            delivers: world.strikes(Fault::ToolDelivers),
            talks_too_much: world.strikes(Fault::ToolTalksTooMuch),
        }
    }

    /// Its arguments on the wire.
    pub(super) fn args(&self) -> String {
        format!("{{\"n\": {}}}", self.n)
    }
}

/// The job that arguments name; none if they fit no call.
pub(super) fn named(args: &str) -> Option<usize> {
    let args: serde_json::Value = serde_json::from_str(args).ok()?;
    usize::try_from(args.get("n")?.as_u64()?).ok()
}

/// One of a few accesses that often conflict, spelled in different ways.
pub(super) fn access(world: &World) -> Access {
    let random = &world.random;
    let mode = random.of(&[Mode::Read, Mode::Write, Mode::ReadWrite, Mode::Search]);
    let path: Text = random.of(&["/a", "/a/b", "/a/./b", "/ab", "/c/../a/b", "/c"]).into();
    match random.below(6) {
        0 => Access::All,
        1 => Access::None,
        2 => Touch::tree(mode, path).into(),
        3 => Access::Paths([Touch::path(mode, path), Touch::path(Mode::Read, "/c")].into()),
        _ => Touch::path(mode, path).into(),
    }
}
