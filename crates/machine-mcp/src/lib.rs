//! Tools of MCP servers for agents, over `rmcp`: a server is a [`ToolSource`](machine_host::ToolSource).
//!
//! ```no_run
//! # async fn example(model: impl machine_host::Model) -> Result<(), Box<dyn std::error::Error>> {
//! use std::process::Command;
//!
//! let mut command = Command::new("mcp-server-filesystem");
//! command.arg("/srv/notes");
//! let server = machine_mcp::Server::child(command).prefix("notes_").open().await?;
//! let agent = machine_host::Agent::builder().model(model).tools_from(server).open().await?;
//! agent.prompt("what is in the notes?").await?;
//! # Ok(())
//! # }
//! ```
//!
//! A call that is stopped is told to the server (`notifications/cancelled`), and what the server brings within the grace
//! counts (X03). Servers go on, and most of them never answer then: the engine says that the call may have run. The first
//! outcome that comes later is `LateResult` (X06); after [`late_within`](Builder::late_within) nobody waits for it any more,
//! and the call gives back what it accesses (B07).
//!
//! What a server says of its own tools is a hint that nobody vouches for. A tool that says it only reads is taken to read
//! everything: such calls run side by side, and in call order with whatever may write. Any other is a barrier (B01). Who
//! knows better says so with [`plan`](Builder::plan).
//!
//! When a server is gone its open calls fail, and its tools are not in the table of the next step (T04). A process whose pipe
//! closed is gone for good. A server behind an address may come back: after a request that found nobody, whose answer broke off,
//! or that got an error of the server's own (as where it does not know the session), each step asks for its list of tools,
//! for 5 s at most, in a new session where the old one has none; an answer brings the tools back. A stream that breaks off
//! and is not found again for a minute fails its call.
//!
//! When its list of tools changes, the next step has the new one. A call whose server gives no sign of life fails after
//! [`call_within`](Builder::call_within).
//!
//! | module | its one job |
//! |---|---|
//! | `builder` | how a server is described and opened |
//! | `server` | the handle: its tools as they are now |
//! | `connection` | the way to a server: its session as it is now, calls, what is left when it is gone |
//! | `session` | one session: the handshake, requests, cancellation |
//! | `list` | its list of tools: pages, and tools that are none |
//! | `status` | what a server told of itself: changes, doubts |
//! | `handler` | what a server sends on its own: progress, changes |
//! | `http` | a server behind an address, of which nothing secret is said |
//! | `wire` | messages over two streams |
//! | `line`, `message`, `outline` | a line that was read; what is read in it; what is seen of one that cannot be read |
//! | `noted` | what a server wrote where only messages belong |
//! | `child` | a process of ours: its standard error, its end |
//! | `tool`, `names` | one tool of a server; names that every provider takes |
//! | `result` | what a tool brought, as a message |
//! | `error`, `plain` | why a server cannot be used; errors of `rmcp` in plain words |
#![forbid(unsafe_code)]

mod builder;
mod child;
mod connection;
mod error;
mod handler;
#[cfg(feature = "http")]
mod http;
mod line;
mod list;
mod message;
mod names;
mod noted;
mod outline;
mod plain;
mod result;
mod server;
mod session;
mod status;
mod tool;
mod wire;

pub use builder::Builder;
pub use error::{OpenError, Output};
pub use list::LeftOut;
pub use server::Server;
pub use tool::{Call, Hints};
