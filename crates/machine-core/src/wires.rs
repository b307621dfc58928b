//! Ids of calls on the wire: the provider's where it is legal and free, else one made from it by a fixed rule (V03).
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use core::hash::BuildHasherDefault;

use rpds::{HashTrieSetSync, RedBlackTreeMapSync};
use siphasher::sip::SipHasher13;

use crate::Text;
use crate::history::{NAME_MAX, is_legal, legal};
use crate::ids::CallId;

/// A set whose order nobody sees. Its hash has no seed: the same ids cost the same everywhere.
type Set = HashTrieSetSync<Text, BuildHasherDefault<SipHasher13>>;

/// The wire ids in use. Cloning is O(1); minting and claiming cost next to nothing, however often an id comes again.
#[derive(Clone, Debug, Default)]
pub struct Wires {
    used: Set,
    /// For each stem and number of digits: the first suffix that is free. A memo over `used`.
    free: RedBlackTreeMapSync<Text, u32>,
}

/// Gives the calls of one response their ids, each once. What is in use stays as it is until the response is committed.
#[derive(Debug)]
pub struct Minting<'w> {
    wires: &'w Wires,
    /// Those of this response.
    fresh: BTreeSet<Text>,
    /// What has moved on since, of the memo.
    free: BTreeMap<String, u32>,
}

impl Wires {
    /// Whether an id is in use.
    pub fn is_used(&self, wire: &str) -> bool {
        self.used.contains(wire)
    }

    /// For the calls of a response that is not committed yet.
    pub fn minting(&self) -> Minting<'_> {
        Minting { wires: self, fresh: BTreeSet::new(), free: BTreeMap::new() }
    }

    /// Marks an id as used: whether it was free.
    pub(crate) fn claim(&mut self, wire: &Text) -> bool {
        let before = self.used.size();
        self.used.insert_mut(wire.clone());
        let free = moved_on(wire, |key, count| self.first_free(key, count), |wire| self.is_used(wire));
        if let Some((key, free)) = free {
            self.free.insert_mut(key.into(), free);
        }
        self.used.size() > before
    }

    fn first_free(&self, key: &str, count: usize) -> u32 {
        self.free.get(key).copied().unwrap_or(first(count))
    }
}

impl Minting<'_> {
    /// Gives a call its id: the provider's id, made legal, with the smallest free suffix (`__2`, `__3`, …) if it is used;
    /// one made from our id if it is empty.
    pub fn mint(&mut self, raw: &Text, call: CallId) -> Text {
        let base = match &**raw {
            "" => format!("call_{}_{}_{}", call.turn, call.step, call.index).into(),
            name if is_legal(name) => raw.clone(),
            name => legal(name).into(),
        };
        let wire = if self.is_used(&base) { self.suffixed(&base).into() } else { base };
        self.claim(&wire);
        wire
    }

    fn is_used(&self, wire: &str) -> bool {
        self.wires.is_used(wire) || self.fresh.contains(wire)
    }

    fn claim(&mut self, wire: &Text) {
        self.fresh.insert(wire.clone());
        self.free.extend(moved_on(wire, |key, count| self.first_free(key, count), |wire| self.is_used(wire)));
    }

    fn first_free(&self, key: &str, count: usize) -> u32 {
        self.free.get(key).copied().unwrap_or_else(|| self.wires.first_free(key, count))
    }

    fn suffixed(&self, base: &str) -> String {
        let mut count = 1;
        loop {
            let stem = &base[..base.len().min(NAME_MAX - 2 - count)];
            let free = self.first_free(&key(stem, count), count);
            if digits(free) == count {
                return format!("{stem}__{free}");
            }
            count += 1;
        }
    }
}

/// What the memo says once this id is used: its key, and the first suffix that is free; one digit longer if there is none.
/// It only ever moves on, so that all the steps together are as many as there are ids.
fn moved_on(
    wire: &str,
    first_free: impl Fn(&str, usize) -> u32,
    is_used: impl Fn(&str) -> bool,
) -> Option<(String, u32)> {
    let (stem, count) = split(wire)?;
    let key = key(stem, count);
    let mut free = first_free(&key, count);
    while digits(free) == count && is_used(&format!("{stem}__{free}")) {
        free += 1;
    }
    Some((key, free))
}

/// The memo's key: what a suffix of so many digits is put on. A long id loses its end to make room for more digits.
fn key(stem: &str, count: usize) -> String {
    format!("{stem}__{count}")
}

/// The stem of an id that has a suffix in its one spelling, and how many digits that has.
fn split(wire: &str) -> Option<(&str, usize)> {
    let digits_at_end = wire.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (stem, text) = wire.split_at(wire.len() - digits_at_end);
    let stem = stem.strip_suffix("__")?;
    let suffix: u32 = text.parse().ok()?;
    let plain = suffix >= 2 && text.len() == digits(suffix) && suffix < u32::MAX;
    plain.then_some((stem, text.len()))
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
