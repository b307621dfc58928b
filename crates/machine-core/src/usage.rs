//! Tokens, per attempt and per turn (U01 to U03).
use serde::{Deserialize, Serialize};

/// Tokens of one attempt, as its provider reported them. A later report of the same attempt replaces an
/// earlier one: reports are cumulative (U02).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens of the request, cached ones included.
    #[serde(default)]
    pub input: u64,
    /// Tokens of the response, thinking included.
    #[serde(default)]
    pub output: u64,
    /// Tokens of the request that were read from the provider's cache.
    #[serde(default)]
    pub cached: u64,
}

impl Usage {
    /// Input and output together, in tokens.
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// The sum over attempts. Attempts that never reported are counted, not taken for zero (U02).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct UsageSum {
    /// What was reported, added up.
    pub known: Usage,
    /// How many attempts ended without a report.
    pub unknown_attempts: u32,
}

impl UsageSum {
    /// Books one ended attempt.
    pub fn book(&mut self, usage: Option<Usage>) {
        match usage {
            Some(Usage { input, output, cached }) => {
                self.known.input = self.known.input.saturating_add(input);
                self.known.output = self.known.output.saturating_add(output);
                self.known.cached = self.known.cached.saturating_add(cached);
            }
            None => self.unknown_attempts += 1,
        }
    }

    /// Input and output together, in tokens; a lower bound if attempts are unknown.
    pub fn total(self) -> u64 {
        self.known.total()
    }
}
