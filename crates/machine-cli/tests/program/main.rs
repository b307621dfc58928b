//! The program, run as a user runs it.
mod approvals;
mod chart;
mod explore;
mod interrupt;
mod journal;
mod json;
mod kills;
mod main_job;
mod mcp;
mod prompt_loop;
#[cfg(feature = "providers")]
mod provider;
mod replay;
mod running;
mod scenario;
mod script;
mod simulate;
mod usage;
