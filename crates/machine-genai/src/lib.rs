//! Models of providers: a [`Model`](machine_host::Model) over the crate `genai`.
//!
//! ```no_run
//! # fn main() -> Result<(), machine_genai::BuildError> {
//! let model = machine_genai::Genai::named("anthropic:claude-sonnet-4-6")?.build()?;
//! let agent = machine_host::Agent::builder().model(model);
//! # Ok(()) }
//! ```
//!
//! | file | what lives there |
//! |---|---|
//! | `builder`, `address` | from a provider's name to a client |
//! | `model` | one attempt |
//! | `wire` | what a provider speaks |
//! | `name`, `tool_name` | models and tools are the ones that were named |
//! | `request`, `content`, `settings` | from an attempt to a request of the library |
//! | `frames` | what the provider sent, read frame by frame |
//! | `stream`, `calls`, `finish` | from that to events of the engine |
//! | `failure`, `retry_after` | what kind of failure it was (M04), and how long to wait (M06) |
//!
//! Architecture invariant: nothing is sent twice here. There is no retry and no redirect; what a failure means is decided by
//! the engine (M03). Dropping the model's future drops the connection.
#![forbid(unsafe_code)]

mod address;
mod builder;
mod calls;
mod content;
mod failure;
mod finish;
mod frames;
mod model;
mod name;
mod request;
mod retry_after;
mod settings;
mod stream;
mod tool_name;
mod wire;

pub use builder::{BuildError, Builder};
pub use model::Genai;
