//! The whole engine with a model of its host, and the safety monitor that watches it.

pub(crate) mod journaled;
pub mod long;
pub(crate) mod menu;
mod monitor;
mod strays;
mod watched;
mod world;

pub use journaled::Journaled;
pub use menu::{Allowed, Menu, Policies};
pub use monitor::Monitor;
pub use watched::watch;
pub use world::{EngineWorld, Happens, Reduce};
