//! The tool-call machine as a world: one call, the host that prepares, approves, executes and finalizes it, the batch that
//! lets it start, and whoever stops it.
mod due;
mod monitor;
mod words;
mod world;

pub use world::{CallSettings, CallWorld};
