//! Exhaustive exploration of a world: breadth first, so that the first trace found is a shortest one.
//!
//! A world is a machine together with a model of its surroundings. It says which inputs may come now: those that are
//! *owed* (somebody must deliver them, since the machine asked) and those that are *volunteered* (an abort, a steer).
//! Liveness looks at owed inputs only: **if nobody owes the world an input, it must be at rest.** An abort that is
//! always possible would hide every hang.
//!
//! States are told apart by a 128-bit fingerprint, and only those at the frontier are kept: two different states
//! would have to share a fingerprint for one to be missed.
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use crate::coverage::Reached;

/// What is explored.
pub trait World: Clone + Hash {
    /// One input from outside.
    type Move: Clone + Debug;

    /// Inputs that somebody must deliver.
    fn owed(&self) -> Vec<Self::Move>;

    /// Inputs that may come or not.
    fn volunteered(&self) -> Vec<Self::Move>;

    /// Delivers an input. An error says which rule was broken.
    fn apply(&mut self, input: &Self::Move) -> Result<(), String>;

    /// Called when nothing is owed. An error says what is left undone.
    fn at_rest(&self) -> Result<(), String>;

    /// What an input reached that led from here to `after`, in a world of one machine.
    fn reached(&self, _input: &Self::Move, _after: &Self) -> Option<Reached> {
        None
    }
}

/// What was explored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explored {
    /// Distinct states.
    pub states: usize,
    /// Inputs that were applied.
    pub transitions: usize,
    /// States in which nothing is owed.
    pub rests: usize,
    /// The longest shortest way to a state.
    pub depth: usize,
    /// What inputs reached, where the world tells it.
    pub reached: BTreeSet<Reached>,
    /// How long it took.
    pub took: Duration,
}

/// A broken rule, with a shortest trace that leads to it.
#[derive(Clone, Debug)]
pub struct Violation<M> {
    /// Which rule, and how.
    pub what: String,
    /// The inputs from the start, the last one breaks the rule.
    pub trace: Vec<M>,
}

impl<M: Debug> std::fmt::Display for Violation<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{} after {} inputs:", self.what, self.trace.len())?;
        self.trace.iter().enumerate().try_for_each(|(i, input)| writeln!(f, "  {:>3}  {input:?}", i + 1))
    }
}

/// Explores everything that can be reached from `start`, up to `limit` states.
///
/// # Errors
/// A [`Violation`] with a shortest trace: a broken rule, a hang, or more states than the limit.
pub fn explore<W: World>(start: W, limit: usize) -> Result<Explored, Violation<W::Move>> {
    let begin = Instant::now();
    let mut seen = HashSet::from([fingerprint(&start)]);
    // For each state: the state it was reached from, and how.
    let mut ways: Vec<Option<(usize, W::Move)>> = vec![None];
    let mut frontier = VecDeque::from([(0, 0, start)]);
    let (mut transitions, mut rests, mut deepest) = (0, 0, 0);
    let mut reached = BTreeSet::new();
    while let Some((at, depth, world)) = frontier.pop_front() {
        deepest = deepest.max(depth);
        let owed = world.owed();
        if owed.is_empty() {
            rests += 1;
            world.at_rest().map_err(|what| Violation { what, trace: trace(&ways, at) })?;
        }
        for input in owed.into_iter().chain(world.volunteered()) {
            transitions += 1;
            let mut next = world.clone();
            if let Err(what) = next.apply(&input) {
                let mut trace = trace(&ways, at);
                trace.push(input);
                return Err(Violation { what, trace });
            }
            reached.extend(world.reached(&input, &next));
            if seen.insert(fingerprint(&next)) {
                if seen.len() > limit {
                    return Err(Violation {
                        what: format!("more than {limit} states"),
                        trace: trace(&ways, at),
                    });
                }
                ways.push(Some((at, input)));
                frontier.push_back((ways.len() - 1, depth + 1, next));
            }
        }
    }
    Ok(Explored { states: seen.len(), transitions, rests, depth: deepest, reached, took: begin.elapsed() })
}

/// One random way through a world: at each state one of the inputs that may come, by `pick`, up to `steps` inputs;
/// then only owed ones, until it rests.
///
/// # Errors
/// A [`Violation`] with the way that was taken.
pub fn walk<W: World>(
    world: &mut W,
    steps: usize,
    mut pick: impl FnMut(usize) -> usize,
) -> Result<Vec<W::Move>, Violation<W::Move>> {
    const PATIENCE: usize = 10_000;
    let mut trace = Vec::new();
    for step in 0..steps + PATIENCE {
        let mut choices = world.owed();
        if choices.is_empty() {
            world.at_rest().map_err(|what| Violation { what, trace: trace.clone() })?;
        }
        if step < steps {
            choices.extend(world.volunteered());
        }
        if choices.is_empty() {
            return Ok(trace);
        }
        let input = choices.swap_remove(pick(choices.len()));
        trace.push(input.clone());
        world.apply(&input).map_err(|what| Violation { what, trace: trace.clone() })?;
    }
    Err(Violation { what: format!("not at rest after {PATIENCE} owed inputs"), trace })
}

fn trace<M: Clone>(ways: &[Option<(usize, M)>], mut at: usize) -> Vec<M> {
    let mut trace = Vec::new();
    while let Some((before, input)) = &ways[at] {
        trace.push(input.clone());
        at = *before;
    }
    trace.reverse();
    trace
}

fn fingerprint(world: &impl Hash) -> u128 {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        world.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}
