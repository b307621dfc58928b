//! The agent machine as a world: a session's inbox, the turns it starts, the calls that outlive them, and whoever sends,
//! stops, pauses, maintains or closes it.
mod background;
mod inputs;
mod monitor;
mod words;
mod world;

pub use words::command;
pub use world::{AgentSettings, AgentWorld};
