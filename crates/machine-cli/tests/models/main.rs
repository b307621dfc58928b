//! The models that need no network.
#[path = "../common/mod.rs"]
mod common;
mod grammar;
mod look;
mod replace;
mod replace_bounds;
mod script;
mod steer;
mod talk;
