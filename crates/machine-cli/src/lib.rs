//! The parts of the program `agent-machine`.
//!
//! | module | what is in it |
//! |---|---|
//! | `keys` | what the program starts does not see the keys of providers |
//! | [`models`] | the two models that need no network: built-in rules, and a script |
//! | [`program`] | the command line, the consoles, and what drives an agent with them |
//! | [`tools`] | the file and shell tools over one working directory |
#![forbid(unsafe_code)]

mod keys;
pub mod models;
pub mod program;
pub mod tools;
