//! Worlds, explorer and virtual-time driver for agent-machine.
//!
//! | module | what it holds |
//! |---|---|
//! | [`chart`] | the chart of a machine, recovered from the running machine by exploration |
#![forbid(unsafe_code)]

pub mod chart;
