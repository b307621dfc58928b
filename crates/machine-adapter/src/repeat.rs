//! The repeat guard: a call that was made again and again with the same result is not run once more (T19).
//!
//! A key is a tool with its arguments, whatever their order. What is kept of it and of its results are digests, for the
//! turn, and only of the keys that were used last.
use alloc::collections::{BTreeMap, BTreeSet};

use machine_core::canonical::canonical;
use machine_core::digest::Digest;
use machine_core::ids::CallId;
use machine_core::message::{Entry, Message, ToolCall};
use machine_core::outcome::{Outcome, Settlement, SkipCode};
use serde::{Deserialize, Serialize};

use crate::deliver::Run;
use crate::ledger::Opening;
use crate::out::Work;

/// How many keys are remembered. A turn that makes more different calls than this between two equal ones makes progress.
const REMEMBERED: usize = 1_024;

/// Answers `repeat` to one key before the turn ends.
const REFUSALS: u32 = 2;

/// What the calls of the running turn brought.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Repeats {
    seen: BTreeMap<Digest, Seen>,
    /// The keys of `seen` by the step that used them last.
    by_step: BTreeSet<(u32, Digest)>,
    /// The open batch: the keys of its calls, by index.
    open: BTreeMap<u32, Digest>,
    /// And what each key brought; none: equal calls brought different results.
    brought: BTreeMap<Digest, Option<Digest>>,
}

/// One key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Seen {
    /// The step that used it last.
    step: u32,
    /// Its last result; none: it had none, or several in one batch.
    last: Option<Digest>,
    /// Batches in a row with that result.
    run: u32,
    /// Batches in which it was refused.
    refused: u32,
}

impl Repeats {
    /// A call is announced: whether it is the `limit`-th with one result.
    fn announce(&mut self, call: CallId, key: Digest, limit: u32) -> bool {
        self.open.insert(call.index, key);
        self.seen.get(&key).is_some_and(|seen| seen.run >= limit.saturating_sub(1))
    }

    /// A key is refused in this batch: whether that was once too often.
    fn refuse(&mut self, key: Digest) -> bool {
        let Some(seen) = self.seen.get_mut(&key) else { return false };
        seen.refused += 1;
        seen.refused >= REFUSALS
    }

    /// A result goes into history. What never started has none of its own.
    pub(crate) fn note(&mut self, entry: &Entry) {
        let Message::Tool(tool) = &entry.message else { return };
        let Some(key) = self.open.remove(&tool.call.index) else { return };
        if matches!(tool.outcome, Outcome::NotStarted { .. }) {
            return;
        }
        let result = Some(Digest::of(&(&tool.outcome, &tool.content)));
        let brought = self.brought.entry(key).or_insert(result);
        if *brought != result {
            *brought = None;
        }
    }

    /// The batch is over: equal calls of it count as one.
    pub(crate) fn close(&mut self, step: u32) {
        self.open.clear();
        for (key, result) in core::mem::take(&mut self.brought) {
            let seen = self.seen.entry(key).or_default();
            self.by_step.remove(&(seen.step, key));
            self.by_step.insert((step, key));
            let run = if result.is_some() && seen.last == result { seen.run + 1 } else { 1 };
            *seen = Seen { step, last: result, run, refused: seen.refused };
        }
        while self.seen.len() > REMEMBERED {
            let Some((_, oldest)) = self.by_step.pop_first() else { return };
            self.seen.remove(&oldest);
        }
    }
}

impl Run<'_> {
    /// Answers the calls of a response that repeat themselves. After a second such answer to one call the turn ends.
    pub(crate) fn refuse_repeats(&mut self, openings: &mut [Opening]) {
        let Some(limit) = self.engine.turn_config.turn.repeat else { return };
        let mut refused = BTreeSet::new();
        for opening in openings.iter_mut().filter(|opening| may_count(opening)) {
            let key = key(&opening.call);
            if self.engine.repeats.announce(opening.call.id, key, limit) {
                opening.answer = Some(Settlement::bare(Outcome::skipped(SkipCode::Repeat)));
                refused.insert(key);
            }
        }
        let mut too_often = false;
        for key in refused {
            too_often |= self.engine.repeats.refuse(key);
        }
        if too_often {
            self.push(Work::ToTurn(machine_turn::Event::Repeated));
        }
    }
}

/// Whether it would have a result of its own: not if the whole response was cut, or a limit was exceeded.
fn may_count(opening: &Opening) -> bool {
    let skipped = |answer: &Settlement| matches!(answer.outcome, Outcome::NotStarted { .. });
    !opening.answer.as_ref().is_some_and(skipped)
}

/// The tool and its arguments, as the model meant them.
fn key(call: &ToolCall) -> Digest {
    let (tool, args) = call.raw.as_ref().map_or((&call.tool, &call.args), |raw| (&raw.tool, &raw.args));
    let args = match args.trim() {
        "" => "{}".into(),
        args => canonical(args).unwrap_or_else(|| args.into()),
    };
    Digest::of(&(tool, args))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One batch after the other, each with one new key: the keys that were used last are remembered, no more and no fewer.
    #[test]
    fn c_t19_the_keys_that_were_used_last_are_remembered() {
        let mut repeats = Repeats::default();
        let key = |step: u32| Digest::of(&step);
        let most = u32::try_from(REMEMBERED).expect("a small number");
        for step in 1..=most + 40 {
            repeats.brought.insert(key(step), Some(key(0)));
            repeats.close(step);
            let first = step.saturating_sub(most) + 1;
            let known: BTreeSet<Digest> = (first..=step).map(key).collect();
            assert!(repeats.seen.keys().eq(&known), "after {step} batches, from {first} on");
            assert_eq!(repeats.by_step.len(), known.len());
        }
    }
}
