//! Exhaustive exploration of a world: breadth first, so that the first trace found is a shortest one.
//!
//! A world is a machine together with a model of its surroundings. It says which inputs may come now: those that are
//! *owed* (somebody must deliver them, since the machine asked) and those that are *volunteered* (an abort, a steer).
//! Liveness looks at owed inputs only: **if nobody owes the world an input, it must be at rest.** An abort that is
//! always possible would hide every hang.
//!
//! States are told apart by a 128-bit fingerprint, and only those of two neighbouring depths are kept: two different
//! states would have to share a fingerprint for one to be missed. Of all others there is only how they were reached.
//! What comes out does not depend on the number of threads.
use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::num::NonZero;
use std::thread;
use std::time::{Duration, Instant};

use siphasher::sip128::{Hasher128, SipHasher13};

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

    /// Everything that may come, in a fixed order.
    fn choices(&self) -> Vec<Self::Move> {
        let mut all = self.owed();
        all.extend(self.volunteered());
        all
    }
}

/// How far an exploration goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Distinct states; then it stops, and says so.
    pub states: usize,
    /// Threads.
    pub jobs: NonZero<usize>,
}

impl Bounds {
    /// So many states, on one thread.
    pub fn states(states: usize) -> Self {
        Self { states, jobs: NonZero::<usize>::MIN }
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
    /// Whether that is all there is; otherwise a bound was met.
    pub whole: bool,
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

/// Explores everything that can be reached from `start`, within bounds.
///
/// # Errors
/// A [`Violation`] with a shortest trace: a broken rule, or a hang.
pub fn explore<W>(start: W, bounds: Bounds) -> Result<Explored, Violation<W::Move>>
where
    W: World + Send + Sync,
{
    let begin = Instant::now();
    let mut seen = Seen::from_iter([fingerprint(&start)]);
    let mut ways = vec![Way { from: 0, choice: 0 }];
    let mut layer = vec![(0, start.clone())];
    let mut done =
        Explored { states: 1, transitions: 0, rests: 0, depth: 0, whole: true, took: Duration::ZERO };
    while !layer.is_empty() && done.whole {
        let mut next = Vec::new();
        let mut rest = layer.into_iter();
        while done.whole {
            let chunk: Vec<_> = rest.by_ref().take(CHUNK * bounds.jobs.get()).collect();
            if chunk.is_empty() {
                break;
            }
            for (from, looked) in look_all(&chunk, &seen, bounds.jobs) {
                done.transitions += looked.transitions;
                done.rests += usize::from(looked.rests);
                for (choice, print, world) in looked.new {
                    if seen.insert(print) {
                        next.push((ways.len(), world));
                        ways.push(Way { from, choice });
                    }
                }
                if let Some((choice, what)) = looked.broken {
                    let mut choices = way_to(&ways, from);
                    choices.extend(choice);
                    return Err(Violation { what, trace: retrace(start, &choices) });
                }
            }
            done.whole = seen.len() <= bounds.states;
        }
        done.depth += usize::from(!next.is_empty());
        layer = next;
    }
    Ok(Explored { states: seen.len(), took: begin.elapsed(), ..done })
}

/// States that one thread looks at before its results are taken over.
const CHUNK: usize = 512;

/// How a state was first reached: from which, by which of its choices.
#[derive(Clone, Copy)]
struct Way {
    from: usize,
    choice: u32,
}

/// What was found at one state.
struct Looked<W> {
    transitions: usize,
    /// Whether nothing is owed.
    rests: bool,
    /// States that may be new: the choice that leads there, and the fingerprint.
    new: Vec<(u32, u128, W)>,
    /// A broken rule, and the choice that breaks it; none: the state itself does.
    broken: Option<(Option<u32>, String)>,
}

/// Looks at every state of a chunk; the results come in its order.
fn look_all<W>(chunk: &[(usize, W)], seen: &Seen, jobs: NonZero<usize>) -> Vec<(usize, Looked<W>)>
where
    W: World + Send + Sync,
{
    let each = |part: &[(usize, W)]| part.iter().map(|(at, world)| (*at, look(world, seen))).collect();
    let part = chunk.len().div_ceil(jobs.get());
    if jobs.get() == 1 {
        return each(chunk);
    }
    thread::scope(|scope| {
        let parts: Vec<_> =
            chunk.chunks(part).map(|part| scope.spawn(move || -> Vec<_> { each(part) })).collect();
        let join = |part: thread::ScopedJoinHandle<'_, _>| {
            part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        parts.into_iter().flat_map(join).collect()
    })
}

fn look<W: World>(world: &W, seen: &Seen) -> Looked<W> {
    let owed = world.owed();
    let mut looked = Looked { transitions: 0, rests: owed.is_empty(), new: Vec::new(), broken: None };
    if looked.rests
        && let Err(what) = world.at_rest()
    {
        looked.broken = Some((None, what));
        return looked;
    }
    for (choice, input) in (0..).zip(owed.into_iter().chain(world.volunteered())) {
        looked.transitions += 1;
        let mut next = world.clone();
        if let Err(what) = next.apply(&input) {
            looked.broken = Some((Some(choice), what));
            return looked;
        }
        let print = fingerprint(&next);
        if !seen.contains(&print) {
            looked.new.push((choice, print, next));
        }
    }
    looked
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

/// The choices from the start to a state.
fn way_to(ways: &[Way], mut at: usize) -> Vec<u32> {
    let mut choices = Vec::new();
    while at != 0 {
        choices.push(ways[at].choice);
        at = ways[at].from;
    }
    choices.reverse();
    choices
}

/// The inputs behind choices; the last one may be refused.
fn retrace<W: World>(mut world: W, choices: &[u32]) -> Vec<W::Move> {
    let mut trace = Vec::new();
    for choice in choices {
        let Some(input) = world.choices().into_iter().nth(*choice as usize) else { break };
        // Every input but the last was applied before without an error.
        let _ = world.apply(&input);
        trace.push(input);
    }
    trace
}

fn fingerprint(world: &impl Hash) -> u128 {
    let mut hasher = SipHasher13::new();
    world.hash(&mut hasher);
    hasher.finish128().as_u128()
}

type Seen = HashSet<u128, BuildHasherDefault<Printed>>;

/// A fingerprint is as random as a hash: half of it will do.
#[derive(Default)]
struct Printed(u64);

impl Hasher for Printed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u128(&mut self, print: u128) {
        self.write(&print.to_le_bytes());
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.first_chunk().map_or(0, |half| u64::from_le_bytes(*half));
    }
}
