//! What was seen, in a few words: the same words for every loop.
use crate::behaviour::transcript::Transcript;
use crate::behaviour::world::{PROMPTS, TOKENS, WORK, World};

/// What a loop was seen to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// In a few words.
    pub cell: String,
    /// What else is to be said of it.
    pub notes: Vec<String>,
}

impl Finding {
    /// In these words.
    pub fn of(cell: impl Into<String>) -> Self {
        Self { cell: cell.into(), notes: Vec::new() }
    }

    /// With more to be said.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

fn yes(world: &World) -> Finding {
    Finding::of(if world.overlapped() { "yes" } else { "yes, in sequence" })
}

/// Of [`read_after_write`](crate::behaviour::world::read_after_write): what the request after it says that was read.
pub fn order(world: &World, next: Option<&Transcript>) -> Finding {
    match next.and_then(|next| next.result_of("c3")) {
        Some("new") => yes(world),
        Some("old") => Finding::of("no: the read came first"),
        Some(other) => Finding::of(format!("no: it read `{other}`")),
        None => Finding::of("no: there is no result"),
    }
}

/// Of [`appends`](crate::behaviour::world::appends): what is in the file.
pub fn appends(world: &World) -> Finding {
    match world.file("log").lines().count() {
        4 => yes(world),
        some => Finding::of(format!("no: {some} of 4 is left")),
    }
}

/// What came of something that lacks a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// It was refused with an error.
    Refused,
    /// No request is made until the result is there.
    Waits,
    /// A request is made, with a result that nobody gave.
    Mended,
    /// A request is made without it.
    Sent,
}

impl Lacking {
    /// From the request that was made.
    pub fn sent(request: &Transcript) -> Self {
        if request.is_sendable() { Self::Mended } else { Self::Sent }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Waits => "waits",
            Self::Mended => "mended",
            Self::Sent => "sent as it is",
        }
    }
}

/// A step in which one call of two has no result, and a history with such a step.
pub fn missing(step: Lacking, history: Lacking) -> Finding {
    let is_kept = |lacking| matches!(lacking, Lacking::Refused | Lacking::Waits);
    let answer = match (is_kept(step), is_kept(history)) {
        (true, true) => "yes",
        (false, false) => "no",
        _ => "in part",
    };
    Finding::of(format!("{answer}: step {}, history {}", step.words(), history.words()))
}

/// What is left after a batch was stopped in the middle, its first call done.
#[derive(Clone, Debug, Default)]
pub struct Stopped {
    /// Tokens as they were told after the stop.
    pub usage: Option<(u64, u64)>,
    /// The request of the next prompt, if it made one.
    pub next: Option<Transcript>,
}

impl Stopped {
    /// Whether it goes on, whether the next request may be sent and has what was done, and whether usage is known.
    pub fn judged(&self) -> Finding {
        let Some(next) = &self.next else { return Finding::of("no: it takes no prompt any more") };
        if !next.is_sendable() {
            return Finding::of("no: the next request has calls without results");
        }
        let mut lost = Vec::new();
        if !(next.says(PROMPTS[0]) && next.has_calls()) {
            lost.push("the turn is forgotten");
        } else if !next.results().iter().any(|text| text.contains("first done")) {
            lost.push("the result that was there is lost");
        }
        match self.usage {
            Some(TOKENS) => {}
            Some(_) => lost.push("usage is wrong"),
            None => lost.push("usage is lost"),
        }
        match &*lost {
            [] => Finding::of("yes"),
            lost => Finding::of(format!("in part: {}", lost.join(", "))),
        }
    }
}

/// The work that ran after a snapshot of a batch was resumed, in which the first was done, the second ran, the third had
/// not started.
pub fn resumed(begun: &[String]) -> Finding {
    match begun {
        [only] if only == WORK[2] => Finding::of("yes"),
        [] => Finding::of("no: none runs"),
        all if all == WORK => Finding::of("no: all three run again"),
        some => Finding::of(format!("no: these run: {}", some.join(", "))),
    }
}

/// What a loop says afterwards of each call of such a batch.
pub fn doubt(marks: &[String]) -> Finding {
    match marks {
        [first, second, third] if first == second && second == third => {
            Finding::of("no: all three look alike")
        }
        [_, second, third] if second == third => Finding::of("no: both look alike"),
        [_, _, _] => Finding::of("yes"),
        _ => Finding::of("no: nothing is kept"),
    }
}

/// The request after two calls with one id.
pub fn equal_ids(world: &World, next: Option<&Transcript>) -> Finding {
    let Some(next) = next else { return Finding::of("no: no further request") };
    let ran = world.begun().len();
    match *next.results() {
        ["first done", "second done"] if next.is_sendable() => Finding::of("yes"),
        ["first done", "second done"] => Finding::of("no: one id for both results"),
        [_, _] => Finding::of("no: results are mixed up"),
        _ => Finding::of(format!("no: {ran} ran, {} results", next.results().len())),
    }
}
