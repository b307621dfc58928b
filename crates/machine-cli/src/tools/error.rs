//! What can go wrong in a tool call, by who is at fault: the arguments, a path, the text, the command, the
//! host.
use std::io;

use thiserror::Error;

use super::shell::ShellEnd;

/// Why a tool call failed. Its text is what the model reads.
#[derive(Debug, Error)]
pub enum ToolError {
    /// The arguments are not JSON, or do not fit the tool's schema. The text names the field.
    #[error("arguments: {0}")]
    Arguments(String),
    /// An argument has the right type and still cannot be used.
    #[error("argument `{field}`: {problem}")]
    Field {
        /// The argument's name.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// Something is wrong with a path.
    #[error("{fault}: {path}")]
    Path {
        /// The path as it was given.
        path: String,
        /// What is wrong with it.
        fault: PathFault,
    },
    /// `edit` did not find the old text.
    #[error("`old` was not found: {path}")]
    OldNotFound {
        /// The file.
        path: String,
    },
    /// `edit` found the old text more than once and was not told to replace all.
    #[error("`old` was found {count} times, give more of the text around it or set `all`: {path}")]
    OldNotUnique {
        /// The file.
        path: String,
        /// How often.
        count: usize,
    },
    /// The command did not end with exit code 0. The text has its output.
    #[error("{0}")]
    Command(Box<ShellEnd>),
    /// The command could not be started or watched.
    #[error("the command could not be run: {0}")]
    Host(#[from] io::Error),
}

/// What is wrong with a path.
#[derive(Debug, Error)]
pub enum PathFault {
    /// It leads out of the workspace by `..`, as an absolute path, or through a symbolic link.
    #[error("path leaves the workspace")]
    Leaves,
    /// Nothing is there.
    #[error("no such file or directory")]
    Missing,
    /// A directory where a file is expected.
    #[error("is a directory")]
    IsDirectory,
    /// A file where a directory is expected.
    #[error("not a directory")]
    NotDirectory,
    /// A device, pipe or socket.
    #[error("not a regular file")]
    NotRegular,
    /// A symbolic link met on a walk; walks do not follow links.
    #[error("symbolic link")]
    Link,
    /// Too many symbolic links, or links in a circle.
    #[error("too many symbolic links")]
    TooManyLinks,
    /// The file's bytes are not text.
    #[error("not UTF-8")]
    NotUtf8,
    /// The file is over the size that the tools handle.
    #[error("larger than {limit} bytes, use the shell for parts of it")]
    TooLarge {
        /// The most a tool reads.
        limit: u64,
    },
    /// No permission to read it.
    #[error("no read permission")]
    NoReadPermission,
    /// No permission to write it.
    #[error("no write permission")]
    NoWritePermission,
    /// No permission to make an entry in its directory, which creating and replacing need.
    #[error("no write permission in its directory")]
    NoWritePermissionInDirectory,
    /// Anything else the system said.
    #[error("{0}")]
    Io(io::Error),
}

impl PathFault {
    /// What an error of reading says about the path.
    pub(super) fn reading(error: io::Error) -> Self {
        Self::from_io(error, Self::NoReadPermission)
    }

    /// What an error of writing says about the path.
    pub(super) fn writing(error: io::Error) -> Self {
        Self::from_io(error, Self::NoWritePermission)
    }

    fn from_io(error: io::Error, denied: Self) -> Self {
        match error.kind() {
            // The refusal of cap-std itself comes without an error number of the system.
            io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => Self::Leaves,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => denied,
            io::ErrorKind::NotFound => Self::Missing,
            io::ErrorKind::IsADirectory => Self::IsDirectory,
            io::ErrorKind::NotADirectory => Self::NotDirectory,
            _ => Self::Io(error),
        }
    }
}
