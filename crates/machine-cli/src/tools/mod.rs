//! The tools of the program: files and a shell over one working directory.
//!
//! A [`Workspace`] is opened over a directory, and no path leads out of it: not by `..`, not as an absolute
//! path, not through a symbolic link. [`all`] is the table of the tools. Each row has what a model must know
//! (name, description, schema), what a scheduler must know (the [`Accesses`] of a call, whether it needs
//! approval), and how it runs: the file tools block and turn JSON text into text, the shell is asynchronous.
//!
//! Architecture invariant: the file tools never touch the file system but through the workspace's `Dir`. The
//! shell starts in the directory and is confined to nothing; that is why it needs approval and accesses
//! everything.

mod access;
mod args;
mod capture;
mod count;
mod edit;
mod error;
mod glob;
mod group;
mod list;
mod place;
mod read;
mod replace;
mod report;
mod search;
pub mod shell;
mod sweep;
mod table;
mod walk;
mod workspace;
mod write;

pub use access::{Access, Accesses, Mode};
pub use error::{PathFault, ToolError};
pub use table::{Runner, ToolDef, all, find};
pub use workspace::Workspace;
