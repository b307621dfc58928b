//! An engine for LLM agents built from explicit state machines.
//!
//! The loop is three machines: the agent, the turn, and the tool call. They are *sans-IO*: [`Engine`](engine::Engine)
//! is a value that takes inputs and gives events and asks. The feature `host` (on by default) carries the asks out on
//! tokio; most programs need only the [`prelude`].
//!
//! | module | feature | what it holds |
//! |---|---|---|
//! | [`core`] | | the vocabulary: ids, messages, asks, inputs, events, configuration |
//! | [`engine`] | | the engine, for hosts that drive it themselves |
//! | [`journal`] | | records, points, replay, recovery, forks |
//! | `host` | `host` | models, tools, hooks, the agent handle; with `schema` arguments are checked against their JSON Schema |
//! | `mcp` | `mcp` | tools of MCP servers; with `mcp-http` behind a URL, with `mcp-rustls` by https |
//! | `genai` | `genai` | models of providers; with `genai-rustls` over TLS |
//! | `testkit` | `testkit` | explorer, worlds, virtual time |
//! | `inspect` | `inspect` | charts |
#![forbid(unsafe_code)]

pub use machine_adapter as engine;
pub use machine_core as core;
#[cfg(feature = "genai")]
pub use machine_genai as genai;
#[cfg(feature = "host")]
pub use machine_host as host;
#[cfg(feature = "inspect")]
pub use machine_inspect as inspect;
pub use machine_journal as journal;
#[cfg(feature = "mcp")]
pub use machine_mcp as mcp;
#[cfg(feature = "testkit")]
pub use machine_testkit as testkit;

#[cfg(feature = "host")]
pub mod prelude;

/// The README's code is compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
