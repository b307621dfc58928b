//! Worlds, explorer and virtual-time driver for agent-machine.
//!
//! | module | what it holds |
//! |---|---|
//! | [`call`], [`turn`], [`agent`] | one machine as a world, with a model of what is around it and a safety monitor |
//! | [`engine`] | the whole engine as a world, and long runs of it |
//! | [`explore`] | breadth-first exploration of a world, and random walks through it |
//! | [`happening`] | one event that comes to a machine |
//! | [`coverage`] | which leaf met which event, and which cannot |
//! | [`chart`] | the chart of a machine, recovered from the running machine by exploration |
//! | [`draw`] | where choices come from: bytes, or picks |
//! | [`sim`], [`script`] | a driver in virtual time, and a scripted host for it |
//! | `scenario` | scenario files and their runner (feature `scenario`) |
//! | `fuzz` | what fuzz targets do with their bytes (feature `scenario`) |
//! | `simulate` | the tokio host in a faulty world, from a seed (feature `tokio`) |
#![forbid(unsafe_code)]

pub mod agent;
pub mod call;
pub mod chart;
pub mod coverage;
pub mod draw;
pub mod engine;
pub mod explore;
#[cfg(feature = "scenario")]
pub mod fuzz;
pub mod happening;
mod outstanding;
#[cfg(feature = "scenario")]
pub mod scenario;
pub mod script;
pub mod sim;
#[cfg(feature = "tokio")]
pub mod simulate;
pub mod turn;
