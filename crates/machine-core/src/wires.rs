//! Ids of calls on the wire: the provider's where it is legal and free, else one made from it by a fixed rule (V03).
use alloc::format;
use alloc::string::String;

use rpds::{RedBlackTreeMapSync, RedBlackTreeSetSync};

use crate::Text;
use crate::history::{NAME_MAX, legal};
use crate::ids::CallId;

/// The wire ids in use. Cloning is O(1); minting and claiming cost a logarithm, however often an id comes again.
#[derive(Clone, Debug, Default)]
pub struct Wires {
    used: RedBlackTreeSetSync<Text>,
    /// For each stem and number of digits: the first suffix that is free. A memo over `used`.
    free: RedBlackTreeMapSync<Text, u32>,
}

impl Wires {
    /// Whether an id is in use.
    pub fn is_used(&self, wire: &str) -> bool {
        self.used.contains(wire)
    }

    /// Gives a call its id, and claims it: the provider's id, made legal, with the smallest free suffix (`__2`, `__3`, …)
    /// if it is used; one made from our id if it is empty.
    pub fn mint(&mut self, raw: &str, call: CallId) -> Text {
        let base = match legal(raw) {
            name if name.is_empty() => format!("call_{}_{}_{}", call.turn, call.step, call.index),
            name => name,
        };
        let wire = if self.is_used(&base) { self.suffixed(&base) } else { base };
        let wire = Text::from(wire);
        self.claim(&wire);
        wire
    }

    /// Marks an id as used.
    pub(crate) fn claim(&mut self, wire: &Text) {
        self.used.insert_mut(wire.clone());
        let Some((stem, suffix)) = split(wire) else { return };
        let key = key(stem, digits(suffix));
        let mut free = self.free.get(key.as_str()).copied().unwrap_or(first(digits(suffix)));
        // It only ever moves on, so that all the steps together are as many as there are ids.
        while digits(free) == digits(suffix) && self.is_used(&format!("{stem}__{free}")) {
            free += 1;
        }
        self.free.insert_mut(key.into(), free);
    }

    fn suffixed(&self, base: &str) -> String {
        let mut count = 1;
        loop {
            let stem = &base[..base.len().min(NAME_MAX - 2 - count)];
            let free = self.free.get(key(stem, count).as_str()).copied().unwrap_or(first(count));
            if digits(free) == count {
                return format!("{stem}__{free}");
            }
            count += 1;
        }
    }
}

/// The memo's key: what a suffix of so many digits is put on. A long id loses its end to make room for more digits.
fn key(stem: &str, count: usize) -> String {
    format!("{stem}__{count}")
}

/// Stem and suffix of an id that has a suffix in its one spelling.
fn split(wire: &str) -> Option<(&str, u32)> {
    let (stem, text) = wire.rsplit_once("__")?;
    let suffix: u32 = text.parse().ok()?;
    let plain = suffix >= 2 && text.len() == digits(suffix) && suffix < u32::MAX;
    plain.then_some((stem, suffix))
}

fn digits(suffix: u32) -> usize {
    suffix.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// The first suffix with so many digits.
fn first(count: usize) -> u32 {
    match u32::try_from(count) {
        Ok(count) if count > 1 => 10u32.saturating_pow(count - 1),
        _ => 2,
    }
}
