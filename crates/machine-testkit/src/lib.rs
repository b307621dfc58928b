//! Worlds, explorer and virtual-time driver for agent-machine.
//!
//! | module | what it holds |
//! |---|---|
//! | [`chart`] | the chart of a machine, recovered from the running machine by exploration |
//! | [`explore`] | breadth-first exploration of a world, and random walks through it |
//! | [`sim`] | a driver in virtual time |
//! | [`script`] | a scripted host for it |
//! | `scenario` | scenario files and their runner (feature `scenario`) |
//! | [`call`], [`turn`], [`agent`] | one machine as a world, with a model of what is around it and a safety monitor |
//! | [`outstanding`] | what a machine has asked for and who still may answer |
//! | [`happening`] | one event that comes to a machine |
//! | [`coverage`] | which leaf met which event, and which cannot |
//! | `simulate` | the tokio host in a faulty world, from a seed (feature `tokio`) |
//! | [`engine`] | the whole engine as a world, with a model of its host and a safety monitor |
//! | [`draw`] | where choices come from: bytes, or picks |
//! | `fuzz` | what fuzz targets do with their bytes (feature `scenario`) |
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
pub mod outstanding;
#[cfg(feature = "scenario")]
pub mod scenario;
pub mod script;
pub mod sim;
#[cfg(feature = "tokio")]
pub mod simulate;
pub mod turn;
