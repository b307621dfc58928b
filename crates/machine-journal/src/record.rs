//! What a journal is made of.
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;

use machine_core::ask::Subject;
use machine_core::config::Config;
use machine_core::ids::AskId;
use machine_core::input::Input;
use serde::{Deserialize, Serialize};

use crate::point::Point;

/// The version of a record's shape (J07).
pub const SCHEMA: u32 = 1;

/// The version of the rules: raised when the same inputs lead elsewhere than before (J06).
pub const SEMANTICS: u32 = 6;

/// One record. In a file, one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Record {
    /// The first one, and only that.
    Header {
        /// [`SCHEMA`] at the time of writing.
        schema: u32,
        /// [`SEMANTICS`] at the time of writing. Later ones stand in the points.
        semantics: u32,
        /// Stands in every id of the session (V02).
        branch: u32,
        /// What the session began with. Later configurations are inputs (J06).
        config: Arc<Config>,
    },
    /// An admitted input, written before it is handled, or deltas of a stream that were joined (J02).
    In {
        /// Counts inputs, from 0.
        n: u64,
        /// Wall time in milliseconds, as the engine was told.
        at: u64,
        /// What was asked, if this belongs to an ask. It says what an answer is about also under other rules, where the
        /// ask may have another id (J06).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        about: Option<Subject>,
        /// The input.
        input: Input,
    },
    /// Acts that are about to leave. One without this record never left, and may be asked again (J05).
    Act {
        /// The input that led to them.
        n: u64,
        /// In the order in which they leave.
        asks: Arc<[Left]>,
    },
    /// Where opening may begin.
    Point(Box<Point>),
}

/// An act that leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Left {
    /// The ask.
    pub ask: AskId,
    /// What is asked about whom.
    pub about: Subject,
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

    /// The point, if it is one.
    pub fn point(&self) -> Option<&Point> {
        match self {
            Self::Point(point) => Some(point),
            Self::Header { .. } | Self::In { .. } | Self::Act { .. } => None,
        }
    }

    /// Whether a text that [`Record::to_json`] wrote is a point, without reading it.
    pub fn is_point(json: &[u8]) -> bool {
        json.starts_with(br#"{"point":"#)
    }
}
