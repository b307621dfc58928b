//! What an exploration can find.
use machine_core::machine::Step;

/// Why there is no chart, and the shortest way to see it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{machine} machine, after {}: {flaw}", trace.join(", "))]
pub struct NoChart {
    /// The machine's name.
    pub machine: &'static str,
    /// How it starts, then the kinds of events.
    pub trace: Vec<&'static str>,
    /// What is wrong.
    pub flaw: Flaw,
}

/// What can be wrong with a machine, or with its domain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// The samples do not keep the data finite, or the limit is too low.
    #[error("more than {limit} configurations: narrow the samples")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// An ignored event changes nothing (P17).
    #[error("{leaf} ignores {event} and is changed by it")]
    IgnoredChanged {
        /// The state.
        leaf: &'static str,
        /// The event.
        event: &'static str,
    },
    /// An ignored event signals nothing (P17).
    #[error("{leaf} ignores {event} and signals {signals}")]
    IgnoredSignalled {
        /// The state.
        leaf: &'static str,
        /// The event.
        event: &'static str,
        /// What came out.
        signals: String,
    },
    /// A level that passes an event on changes and signals nothing, or two levels would have handled it.
    #[error("{level} passes {event} on and has an effect")]
    PassedOnWithEffect {
        /// The level.
        level: &'static str,
        /// The event.
        event: &'static str,
    },
    /// `path()` has as many names as there are levels.
    #[error("path() has {path:?}, superstate() has {depth} levels")]
    PathDepth {
        /// What `path()` says.
        path: &'static [&'static str],
        /// How many levels there are.
        depth: usize,
    },
    /// A name in `path()` stands for one superstate, and the other way round.
    #[error("path() has {path:?}, and {name} is another superstate elsewhere")]
    PathName {
        /// What `path()` says.
        path: &'static [&'static str],
        /// The name.
        name: &'static str,
    },
    /// A name stands in one place of the chart.
    #[error("{name} has two places in the chart")]
    TwoPlaces {
        /// The name.
        name: &'static str,
    },
    /// What the levels say one by one is what the machine did.
    #[error("{leaf} did {step:?} on {event}, its levels say otherwise")]
    StepDiffers {
        /// The state.
        leaf: &'static str,
        /// The event.
        event: &'static str,
        /// What the machine did.
        step: Step,
    },
}
