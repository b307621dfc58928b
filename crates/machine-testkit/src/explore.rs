//! Exhaustive exploration of a world: breadth first, so that the first trace found is a shortest one.
//!
//! A world is a machine together with a model of its surroundings. It says which inputs may come now: those that are
//! *owed* (somebody must deliver them, since the machine asked) and those that are *volunteered* (an abort, a steer).
//! Liveness looks at owed inputs only: **if nobody owes the world an input, it must be at rest**, and from every state
//! what is owed must lead to rest. An abort that is always possible would hide every hang.
//!
//! States are told apart by a 128-bit fingerprint, and only those of two neighbouring depths are kept: two different
//! states would have to share a fingerprint for one to be missed. Of all others there is only how they were reached.
//! What comes out does not depend on the number of threads.
use std::collections::{BTreeSet, HashMap};
use std::fmt::{self, Debug};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, Builder, ScopedJoinHandle};
use std::time::{Duration, Instant};

use siphasher::sip128::{Hasher128, SipHasher13};

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

/// What looking at a rule gives: which was broken, and how, where one was.
pub(crate) type Checked = Result<(), String>;

pub(crate) fn broken(rule: &str, how: &str) -> Checked {
    Err(format!("{rule}: {how}"))
}

/// How far an exploration goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Distinct states; with the first state that leads to more it stops, and says so.
    pub states: usize,
    /// Threads, or as many as there can be.
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
    /// What inputs reached, where the world tells it.
    pub reached: BTreeSet<Reached>,
    /// Whether that is all there is; otherwise a bound was met.
    pub whole: bool,
    /// How long it took.
    pub took: Duration,
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { states, transitions, rests, depth, reached: _, whole, took } = self;
        let more = if *whole { "" } else { " and more" };
        let (seconds, each) = (took.as_secs_f64(), *states as f64 / took.as_secs_f64());
        write!(f, "{states} states{more}, {transitions} transitions, {rests} at rest, depth {depth}, ")?;
        write!(f, "{seconds:.1} s, {each:.0} states/s")
    }
}

/// A broken rule, with a shortest trace that leads to it.
#[derive(Clone, Debug)]
pub struct Violation<M> {
    /// Which rule, and how.
    pub what: String,
    /// The inputs from the start, the last one breaks the rule.
    pub trace: Vec<M>,
}

impl<M: Debug> fmt::Display for Violation<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
    let mut graph = Graph::of(fingerprint(&start));
    let mut layer = vec![(0, start.clone())];
    let (mut transitions, mut depth) = (0, 0);
    let mut reached = BTreeSet::new();
    let mut whole = true;
    while !layer.is_empty() && whole {
        let mut next = Vec::new();
        let mut rest = layer.into_iter();
        while whole {
            let chunk: Vec<_> = rest.by_ref().take(CHUNK.saturating_mul(bounds.jobs.get())).collect();
            if chunk.is_empty() {
                break;
            }
            for (from, looked) in look_all(&chunk, &graph.seen, bounds.jobs) {
                transitions += looked.to.len();
                reached.extend(looked.reached);
                for step in looked.to {
                    let new = graph.lead(from, &step);
                    next.extend(new.zip(step.world));
                }
                if let Some((choice, what)) = looked.broken {
                    let mut choices = graph.way_to(from);
                    choices.extend(choice);
                    return Err(Violation { what, trace: retrace(start, &choices) });
                }
                if looked.rests {
                    graph.rests.push(from);
                }
                // Looked at after each state, not each chunk: how large that is depends on the number of threads.
                whole = graph.ways.len() <= bounds.states;
                if !whole {
                    break;
                }
            }
        }
        depth += usize::from(!next.is_empty());
        layer = next;
    }
    if whole && let Some(stuck) = graph.never_at_rest() {
        let what = "hang: what is owed never leads to rest from here".to_owned();
        return Err(Violation { what, trace: retrace(start, &graph.way_to(stuck)) });
    }
    let (states, rests) = (graph.ways.len(), graph.rests.len());
    Ok(Explored { states, transitions, rests, depth, reached, whole, took: begin.elapsed() })
}

/// What is known of the states: how each was first reached, and where what is owed leads.
struct Graph {
    seen: Seen,
    ways: Vec<Way>,
    /// From, to.
    owed: Vec<(u32, u32)>,
    rests: Vec<u32>,
}

/// How a state was first reached: from which, by which of its choices.
#[derive(Clone, Copy)]
struct Way {
    from: u32,
    choice: u32,
}

impl Graph {
    fn of(start: u128) -> Self {
        let mut seen = Seen::default();
        seen.insert(start, 0);
        Self { seen, ways: vec![Way { from: 0, choice: 0 }], owed: Vec::new(), rests: Vec::new() }
    }

    /// A step leads from a state to another one, which may be new.
    fn lead<W>(&mut self, from: u32, step: &Step<W>) -> Option<u32> {
        // 4 billion states would be more than fits into any memory.
        let next = u32::try_from(self.ways.len()).unwrap_or(u32::MAX);
        let to = *self.seen.entry(step.print).or_insert(next);
        if step.owed {
            self.owed.push((from, to));
        }
        if to == next {
            self.ways.push(Way { from, choice: step.choice });
        }
        (to == next).then_some(next)
    }

    /// The choices from the start to a state.
    fn way_to(&self, mut at: u32) -> Vec<u32> {
        let mut choices = Vec::new();
        while at != 0 {
            let Way { from, choice } = self.ways[at as usize];
            choices.push(choice);
            at = from;
        }
        choices.reverse();
        choices
    }

    /// The first state that no owed inputs bring to rest.
    fn never_at_rest(&mut self) -> Option<u32> {
        self.owed.sort_unstable_by_key(|(_, to)| *to);
        let mut can = vec![false; self.ways.len()];
        let mut queue = self.rests.clone();
        queue.iter().for_each(|at| can[*at as usize] = true);
        while let Some(at) = queue.pop() {
            let first = self.owed.partition_point(|(_, to)| *to < at);
            let before = self.owed[first..].iter().take_while(|(_, to)| *to == at).map(|(from, _)| *from);
            for from in before {
                if !std::mem::replace(&mut can[from as usize], true) {
                    queue.push(from);
                }
            }
        }
        can.iter().position(|can| !can).and_then(|at| u32::try_from(at).ok())
    }
}

/// States that one thread looks at before its results are taken over.
const CHUNK: usize = 512;

/// What was found at one state.
struct Looked<W> {
    /// Whether nothing is owed.
    rests: bool,
    to: Vec<Step<W>>,
    reached: BTreeSet<Reached>,
    /// A broken rule, and the choice that breaks it; none: the state itself does.
    broken: Option<(Option<u32>, String)>,
}

/// Where one choice leads.
struct Step<W> {
    choice: u32,
    owed: bool,
    print: u128,
    /// The state, if it may be new.
    world: Option<W>,
}

/// Looks at every state of a chunk; the results come in its order.
fn look_all<W>(chunk: &[(u32, W)], seen: &Seen, jobs: NonZero<usize>) -> Vec<(u32, Looked<W>)>
where
    W: World + Send + Sync,
{
    let each = |part: &[(u32, W)]| part.iter().map(|(at, world)| (*at, look(world, seen))).collect();
    let part = chunk.len().div_ceil(jobs.get());
    if jobs.get() == 1 {
        return each(chunk);
    }
    thread::scope(|scope| {
        let work = |part| (part, Builder::new().spawn_scoped(scope, move || -> Vec<_> { each(part) }));
        let parts: Vec<_> = chunk.chunks(part).map(work).collect();
        let join = |thread: ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        // What no thread could be had for is looked at here.
        parts.into_iter().flat_map(|(part, thread)| thread.map_or_else(|_| each(part), join)).collect()
    })
}

fn look<W: World>(world: &W, seen: &Seen) -> Looked<W> {
    let mut looked = Looked { rests: false, to: Vec::new(), reached: BTreeSet::new(), broken: None };
    let all = match may_come(world) {
        Ok(all) => all,
        Err(what) => {
            looked.broken = Some((None, what));
            return looked;
        }
    };
    looked.rests = !all.iter().any(|(owed, _)| *owed);
    for (choice, (owed, input)) in (0..).zip(all) {
        let mut next = world.clone();
        if let Err(what) = applied(&mut next, &input) {
            looked.broken = Some((Some(choice), what));
            return looked;
        }
        looked.reached.extend(world.reached(&input, &next));
        let print = fingerprint(&next);
        let world = (!seen.contains_key(&print)).then_some(next);
        looked.to.push(Step { choice, owed, print, world });
    }
    looked
}

/// Everything that may come, in an order that a trace can count on; and whether it is owed.
fn choices<W: World>(world: &W) -> Vec<(bool, W::Move)> {
    let mut all: Vec<_> = world.owed().into_iter().map(|input| (true, input)).collect();
    all.extend(world.volunteered().into_iter().map(|input| (false, input)));
    all
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
    for step in 0..steps.saturating_add(PATIENCE) {
        let all = may_come(world).map_err(|what| Violation { what, trace: trace.clone() })?;
        let mut choices: Vec<_> =
            all.into_iter().filter(|(owed, _)| *owed || step < steps).map(|(_, input)| input).collect();
        if choices.is_empty() {
            return Ok(trace);
        }
        let input = choices.swap_remove(pick(choices.len()));
        trace.push(input.clone());
        applied(world, &input).map_err(|what| Violation { what, trace: trace.clone() })?;
    }
    Err(Violation { what: format!("not at rest after {PATIENCE} owed inputs"), trace })
}

/// What may come, and whether it is owed. Where nothing is, it must be at rest.
fn may_come<W: World>(world: &W) -> Result<Vec<(bool, W::Move)>, String> {
    caught(|| {
        let all = choices(world);
        if !all.iter().any(|(owed, _)| *owed) {
            world.at_rest()?;
        }
        Ok(all)
    })
}

/// Delivers an input.
pub(crate) fn applied<W: World>(world: &mut W, input: &W::Move) -> Result<(), String> {
    caught(|| world.apply(input))
}

/// A panic breaks a rule like any other: what it left behind is not looked at any more.
fn caught<T>(what: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(what)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(|said| &**said);
        Err(format!("a panic: {}", said.or(panic.downcast_ref().copied()).unwrap_or("of an unknown kind")))
    })
}

/// The inputs behind choices; the last one may be refused.
fn retrace<W: World>(mut world: W, taken: &[u32]) -> Vec<W::Move> {
    let mut trace = Vec::new();
    for choice in taken {
        let Some((_, input)) = choices(&world).into_iter().nth(*choice as usize) else { break };
        // Every input but the last was applied before without an error.
        let _ = applied(&mut world, &input);
        trace.push(input);
    }
    trace
}

fn fingerprint(world: &impl Hash) -> u128 {
    let mut hasher = SipHasher13::new();
    world.hash(&mut hasher);
    hasher.finish128().as_u128()
}

/// The number of each state, in the order in which they were found.
type Seen = HashMap<u128, u32, BuildHasherDefault<Printed>>;

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
