//! What a journal is made of.
use alloc::string::String;
use alloc::sync::Arc;

use machine_core::config::Config;
use machine_core::ids::AskId;
use machine_core::input::Input;
use serde::{Deserialize, Serialize};

/// The version of a record's shape (J07).
pub const SCHEMA: u32 = 1;

/// The version of the rules: raised when the same inputs lead elsewhere than before (J06).
pub const SEMANTICS: u32 = 2;

/// One record. In a file, one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Record {
    /// The first one, and only that.
    Header {
        /// [`SCHEMA`] at the time of writing.
        schema: u32,
        /// [`SEMANTICS`] at the time of writing.
        semantics: u32,
        /// Stands in every id of the session (V02).
        branch: u32,
        /// What the session began with. Later configurations are inputs (J06).
        config: Arc<Config>,
    },
    /// An admitted input, written before it is handled (J02).
    In {
        /// Counts inputs, from 0.
        n: u64,
        /// Wall time in milliseconds, as the engine was told.
        at: u64,
        /// The input.
        input: Input,
    },
    /// Acts that are about to leave. One without this record never left, and may be asked again (J05).
    Act {
        /// The input that led to them.
        n: u64,
        /// In the order in which they leave.
        asks: Arc<[AskId]>,
    },
}

impl Record {
    /// One line of JSON, without the line's end.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// Reads what [`Record::to_json`] wrote.
    pub fn from_json(line: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(line)
    }
}
