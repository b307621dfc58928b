//! Loops that are compared, each in its public form: ours, a hand-written minimal one, and those of others. All do the
//! same scripted work: texts, names and arguments are allocated by each as its own types want them.
pub mod host;
#[cfg(feature = "peers")]
pub mod loopctl;
#[cfg(feature = "peers")]
pub mod loopctl_host;
pub mod minimal;
pub mod ours;
pub mod replies;
#[cfg(feature = "peers")]
pub mod rig;
#[cfg(feature = "peers")]
pub mod rig_host;

use crate::Done;

/// What a turn is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Responses with calls, before the one with text that ends the turn.
    pub steps: u32,
    /// Calls of each.
    pub calls: u32,
}

impl Shape {
    /// Only a text.
    pub const TEXT: Self = Self { steps: 0, calls: 0 };

    /// Entries that a turn adds to history.
    pub fn entries(self) -> usize {
        2 + self.steps as usize * (1 + self.calls as usize)
    }
}

/// A loop that plays turns one after the other over one history.
pub trait Loop {
    /// Plays one turn to its end.
    fn turn(&mut self, shape: Shape) -> Done<()>;

    /// Messages in its history.
    fn entries(&self) -> usize;
}

/// Plays turns without calls until the history has about so many entries.
pub fn grow(of: &mut dyn Loop, entries: usize) -> Done<()> {
    while of.entries() < entries {
        of.turn(Shape::TEXT)?;
    }
    Ok(())
}

/// What a person says.
pub const PROMPT: &str = "Find where the retry limit is read, and raise it to five.";
/// What the model says at the end.
pub const ANSWER: &str = "The limit is read in `backoff.rs`; it is five now, and its test says so too.";
/// The tool that is called.
pub const TOOL: &str = "read_file";
/// What a tool gives.
pub const RESULT: &str = "pub const RETRIES: u32 = 3; // how often a failed request is made again";

/// The provider's name for a call.
pub fn wire_id(serial: u64) -> String {
    format!("call_{serial:016x}")
}

/// The arguments of a call.
pub fn arguments(index: u32) -> String {
    format!(r#"{{"path":"src/module_{index}.rs"}}"#)
}
