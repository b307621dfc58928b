//! What was seen of one step's attempts: what each streamed, cost and came to.
use machine_core::config::Config;
use machine_core::event::AttemptEnd;
use machine_core::ids::AttemptId;
use machine_core::message::{Body, Content};
use machine_core::response::{Failure, ModelEvent};
use machine_core::usage::Usage;
use machine_turn::Event;
use machine_turn::attempt::{Response, Streamed};

use super::monitor::is_repeatable;
use crate::explore::{Checked, broken};

/// The attempts of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Tried {
    attempt: Option<AttemptId>,
    fate: Fate,
    text: String,
    calls: usize,
    reported: Option<Usage>,
    /// Failures since the last recovery.
    failures: u32,
    recoveries_at_failure: u32,
    empty: u32,
    last_failure: Option<Failure>,
    /// Recoveries that were carried out.
    pub recoveries: u32,
}

/// What became of the current attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Fate {
    #[default]
    None,
    Streaming,
    Ended,
    Responded,
    Discarded,
    Salvaged,
}

impl Tried {
    pub fn current(&self) -> Option<AttemptId> {
        self.attempt
    }

    pub fn fate(&self) -> Fate {
        self.fate
    }

    /// Whether something to see was streamed.
    pub fn has_text(&self) -> bool {
        !self.text.is_empty()
    }

    /// Whether it is told what became of what was streamed (M02).
    pub fn is_settled(&self) -> bool {
        matches!(self.fate, Fate::None | Fate::Responded | Fate::Discarded | Fate::Salvaged)
    }

    /// Whether this attempt failed like this.
    pub fn has_failed(&self, attempt: AttemptId, kind: Failure) -> bool {
        self.attempt == Some(attempt) && self.fate == Fate::Ended && self.last_failure == Some(kind)
    }

    /// A request: the next serial, after what the last one streamed is void, and only as often as it may be repeated.
    pub fn request(&mut self, attempt: AttemptId, config: &Config) -> Checked {
        let serial = self.attempt.map_or(1, |last| last.serial + 1);
        if attempt.serial != serial || !matches!(self.fate, Fate::None | Fate::Discarded) {
            return broken("M02", "an attempt out of order, or before the last one is void");
        }
        let recovered = self.recoveries > self.recoveries_at_failure;
        if let Some(kind) = self.last_failure.filter(|_| !recovered) {
            match () {
                () if !is_repeatable(kind) => return Err(format!("M04: repeated after {kind:?}")),
                () if kind == Failure::Empty && self.empty > config.turn.empty => {
                    return broken("T11", "an empty response is asked for again too often");
                }
                () if kind != Failure::Empty && self.failures >= config.retry.attempts => {
                    return broken("M05", "repeated too often");
                }
                () => {}
            }
        }
        let most = config.retry.attempts * (config.turn.recoveries + 1) + config.turn.empty;
        if serial > most {
            return broken("P9", "more attempts than a step may have");
        }
        if recovered {
            self.failures = 0;
        }
        self.attempt = Some(attempt);
        (self.fate, self.text, self.calls, self.reported) = (Fate::Streaming, String::new(), 0, None);
        Ok(())
    }

    /// A piece of the response.
    pub fn stream(&mut self, attempt: AttemptId, piece: &ModelEvent) -> Checked {
        if self.attempt != Some(attempt) || self.fate != Fate::Streaming {
            return broken("M12", "a piece of another attempt");
        }
        match piece {
            ModelEvent::Text(text) => self.text.push_str(text),
            ModelEvent::CallStart { .. } => self.calls += 1,
            ModelEvent::Usage(usage) => self.reported = Some(*usage),
            _ => {}
        }
        Ok(())
    }

    /// What the attempt cost, by what was said of it (U02).
    pub fn cost(&self, event: &Event) -> Option<Usage> {
        match event {
            Event::Finished(end) => end.usage.or(self.reported),
            Event::Failed(error) => error.usage.or(self.reported),
            _ => self.reported,
        }
    }

    pub fn end(&mut self, attempt: AttemptId, end: &AttemptEnd) -> Checked {
        if self.attempt != Some(attempt) || self.fate != Fate::Streaming {
            return broken("E06", "an attempt ends that does not run");
        }
        self.fate = Fate::Ended;
        if let AttemptEnd::Failed(error) = end {
            let empty = error.kind == Failure::Empty;
            self.empty += u32::from(empty);
            self.failures += u32::from(!empty);
            self.last_failure = Some(error.kind);
            self.recoveries_at_failure = self.recoveries;
        }
        Ok(())
    }

    pub fn discard(&mut self, attempt: AttemptId) -> Checked {
        if self.attempt != Some(attempt) || self.fate != Fate::Ended {
            return broken("M02", "what an attempt streamed is void twice, or while it streams");
        }
        self.fate = Fate::Discarded;
        Ok(())
    }

    /// Only what can be seen is kept (M11).
    pub fn salvage(&mut self, content: &Content) -> Checked {
        if self.fate != Fate::Ended
            || self.text.is_empty()
            || text_of(content.iter().map(|part| &part.body)) != Some(self.text.clone())
        {
            return broken("M11", "something else than the visible text is salvaged");
        }
        self.fate = Fate::Salvaged;
        Ok(())
    }

    /// The whole response, and nothing else (P13). How many calls it has.
    pub fn respond(&mut self, response: &Response) -> Result<usize, String> {
        let calls = response.blocks.iter().filter(|block| matches!(block, Streamed::Call { .. })).count();
        let parts = response.blocks.iter().filter_map(|block| match block {
            Streamed::Part(part) => Some(&part.body),
            Streamed::Call { .. } => None,
        });
        let text = text_of(parts.filter(|body| matches!(body, Body::Text(_))));
        if self.fate != Fate::Ended || calls != self.calls || text != Some(self.text.clone()) {
            return Err("M02: the response is not what was streamed".to_owned());
        }
        self.fate = Fate::Responded;
        Ok(calls)
    }
}

/// The text, if there is nothing else.
fn text_of<'p>(mut bodies: impl Iterator<Item = &'p Body>) -> Option<String> {
    bodies.try_fold(String::new(), |all, body| match body {
        Body::Text(text) => Some(all + text),
        _ => None,
    })
}
