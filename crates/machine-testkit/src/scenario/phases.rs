//! The order of things within one tick.
use crate::scenario::verb::Place;
use crate::sim::Phase;

/// Timers of the engine, and hooks whose time is up.
pub(crate) const TIMERS: Phase = Phase(3);
/// What is said at once, in answer to what just happened.
pub(crate) const AT_ONCE: Phase = Phase(4);
/// What model, calls and hooks bring after a while.
pub(crate) const ANSWERS: Phase = Phase(7);

/// What somebody does.
pub(crate) fn verbs(place: Place) -> Phase {
    Phase(match place {
        Place::First => 1,
        Place::Between => 5,
        Place::Last => 8,
    })
}

/// A look at the states, after what is done at the same place.
pub(crate) fn looks(place: Place) -> Phase {
    Phase(verbs(place).0 + 1)
}
