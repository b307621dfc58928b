//! Reading a script.
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_saphyr::{Location, Spanned, UserMessageFormatter};
use thiserror::Error;

use super::Script;
use super::format::Response;

/// The largest script that is read, in bytes.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// Why a script cannot be used. Each is one line that names the file.
#[derive(Debug, Error)]
pub enum ScriptError {
    /// The file could not be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is over the size that is read.
    #[error("{}: larger than {MAX_FILE} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a script.
    #[error("{}:{line}:{column}: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The column, from 1, in characters.
        column: u64,
        /// What is wrong there.
        problem: String,
    },
}

impl Script {
    /// Reads a script from a file.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let failed = |source| ScriptError::Read { path: path.to_owned(), source };
        let mut text = Vec::new();
        File::open(path).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut text)).map_err(failed)?;
        if text.len() as u64 > MAX_FILE {
            return Err(ScriptError::TooLarge { path: path.to_owned() });
        }
        let text = String::from_utf8(text)
            .map_err(|_| failed(io::Error::new(io::ErrorKind::InvalidData, "not UTF-8")))?;
        Self::parse(path, &text)
    }

    /// Reads a script from a text; `path` is what errors call it.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ScriptError> {
        let malformed = |at: Location, problem: String| ScriptError::Malformed {
            path: path.to_owned(),
            line: at.line(),
            column: at.column(),
            problem,
        };
        let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
        let responses: Vec<Spanned<Response>> = serde_saphyr::from_str_with_options(text, options)
            .map_err(|error| malformed(error.location().unwrap_or(Location::UNKNOWN), problem(&error)))?;
        let replies = (1..).zip(responses).map(|(at, response)| {
            response
                .value
                .into_reply(at)
                .map_err(|problem| malformed(response.referenced, problem.to_owned()))
        });
        Ok(Self { replies: replies.collect::<Result<_, _>>()? })
    }
}

/// What the reader says, on one line and without the place, which the error names already.
fn problem(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().render_with_formatter(&UserMessageFormatter);
    let text = text.replace(['\r', '\n'], " ");
    let place = error.location().map(|at| format!(" at line {}, column {}", at.line(), at.column()));
    place.and_then(|place| text.strip_suffix(&place)).unwrap_or(&text).to_owned()
}
