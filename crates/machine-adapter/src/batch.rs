//! Who may start: accesses, cap, call order (B01 to B10).
//!
//! A call starts when every earlier call of its batch has been prepared, it conflicts with no running call and with
//! no earlier call that is not over, no earlier call may still end the batch (T17), and a slot is free.
//!
//! Scheduling does not compare calls pair by pair; only `look_again` and `held_by_deaf` do. As in databases with locks
//! at several levels, an access marks the node of its path and leaves an intention (`Below`) on every ancestor. A call
//! waits at a node while a mode that clashes with its own is held there by an earlier call. What holds a mode only ever
//! gets later, so a mark that was clear once stays clear, and each wait is woken once: a batch of n calls costs about
//! n log n, whether they share one path or none.
mod earlier;

use alloc::collections::btree_map::Entry;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use machine_core::Text;
use machine_core::access::{Access, PathRules, conflict, normalise};
use machine_core::canary::Canary;
use machine_core::ids::CallId;
use serde::{Deserialize, Serialize};

use crate::recent::Recent;

/// The scheduler. Calls that linger stay in it beyond their batch, with what they hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Batch {
    /// The first call of the open batch that is not entered yet, and the first that is not in the batch.
    next: Option<(CallId, u32)>,
    /// Prepared before an earlier call was; none: it will never run.
    planned: Recent<CallId, Option<Access>>,
    /// Want to start, and are not entered yet.
    early: BTreeSet<CallId>,
    /// Entered calls.
    entered: Recent<CallId, Entered>,
    /// May start as soon as a slot is free.
    ready: BTreeSet<CallId>,
    /// Declared again and in the way of a later call that runs: looked at when a call gives something back.
    stalled: BTreeSet<CallId>,
    /// Calls that may end their batch: no later one starts before they are answered (T17).
    bars: BTreeSet<CallId>,
    /// Hold a slot.
    running: BTreeSet<CallId>,
    /// Of those, answered and not ended.
    deaf: BTreeSet<CallId>,
    nodes: BTreeMap<Text, Node>,
}

/// A call that takes part in scheduling.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "earlier::WrittenEntered")]
struct Entered {
    access: Access,
    /// Where it holds what.
    marks: Vec<Mark>,
    /// How many of them are clear: no earlier call holds there what clashes.
    clear: usize,
    /// How far it is.
    at: At,
    /// It was declared again: a later call may run that is in its way.
    redeclared: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum At {
    /// It does not want to start yet: somebody must approve it.
    Idle,
    /// It waits at its first mark that is not clear, for the last earlier call that holds this there.
    Waiting(Mode),
    /// Ready, or stalled.
    Clear,
    /// It started.
    Started,
}

/// How a node is held: for itself, with everything below, or somewhere below; to read or to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    NodeRead,
    NodeWrite,
    TreeRead,
    TreeWrite,
    BelowRead,
    BelowWrite,
}

/// A node and how it is held.
type Mark = (Text, Mode);

/// One path: which calls hold it how, and which wait for what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "earlier::WrittenNode")]
struct Node {
    held: BTreeSet<(Mode, CallId)>,
    waiting: BTreeSet<(Mode, CallId)>,
}

/// No call comes before this one, and none after the other.
const FIRST: CallId = CallId { branch: 0, turn: 0, step: 0, index: 0 };
const LAST: CallId = CallId { branch: u32::MAX, turn: u32::MAX, step: u32::MAX, index: u32::MAX };

impl Batch {
    /// A batch of `count` calls begins with this one.
    pub(crate) fn begin(&mut self, first: CallId, count: u32) {
        debug_assert!(self.next.is_none() && self.planned.is_empty(), "B09: the last batch is not over");
        self.next = Some((first, first.index + count));
    }

    /// A call is prepared: it touches this.
    pub(crate) fn plan(&mut self, call: CallId, access: Access, rules: &PathRules) {
        self.planned.insert(call, Some(access));
        self.enter_planned(rules);
    }

    /// Calls enter in call order, as far as all earlier ones are prepared.
    fn enter_planned(&mut self, rules: &PathRules) {
        while let Some((next, end)) = self.next {
            let Some(planned) = self.planned.remove(next) else { return };
            if let Some(access) = planned {
                self.enter(next, access, rules);
            }
            let later = CallId { index: next.index + 1, ..next };
            self.next = (later.index < end).then_some((later, end));
            if self.early.remove(&next) {
                self.advance(next);
            }
        }
    }

    /// A call wants to start.
    pub(crate) fn enqueue(&mut self, call: CallId, rules: &PathRules) {
        if self.entered.contains(call) {
            self.advance(call);
            self.look_again(rules);
        } else {
            self.early.insert(call);
        }
    }

    /// The next call that may start now; it counts as started.
    pub(crate) fn start(&mut self, max_parallel: u32) -> Option<CallId> {
        let max_parallel = max_parallel + u32::from(Canary::CapIsOffByOne.is_planted());
        if self.running.len() >= max_parallel as usize {
            return None;
        }
        let call = self.ready.first().copied().filter(|call| !self.is_barred(*call))?;
        self.ready.remove(&call);
        self.running.insert(call);
        if let Some(entered) = self.entered.get_mut(call) {
            entered.at = At::Started;
        }
        Some(call)
    }

    /// Later calls wait for the answer of this one, whatever they touch. It is not prepared yet.
    pub(crate) fn bar(&mut self, call: CallId) {
        self.bars.insert(call);
    }

    /// A call is answered: whether later ones waited for that.
    pub(crate) fn unbar(&mut self, call: CallId) -> bool {
        self.bars.remove(&call)
    }

    /// Ready calls are looked at in call order: where the first is barred, all are.
    fn is_barred(&self, call: CallId) -> bool {
        self.bars.first().is_some_and(|first| *first < call)
    }

    /// A call's work is over, or it will never run: it gives back its slot and its accesses (B07).
    pub(crate) fn end(&mut self, call: CallId, rules: &PathRules) {
        self.early.remove(&call);
        self.bars.remove(&call);
        self.ready.remove(&call);
        self.stalled.remove(&call);
        self.running.remove(&call);
        self.deaf.remove(&call);
        if self.next.is_some_and(|(next, _)| call >= next && call.step() == next.step()) {
            // Its turn to enter has not come, and it never will.
            self.planned.insert(call, None);
            self.enter_planned(rules);
        }
        if let Some(entered) = self.entered.remove(call) {
            self.stop_waiting(call, &entered);
            self.give_back(call, entered.marks);
        }
        self.look_again(rules);
    }

    /// A call works on in the background: it gives back its slot, and its accesses unless it keeps them (B07).
    pub(crate) fn detach(&mut self, call: CallId, keep_access: bool, rules: &PathRules) {
        self.running.remove(&call);
        if !keep_access && let Some(entered) = self.entered.remove(call) {
            self.give_back(call, entered.marks);
        }
        self.look_again(rules);
    }

    /// A call was answered and does not stop: it keeps what it holds, and that may be its accesses alone (B07).
    pub(crate) fn deafen(&mut self, call: CallId) {
        if self.running.contains(&call) || self.entered.contains(call) {
            self.deaf.insert(call);
        }
    }

    /// A call that has not started touches something else (B06).
    pub(crate) fn declare(&mut self, call: CallId, access: Access, rules: &PathRules) {
        if let Some(Some(planned)) = self.planned.get_mut(call) {
            *planned = access;
            return;
        }
        let Some(entered) = self.entered.get(call).filter(|entered| entered.at != At::Started) else {
            return;
        };
        let wants = entered.at != At::Idle;
        if let Some(entered) = self.entered.remove(call) {
            self.stop_waiting(call, &entered);
            self.give_back(call, entered.marks);
        }
        self.ready.remove(&call);
        self.stalled.remove(&call);
        self.enter(call, access, rules);
        if let Some(entered) = self.entered.get_mut(call) {
            entered.redeclared = true;
        }
        self.restart_later(call);
        if wants {
            self.advance(call);
        }
        self.look_again(rules);
    }

    /// Whether a call can be declared again.
    pub(crate) fn is_waiting(&self, call: CallId) -> bool {
        matches!(self.planned.get(call), Some(Some(_)))
            || self.entered.get(call).is_some_and(|entered| entered.at != At::Started)
    }

    /// Calls that only deaf ones hold up, when nothing else runs (B07).
    pub(crate) fn held_by_deaf(&self, max_parallel: u32, rules: &PathRules) -> Vec<CallId> {
        if self.deaf.is_empty() || self.next.is_some() || !self.running.is_subset(&self.deaf) {
            return Vec::new();
        }
        let full = self.running.len() >= max_parallel as usize;
        let wanting =
            self.entered.iter().filter(|(_, entered)| matches!(entered.at, At::Waiting(_) | At::Clear));
        let blocked = |access: &Access| {
            let mut deaf = self.deaf.iter().filter_map(|call| self.entered.get(*call));
            deaf.any(|other| conflict(access, &other.access, rules))
        };
        let wanting = wanting.take_while(|(call, _)| !self.is_barred(*call));
        wanting.filter(|(_, entered)| full || blocked(&entered.access)).map(|(call, _)| call).collect()
    }

    /// A call takes its marks, and looks which are clear as it does: all earlier calls have theirs.
    fn enter(&mut self, call: CallId, access: Access, rules: &PathRules) {
        let marks = marks(&access, rules);
        let mut clear = 0;
        for (at, (path, mode)) in marks.iter().enumerate() {
            let node = self.nodes.entry(path.clone()).or_default();
            if clear == at && node.in_the_way(*mode, call).is_none() {
                clear += 1;
            }
            node.held.insert((*mode, call));
        }
        let entered = Entered { access, marks, clear, at: At::Idle, redeclared: false };
        self.entered.insert(call, entered);
    }

    /// Goes on with the marks of a call that wants to start, up to the first that is not clear.
    fn advance(&mut self, call: CallId) {
        let Some(entered) = self.entered.get_mut(call) else { return };
        while let Some((path, mode)) = entered.marks.get(entered.clear) {
            if let Some(node) = self.nodes.get_mut(path)
                && let Some(other) = node.in_the_way(*mode, call)
                && !Canary::ConflictsOverlap.is_planted()
            {
                node.waiting.insert((other, call));
                entered.at = At::Waiting(other);
                return;
            }
            entered.clear += 1;
        }
        entered.at = At::Clear;
        let set = if entered.redeclared { &mut self.stalled } else { &mut self.ready };
        set.insert(call);
    }

    /// Later calls that have not started look at their marks again: a new declaration may be in their way.
    fn restart_later(&mut self, call: CallId) {
        let later = self.entered.iter().filter(|(other, entered)| *other > call && entered.at != At::Started);
        let later: Vec<CallId> = later.map(|(call, _)| call).collect();
        for other in later {
            self.ready.remove(&other);
            self.stalled.remove(&other);
            let Some(mut entered) = self.entered.remove(other) else { continue };
            self.stop_waiting(other, &entered);
            let wants = entered.at != At::Idle;
            entered.clear = 0;
            self.entered.insert(other, entered);
            if wants {
                self.advance(other);
            }
        }
    }

    fn stop_waiting(&mut self, call: CallId, entered: &Entered) {
        if let (At::Waiting(mode), Some((path, _))) = (entered.at, entered.marks.get(entered.clear))
            && let Some(node) = self.nodes.get_mut(path)
        {
            node.waiting.remove(&(mode, call));
        }
    }

    /// Gives marks back and goes on with every call that waited for just them.
    fn give_back(&mut self, call: CallId, marks: Vec<Mark>) {
        let mut woken = Vec::new();
        for (path, mode) in marks {
            let Entry::Occupied(mut node) = self.nodes.entry(path) else { continue };
            node.get_mut().give_back(mode, call, &mut woken);
            if node.get().is_empty() {
                node.remove();
            }
        }
        for other in woken {
            self.advance(other);
        }
    }

    /// Calls that were declared again are clear when no later call that runs is in their way.
    fn look_again(&mut self, rules: &PathRules) {
        let stalled: Vec<CallId> = self.stalled.iter().copied().collect();
        for call in stalled {
            let Some(entered) = self.entered.get(call) else { continue };
            let mut later =
                self.entered.iter().filter(|(later, other)| *later > call && other.at == At::Started);
            if !later.any(|(_, other)| conflict(&entered.access, &other.access, rules)) {
                self.stalled.remove(&call);
                self.ready.insert(call);
            }
        }
    }
}

impl Node {
    /// A mode that an earlier call holds here and that clashes with this one.
    fn in_the_way(&self, mode: Mode, call: CallId) -> Option<Mode> {
        mode.clashes().iter().copied().find(|other| self.first(*other).is_some_and(|first| first < call))
    }

    /// The first call that holds it so.
    fn first(&self, mode: Mode) -> Option<CallId> {
        let (least, most) = ((mode, FIRST), (mode, LAST));
        self.held.range(least..=most).next().map(|(_, call)| *call)
    }

    fn give_back(&mut self, mode: Mode, call: CallId, woken: &mut Vec<CallId>) {
        self.held.remove(&(mode, call));
        if self.waiting.is_empty() {
            return;
        }
        // Whoever waits behind an earlier one still waits.
        let woken_by = (mode, FIRST)..=(mode, self.first(mode).unwrap_or(LAST));
        while let Some(next) = self.waiting.range(woken_by.clone()).next().copied() {
            self.waiting.remove(&next);
            woken.push(next.1);
        }
    }

    fn is_empty(&self) -> bool {
        self.held.is_empty() && self.waiting.is_empty()
    }
}

impl Mode {
    /// What an earlier call may not hold at the same node.
    fn clashes(self) -> &'static [Self] {
        use Mode::{BelowRead, BelowWrite, NodeRead, NodeWrite, TreeRead, TreeWrite};
        match self {
            NodeRead => &[NodeWrite, TreeWrite],
            NodeWrite => &[NodeRead, NodeWrite, TreeRead, TreeWrite],
            TreeRead => &[NodeWrite, TreeWrite, BelowWrite],
            TreeWrite => &[NodeRead, NodeWrite, TreeRead, TreeWrite, BelowRead, BelowWrite],
            BelowRead => &[TreeWrite],
            BelowWrite => &[TreeRead, TreeWrite],
        }
    }
}

/// What an access holds, each once.
fn marks(access: &Access, rules: &PathRules) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut touch = |path: &str, writes: bool, recursive: bool| {
        let [node, tree, below] = match writes {
            true => [Mode::NodeWrite, Mode::TreeWrite, Mode::BelowWrite],
            false => [Mode::NodeRead, Mode::TreeRead, Mode::BelowRead],
        };
        marks.push((Text::from(path), if recursive { tree } else { node }));
        let mut rest = path;
        while let Some((ancestor, _)) = rest.rsplit_once('/') {
            marks.push((Text::from(ancestor), below));
            rest = ancestor;
        }
    };
    match access {
        Access::None => {}
        Access::All => touch("", true, true),
        Access::Paths(paths) => {
            for path in paths.iter() {
                touch(&normalise(&path.path, rules), path.mode.writes(), path.recursive);
            }
        }
    }
    // Several paths have ancestors in common.
    marks.sort_unstable();
    marks.dedup();
    marks
}

#[cfg(test)]
mod tests;
