//! Who stops something, and why.
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Text;

/// Who stopped something, and why (X01).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// Who.
    pub by: By,
    /// Why, in their words.
    #[serde(default)]
    pub reason: Option<Text>,
}

/// Who stopped something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// A person.
    User,
    /// A clock of the host.
    Timeout,
    /// The agent that runs this one.
    Parent,
    /// The process ends.
    Shutdown,
    /// A program.
    Program,
}

impl Cause {
    /// Somebody, without a reason.
    pub fn by(by: By) -> Arc<Self> {
        Arc::new(Self { by, reason: None })
    }

    /// Whether a person did it on purpose.
    pub fn is_by_user(&self) -> bool {
        self.by == By::User
    }
}
