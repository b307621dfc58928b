//! The name of a session in a store, which is also that of its file.
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::store::error::StoreError;

/// Bytes of a name. With its endings it is a name that every file system takes.
const MOST: usize = 128;
const ENDING: &str = ".jsonl";

/// A checked name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name(Arc<str>);

impl Name {
    pub(crate) fn new(name: &str) -> Result<Self, StoreError> {
        match is_name(name) {
            true => Ok(Self(name.into())),
            false => Err(StoreError::Name { name: name.chars().take(MOST).collect(), most: MOST }),
        }
    }

    /// Of the file of this name, if a session can be in it.
    pub(crate) fn of_file(file: &str) -> Option<Self> {
        file.strip_suffix(ENDING).and_then(|name| Self::new(name).ok())
    }

    /// Its file.
    pub(crate) fn path(&self, directory: &Path) -> PathBuf {
        directory.join(format!("{self}{ENDING}"))
    }
}

fn is_name(name: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    !name.is_empty() && name.len() <= MOST && !name.starts_with('.') && name.bytes().all(known)
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
