//! Charts of the machines of `agent-machine`, as they are, not as someone drew them.
//!
//! | module | what it holds |
//! |---|---|
//! | [`charts`] | the machines that can be drawn |
//! | [`mermaid`] | a chart for GitHub |
//! | [`dot`] | a chart for Graphviz |
//! | [`xstate`] | a chart for XState and its tools |
//! | [`table`] | the state × event table |
//! | [`page`] | chart and table on one page |
//!
//! All of them are pure: the same chart gives the same text.
#![forbid(unsafe_code)]

pub mod charts;
pub mod dot;
pub mod mermaid;
pub mod page;
pub mod table;
pub mod xstate;
