//! The trace of one machine as inputs of a whole engine, so that what is found in one machine can be written as a
//! scenario, too.
//!
//! An engine runs alongside, from its first prompt on. For each event of the trace it gets the inputs that bring that
//! event to its machine. What the machine takes there must be what it took alone, event by event and leaf by leaf; but
//! for events that left the machine as it was, and have no way there. What the engine brings by itself needs no input.
mod agent;
mod call;
mod stage;
mod turn;

use machine_adapter::trace::Transition;
use machine_core::config::Config;
use machine_core::input::Input;
use machine_core::machine::{Kind, Machine, Path, Step};
use statig::blocking::IntoStateMachine;

use crate::explore::{World, applied};
use crate::happening::Happening;
pub use crate::scenario::lifted::agent::agent;
pub use crate::scenario::lifted::call::call;
use crate::scenario::lifted::stage::Stage;
pub use crate::scenario::lifted::turn::turn;
use crate::scenario::written::Unwritable;

/// A run of a whole engine: its configuration, and what comes at each moment.
pub type Lifted = (Config, Vec<Vec<Input>>);

/// An event that a machine took alone.
struct Took<E> {
    event: E,
    from: &'static str,
    to: &'static str,
    /// Whether the machine is as before.
    stays: bool,
    /// Whether it breaks a rule by that; it is the last one then.
    breaks: bool,
}

/// What a machine took, each event of a trace in its world. Only the last may fit nothing, and break a rule by that.
fn alone<W, M, E>(
    world: &W,
    trace: &[Happening<E>],
    machine: fn(&W) -> &Machine<M>,
) -> Result<Vec<Took<E>>, Unwritable>
where
    W: World<Move = Happening<E>>,
    M: IntoStateMachine + Clone + PartialEq,
    M::State: statig::blocking::State<M> + Path + Clone + PartialEq,
    for<'s> M::Superstate<'s>: statig::blocking::Superstate<M>,
    E: Clone,
{
    let mut world = world.clone();
    let mut took = Vec::new();
    for happening in trace {
        let before = machine(&world).clone();
        let breaks = applied(&mut world, happening).is_err();
        if happening.stray && breaks {
            return no_words("an answer that fits nothing");
        }
        let after = machine(&world);
        let (from, to, stays) = (before.state().leaf(), after.state().leaf(), before == *after);
        if !happening.stray {
            took.push(Took { event: happening.event.clone(), from, to, stays, breaks });
        }
    }
    Ok(took)
}

/// Somebody who brings events to one machine of an engine.
trait Lifter<E>: Clone {
    /// The engine.
    fn stage(&mut self) -> &mut Stage;

    /// Gives the inputs that bring this event. `then`: what is to come after it.
    fn bring(&mut self, event: &E, then: &[Took<E>]) -> Result<(), Unwritable>;
}

fn lift<E: Kind, L: Lifter<E>>(mut lifter: L, took: &[Took<E>]) -> Result<Vec<Vec<Input>>, Unwritable> {
    let mut at = 0;
    while let Some(next) = took.get(at) {
        let mut tried = lifter.clone();
        tried.stage().came.clear();
        let brought = tried.bring(&next.event, &took[at + 1..]);
        if brought.is_ok() && tried.stage().panicked {
            lifter = tried;
            break;
        }
        match brought.and_then(|()| follow(&tried.stage().came, &took[at..])) {
            Ok(more) => {
                lifter = tried;
                at += more;
            }
            Err(_) if next.stays && !next.breaks => at += 1,
            Err(why) => return Err(why),
        }
    }
    Ok(std::mem::take(&mut lifter.stage().moves))
}

/// How many of these events came, in their order. After the last one, which may break a rule, anything may.
fn follow<E: Kind>(came: &[Transition], took: &[Took<E>]) -> Result<usize, Unwritable> {
    let is = |came: &Transition, took: &Took<E>| {
        (came.event, leaf(came.from), leaf(came.to)) == (took.event.kind(), took.from, took.to)
    };
    let mut at = 0;
    for came in came {
        // What changes nothing may be left out on either side, but for the event that was to be brought.
        let passed = if at == 0 { 0 } else { took[at..].iter().take_while(|took| took.stays).count() };
        let found = took[at..].iter().take(passed + 1).position(|took| is(came, took));
        match found {
            Some(n) => at += n + 1,
            None if at == took.len() => break,
            None if came.step == Step::Ignored => {}
            None => {
                let (event, leaf) = (came.event, leaf(came.from));
                return no_words(&format!("in an engine {event} comes to {leaf} here"));
            }
        }
    }
    match (at, took) {
        (0, [first, ..]) => no_words(&format!("{} has no way into {} here", first.event.kind(), first.from)),
        (at, _) => Ok(at),
    }
}

fn leaf(path: &[&'static str]) -> &'static str {
    path.last().copied().unwrap_or("")
}

fn no_words<T>(what: &str) -> Result<T, Unwritable> {
    Err(Unwritable::NoWords(what.to_owned()))
}
