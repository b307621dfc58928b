//! A schedule's world: what each call is at, and by the definition alone, which may start.
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use machine_core::access::{Access, Mode, PathRules, Touch, conflict};
use machine_core::ids::{CallId, TurnId};
use proptest::prelude::*;
use proptest::sample::Index;

use super::super::Batch;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    Waiting,
    Running,
    Deaf,
    /// In the background, with its accesses.
    Kept,
    /// In the background, holding nothing.
    Gone,
    Over,
}

#[derive(Clone, Debug)]
pub struct Call {
    pub id: CallId,
    pub access: Access,
    pub planned: bool,
    pub wants: bool,
    pub life: Life,
}

impl Call {
    /// In the way of what conflicts with it, wherever it stands.
    fn holds(&self) -> bool {
        matches!(self.life, Life::Running | Life::Deaf | Life::Kept)
    }

    fn is_over(&self) -> bool {
        matches!(self.life, Life::Gone | Life::Over)
    }

    fn has_slot(&self) -> bool {
        matches!(self.life, Life::Running | Life::Deaf)
    }
}

#[derive(Clone, Debug)]
pub enum Op {
    Begin(Vec<Access>),
    Plan(Index),
    Enqueue(Index),
    End(Index),
    /// It will never run; told once, or twice.
    EarlyEnd(Index, bool),
    Detach(Index, bool),
    Deafen(Index),
    Declare(Index, Access),
    Snapshot,
}

/// Which kinds of events a schedule has besides the plain ones.
#[derive(Clone, Copy, Debug)]
pub struct Kinds {
    pub early_end: bool,
    pub declare: bool,
}

impl Kinds {
    pub const PLAIN: Self = Self { early_end: false, declare: false };
}

pub struct World {
    pub batch: Batch,
    pub rules: PathRules,
    pub calls: Vec<Call>,
    /// The calls of the latest batch.
    latest: Range<usize>,
    steps: u32,
    max_parallel: u32,
}

pub fn rules() -> PathRules {
    PathRules { root: "/w".into(), ignore_case: false }
}

impl World {
    pub fn new(max_parallel: u32) -> Self {
        let (batch, rules, calls) = (Batch::default(), rules(), Vec::new());
        Self { batch, rules, calls, latest: 0..0, steps: 0, max_parallel }
    }

    pub fn begin(&mut self, accesses: &[Access]) {
        self.steps += 1;
        let step = TurnId { branch: 1, turn: 1 }.step(self.steps);
        self.latest = self.calls.len()..self.calls.len() + accesses.len();
        self.calls.extend(accesses.iter().zip(0..).map(|(access, index)| Call {
            id: step.call(index),
            access: access.clone(),
            planned: false,
            wants: false,
            life: Life::Waiting,
        }));
        self.batch.begin(step.call(0), u32::try_from(accesses.len()).unwrap());
        self.settle();
    }

    pub fn plan(&mut self, at: usize) {
        self.calls[at].planned = true;
        self.batch.plan(self.calls[at].id, self.calls[at].access.clone(), &self.rules);
        self.settle();
    }

    pub fn plan_all(&mut self) {
        self.latest.clone().for_each(|at| self.plan(at));
    }

    pub fn enqueue(&mut self, at: usize) {
        self.calls[at].wants = true;
        self.batch.enqueue(self.calls[at].id, &self.rules);
        self.settle();
    }

    pub fn end(&mut self, at: usize) {
        self.calls[at].life = Life::Over;
        self.batch.end(self.calls[at].id, &self.rules);
        self.settle();
    }

    pub fn detach(&mut self, at: usize, keep: bool) {
        self.calls[at].life = if keep { Life::Kept } else { Life::Gone };
        self.batch.detach(self.calls[at].id, keep, &self.rules);
        self.settle();
    }

    pub fn deafen(&mut self, at: usize) {
        if self.calls[at].life == Life::Running {
            self.calls[at].life = Life::Deaf;
        }
        self.batch.deafen(self.calls[at].id);
        self.settle();
    }

    pub fn declare(&mut self, at: usize, access: &Access) {
        assert!(self.batch.is_waiting(self.calls[at].id), "B06: until it starts");
        self.calls[at].access = access.clone();
        self.batch.declare(self.calls[at].id, access.clone(), &self.rules);
        self.settle();
    }

    pub fn running(&self) -> Vec<usize> {
        (0..self.calls.len())
            .filter(|at| self.calls[*at].life == Life::Running || self.calls[*at].life == Life::Deaf)
            .collect()
    }

    pub fn apply(&mut self, op: &Op) {
        let in_latest = |at: usize, world: &Self| world.latest.contains(&at);
        match op {
            Op::Begin(accesses) => {
                let done = |call: &Call| call.life != Life::Waiting && call.life != Life::Running;
                if !accesses.is_empty() && self.calls[self.latest.clone()].iter().all(done) {
                    self.begin(accesses);
                }
            }
            Op::Plan(index) => {
                if let Some(at) = self.pick(index, |call| call.life == Life::Waiting && !call.planned) {
                    assert!(in_latest(at, self));
                    self.plan(at);
                }
            }
            Op::Enqueue(index) => {
                let fits = |call: &Call| call.life == Life::Waiting && call.planned && !call.wants;
                self.pick(index, fits).into_iter().for_each(|at| self.enqueue(at));
            }
            Op::End(index) => {
                let fits = |call: &Call| !matches!(call.life, Life::Waiting | Life::Over);
                self.pick(index, fits).into_iter().for_each(|at| self.end(at));
            }
            Op::EarlyEnd(index, twice) => {
                if let Some(at) = self.pick(index, |call| call.life == Life::Waiting) {
                    (0..=u32::from(*twice)).for_each(|_| self.end(at));
                }
            }
            Op::Detach(index, keep) => {
                let fits = |call: &Call| call.life == Life::Running;
                self.pick(index, fits).into_iter().for_each(|at| self.detach(at, *keep));
            }
            Op::Deafen(index) => {
                let fits = |call: &Call| matches!(call.life, Life::Running | Life::Kept | Life::Gone);
                self.pick(index, fits).into_iter().for_each(|at| self.deafen(at));
            }
            Op::Declare(index, access) => {
                let fits = |call: &Call| call.life == Life::Waiting && call.planned;
                self.pick(index, fits).into_iter().for_each(|at| self.declare(at, access));
            }
            Op::Snapshot => {
                let json = serde_json::to_string(&self.batch).unwrap();
                let back: Batch = serde_json::from_str(&json).unwrap();
                assert_eq!(back, self.batch, "J07: {json}");
                self.batch = back;
            }
        }
    }

    fn pick(&self, index: &Index, fits: impl Fn(&Call) -> bool) -> Option<usize> {
        let all: Vec<_> = (0..self.calls.len()).filter(|at| fits(&self.calls[*at])).collect();
        (!all.is_empty()).then(|| all[index.index(all.len())])
    }

    /// Brings everything to its end: prepared, approved, done, one after the other.
    pub fn finish(&mut self) {
        for at in self.latest.clone() {
            if self.calls[at].life == Life::Waiting && !self.calls[at].planned {
                self.plan(at);
            }
            if self.calls[at].life == Life::Waiting && !self.calls[at].wants {
                self.enqueue(at);
            }
        }
        for _ in 0..=self.calls.len() {
            let Some(at) =
                self.calls.iter().position(|call| !matches!(call.life, Life::Waiting | Life::Over))
            else {
                break;
            };
            self.end(at);
        }
        let left: Vec<_> = self.calls.iter().filter(|call| call.life != Life::Over).collect();
        assert!(left.is_empty(), "B04: never started: {left:?}");
    }

    /// Which calls may start, by B04: pair by pair.
    fn may_start(&self) -> BTreeSet<CallId> {
        if self.calls.iter().filter(|call| call.has_slot()).count() >= self.max_parallel as usize {
            return BTreeSet::new();
        }
        let fits = |at: &usize| {
            let call = &self.calls[*at];
            let earlier = &self.calls[..*at];
            let clash = |other: &Call| conflict(&call.access, &other.access, &self.rules);
            let prepared = |other: &Call| other.planned || other.life != Life::Waiting;
            call.life == Life::Waiting
                && call.wants
                && earlier.iter().all(prepared)
                && !earlier.iter().any(|other| !other.is_over() && clash(other))
                && !self.calls.iter().any(|other| other.holds() && clash(other))
        };
        (0..self.calls.len()).filter(fits).map(|at| self.calls[at].id).collect()
    }

    /// Starts what the batch lets start, and checks that it is what may start: no more, no less.
    fn settle(&mut self) {
        loop {
            let may_start = self.may_start();
            let Some(call) = self.batch.start(self.max_parallel) else {
                assert!(may_start.is_empty(), "B04: lost its wake-up: {may_start:?}\n{:#?}", self.calls);
                break;
            };
            assert_eq!(
                may_start.first(),
                Some(&call),
                "B04: of {may_start:?}, {call} starts\n{:#?}",
                self.calls
            );
            let at = self.calls.iter().position(|known| known.id == call).unwrap();
            self.calls[at].life = Life::Running;
        }
        self.check();
    }

    /// What holds after every event, whatever the schedule.
    fn check(&self) {
        let holding: Vec<_> = self.calls.iter().filter(|call| call.holds()).collect();
        for (i, a) in holding.iter().enumerate() {
            for b in &holding[..i] {
                assert!(!conflict(&a.access, &b.access, &self.rules), "B04: together: {a:?} {b:?}");
            }
        }
        let slots = self.calls.iter().filter(|call| call.has_slot()).count();
        assert!(slots <= self.max_parallel as usize, "B04: {slots} run");
        for call in &self.calls {
            let waits = call.life == Life::Waiting && call.planned;
            assert_eq!(self.batch.is_waiting(call.id), waits, "B06: {call:?}");
        }
        self.check_busy();
    }

    /// Calls that only deaf ones hold up are found, so that their batch ends (B07).
    fn check_busy(&self) {
        let busy = self.batch.held_by_deaf(self.max_parallel, &self.rules);
        let waiting: Vec<_> = self.calls.iter().filter(|call| call.life == Life::Waiting).collect();
        for call in &busy {
            assert!(
                waiting.iter().any(|other| other.id == *call && other.wants),
                "B07: {call} does not wait"
            );
        }
        let prepared = waiting.iter().all(|call| call.planned);
        assert!(prepared || busy.is_empty(), "B07: a call is being prepared, and others are busy: {busy:?}");
        let lives = |life| self.calls.iter().any(|call| call.life == life);
        let stuck = !waiting.is_empty() && waiting.iter().all(|call| call.planned && call.wants);
        if stuck && lives(Life::Deaf) && !lives(Life::Running) && !lives(Life::Kept) {
            assert!(!busy.is_empty(), "B07: only deaf ones are left, and nobody is told\n{:#?}", self.calls);
        }
    }
}

pub fn ops(kinds: Kinds) -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(op(kinds), 1..60)
}

fn op(kinds: Kinds) -> impl Strategy<Value = Op> {
    let index = any::<Index>;
    prop_oneof![
        4 => prop::collection::vec(access(), 1..8).prop_map(Op::Begin),
        14 => index().prop_map(Op::Plan),
        12 => index().prop_map(Op::Enqueue),
        8 => index().prop_map(Op::End),
        3 => (index(), any::<bool>()).prop_map(|(index, keep)| Op::Detach(index, keep)),
        2 => index().prop_map(Op::Deafen),
        1 => Just(Op::Snapshot),
        u32::from(kinds.early_end) * 6 => (index(), any::<bool>()).prop_map(|(index, twice)| Op::EarlyEnd(index, twice)),
        u32::from(kinds.declare) * 8 => (index(), access()).prop_map(|(index, access)| Op::Declare(index, access)),
    ]
}

pub fn access() -> impl Strategy<Value = Access> {
    let paths = vec!["", "/", "a", "a/b", "a/b/c", "/w/a/b", "./a//x/../b/", "b", "ab", "..", "../v"];
    let modes = vec![Mode::Read, Mode::Read, Mode::Write, Mode::ReadWrite, Mode::Search];
    let touch = (prop::sample::select(paths), prop::sample::select(modes), any::<bool>())
        .prop_map(|(path, mode, recursive)| Touch { mode, path: path.into(), recursive });
    prop_oneof![
        1 => Just(Access::None),
        1 => Just(Access::All),
        10 => prop::collection::vec(touch, 0..4).prop_map(|touches| Access::Paths(touches.into())),
    ]
}
