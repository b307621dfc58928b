//! Simulation of the tokio host: the real driver under paused time, in a world that is drawn from a seed.
//!
//! A seed draws everything: how often each kind of fault happens (many not at all), every policy, which hooks there are,
//! what the model says, what tools do, what clients want and when, where the journal fails, when the process dies. Then
//! the world *heals*: all faults are off, what waits is answered, and the agent must come to rest, work once more, and
//! close. What must hold is checked on the way and at the end; what does not is a [`Violation`], a value.
//!
//! A run is the same each time, event by event: one thread, virtual time, one row of numbers. So the seed alone
//! reproduces it: `agent-machine simulate --seed S` prints what happened.
//!
//! ```
//! use machine_testkit::simulate;
//!
//! let summary = simulate::many(0..20, 2);
//! assert_eq!(summary.violations, []);
//! let run = simulate::run(3, true);
//! assert_eq!(run.digest, simulate::run(3, false).digest);
//! println!("{}", run.trace.join("\n"));
//! ```
//!
//! | module | its one job |
//! |---|---|
//! | `run` | one seed, many seeds |
//! | `world`, `random`, `fault` | what a run shares; its numbers; what can go wrong, and how often |
//! | `model`, `tool`, `job`, `child`, `hooks`, `policies` | the faulty host: what the agent is given |
//! | `disk` | journals that fail, in memory and in a file |
//! | `life`, `client`, `watch`, `fork` | what happens to an agent: openings and deaths, clients, watchers, forks |
//! | `heal` | everything must come to rest and end |
//! | `book`, `trace`, `tally` | what was seen; what happened in order; how often |
//! | `check`, `brackets`, `receipts`, `account`, `overlap` | what must hold |
mod account;
mod book;
mod brackets;
mod check;
mod child;
mod client;
mod disk;
mod fault;
mod fork;
mod heal;
mod hooks;
mod job;
mod life;
mod model;
mod overlap;
mod policies;
mod random;
mod receipts;
mod run;
mod tally;
mod tool;
mod trace;
mod watch;
mod world;

pub use run::{Run, Summary, Violation, many, run};
pub use tally::Tally;

/// Every kind of fault that a run can have, by its name in the [`Tally`].
pub fn faults() -> impl Iterator<Item = &'static str> {
    fault::Fault::ALL.iter().map(|fault| fault.name())
}
