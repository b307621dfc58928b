//! One event that comes to a machine: what a world of one machine is moved by.
use std::fmt::{Debug, Formatter, Result};

use machine_core::machine::{Machine, Path};
use statig::blocking::IntoStateMachine;

use crate::coverage::Reached;

/// An event, and how it comes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Happening<E> {
    /// The machine's event.
    pub event: E,
    /// Whether it fits nothing that is open: an answer that came before, a timer that was taken back. It must be ignored.
    pub stray: bool,
    /// Milliseconds that pass before it.
    pub after_ms: u64,
}

impl<E> Happening<E> {
    /// An event that fits.
    pub fn now(event: E) -> Self {
        Self { event, stray: false, after_ms: 0 }
    }

    /// An event that fits nothing.
    pub fn stray(event: E) -> Self {
        Self { event, stray: true, after_ms: 0 }
    }

    /// An event that comes after a while.
    pub fn after(event: E, after_ms: u64) -> Self {
        Self { event, stray: false, after_ms }
    }
}

/// One short line.
impl<E: Debug> Debug for Happening<E> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let text = format!("{:?}", self.event);
        let short: String = text.chars().take(90).collect();
        f.write_str(&short)?;
        f.write_str(if short.len() < text.len() { "…" } else { "" })?;
        match (self.stray, self.after_ms) {
            (true, _) => f.write_str(" (stray)"),
            (false, 0) => Ok(()),
            (false, ms) => write!(f, " after {ms} ms"),
        }
    }
}

/// What an event of this kind reached in a machine that is as `after` now.
pub(crate) fn reached<M>(before: &Machine<M>, event: &'static str, after: &Machine<M>) -> Reached
where
    M: IntoStateMachine + PartialEq,
    M::State: statig::blocking::State<M> + Path + PartialEq,
    for<'s> M::Superstate<'s>: statig::blocking::Superstate<M>,
{
    let to = (before != after).then(|| after.state().leaf());
    Reached { leaf: before.state().leaf(), event, to }
}
