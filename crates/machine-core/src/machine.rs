//! The owner of a statig machine.
//!
//! It drives statig's public dispatch (`StateExt`) in place of statig's own wrappers, because those swallow
//! an event that nobody handled, and run entry actions again when a machine is restored.
use serde::{Deserialize, Serialize};
use statig::Outcome;
use statig::blocking::{IntoStateMachine, State, StateExt, Superstate};

/// The names of a state from the root down to the leaf. They feed charts, the trace and `state()`.
pub trait Path {
    /// Root first, leaf last; never empty.
    fn path(&self) -> &'static [&'static str];

    /// The leaf's name.
    fn leaf(&self) -> &'static str {
        self.path().last().copied().unwrap_or("")
    }
}

/// The name of an event's kind, without its payload.
pub trait Kind {
    /// As it stands in charts and traces.
    fn kind(&self) -> &'static str;
}

/// What one event did to a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// No level handled it. Data and state are as before (P17).
    Ignored,
    /// Handled in place: no exit, no entry.
    Handled,
    /// A transition was taken.
    Moved,
}

/// A machine: data that outlives states, and the active state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Machine<M: IntoStateMachine> {
    data: M,
    state: M::State,
}

impl<M> Machine<M>
where
    M: IntoStateMachine,
    M::State: State<M>,
    for<'s> M::Superstate<'s>: Superstate<M>,
{
    /// A machine that is already *in* `state`: no entry action runs.
    pub fn resume(data: M, state: M::State) -> Self {
        Self { data, state }
    }

    /// Data and state, to be looked at apart or changed into those of another machine.
    pub fn into_parts(self) -> (M, M::State) {
        (self.data, self.state)
    }

    /// A machine that enters `state`; entry actions run from the root down.
    pub fn start(data: M, state: M::State, ctx: &mut M::Context<'_>) -> Self {
        let mut machine = Self { data, state };
        let depth = machine.state.depth();
        machine.state.enter(&mut machine.data, ctx, depth);
        machine
    }

    /// One microstep: handlers from the leaf up, then exit and entry actions of the transition, if any.
    pub fn step(&mut self, event: &M::Event<'_>, ctx: &mut M::Context<'_>) -> Step {
        let mut target = match self.state.handle(&mut self.data, event, ctx) {
            Outcome::Super => return Step::Ignored,
            Outcome::Handled => return Step::Handled,
            Outcome::Transition(target) => target,
        };
        let (exit, enter) = self.state.transition_path(&mut target);
        self.state.exit(&mut self.data, ctx, exit);
        self.state = target;
        self.state.enter(&mut self.data, ctx, enter);
        Step::Moved
    }

    /// The active state.
    pub fn state(&self) -> &M::State {
        &self.state
    }

    /// What outlives states.
    pub fn data(&self) -> &M {
        &self.data
    }
}
