//! The turn machine as a world: one turn, the host behind its gate, its model and its hooks, the batch of its calls, what
//! waits for its next step, and whoever stops it.
mod monitor;
mod step;
mod words;
mod world;

pub use world::{TurnSettings, TurnWorld};
