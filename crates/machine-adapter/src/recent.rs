//! A map that finds its newest keys without a search.
//!
//! Calls and asks are numbered upwards in rows: the calls of a step, the asks of a session. The newest row stands in a queue,
//! by number. What older rows left, and what lingers while the queue goes on, stands in a tree.
use alloc::collections::{BTreeMap, VecDeque};
use core::fmt;
use core::hash::{Hash, Hasher};

use machine_core::ids::{AskId, CallId, StepId};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A key that is one of a row.
pub(crate) trait Numbered: Copy + Ord {
    /// What numbers are counted in.
    type Row: Copy + Eq;

    fn row(self) -> Self::Row;
    fn number(self) -> u32;
    fn nth(row: Self::Row, number: u32) -> Self;
}

impl Numbered for CallId {
    type Row = StepId;

    fn row(self) -> StepId {
        self.step()
    }

    fn number(self) -> u32 {
        self.index
    }

    fn nth(row: StepId, number: u32) -> Self {
        row.call(number)
    }
}

impl Numbered for AskId {
    type Row = u32;

    fn row(self) -> u32 {
        self.branch
    }

    fn number(self) -> u32 {
        self.serial
    }

    fn nth(branch: u32, serial: u32) -> Self {
        Self { branch, serial }
    }
}

/// Values by key, in the order of the keys.
#[derive(Clone)]
pub(crate) struct Recent<K: Numbered, V> {
    /// All before the first of the queue.
    older: BTreeMap<K, V>,
    /// The key of the queue's front, which has a value, as its back has.
    first: Option<K>,
    newest: VecDeque<Option<V>>,
    /// How many values the queue has.
    alive: usize,
}

/// A queue with more holes than this, beside three for each value, is given up. An empty one keeps room for this many.
const HOLES: usize = 32;

impl<K: Numbered, V> Recent<K, V> {
    pub(crate) const fn new() -> Self {
        Self { older: BTreeMap::new(), first: None, newest: VecDeque::new(), alive: 0 }
    }

    /// Its place in the queue, if the queue reaches that far.
    fn place(&self, key: K) -> Option<usize> {
        let first = self.first.filter(|first| first.row() == key.row())?;
        let at = key.number().checked_sub(first.number())? as usize;
        (at < self.newest.len()).then_some(at)
    }

    pub(crate) fn get(&self, key: K) -> Option<&V> {
        match self.place(key) {
            Some(at) => self.newest[at].as_ref(),
            None if self.older.is_empty() => None,
            None => self.older.get(&key),
        }
    }

    pub(crate) fn get_mut(&mut self, key: K) -> Option<&mut V> {
        match self.place(key) {
            Some(at) => self.newest[at].as_mut(),
            None if self.older.is_empty() => None,
            None => self.older.get_mut(&key),
        }
    }

    pub(crate) fn contains(&self, key: K) -> bool {
        self.get(key).is_some()
    }

    /// Gives what stood there.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let Some(first) = self.first else {
            if self.older.last_key_value().is_some_and(|(last, _)| *last >= key) {
                return self.older.insert(key, value);
            }
            self.begin(key, value);
            return None;
        };
        if let Some(at) = self.place(key) {
            let before = self.newest[at].replace(value);
            self.alive += usize::from(before.is_none());
            return before;
        }
        if key < first {
            return self.older.insert(key, value);
        }
        let holes = if key.row() == first.row() {
            (key.number() - first.number()) as usize - self.newest.len()
        } else {
            usize::MAX
        };
        if holes > HOLES {
            self.give_up();
            self.begin(key, value);
            return None;
        }
        self.newest.extend(core::iter::repeat_with(|| None).take(holes));
        self.newest.push_back(Some(value));
        self.alive += 1;
        None
    }

    fn begin(&mut self, key: K, value: V) {
        self.first = Some(key);
        self.newest.push_back(Some(value));
        self.alive = 1;
    }

    pub(crate) fn remove(&mut self, key: K) -> Option<V> {
        let Some(at) = self.place(key) else { return self.older.remove(&key) };
        let value = self.newest[at].take()?;
        self.alive -= 1;
        self.trim();
        if self.newest.len() - self.alive > HOLES + 3 * self.alive {
            self.give_up();
        }
        Some(value)
    }

    /// Both ends of the queue have a value.
    fn trim(&mut self) {
        while let Some(None) = self.newest.back() {
            self.newest.pop_back();
        }
        while let (Some(None), Some(first)) = (self.newest.front(), self.first) {
            self.newest.pop_front();
            self.first = Some(K::nth(first.row(), first.number() + 1));
        }
        if self.newest.is_empty() {
            self.give_up();
        }
    }

    /// What is left in the queue goes to what is older.
    fn give_up(&mut self) {
        let Some(first) = self.first.take() else { return };
        let keys = (first.number()..).map(|number| K::nth(first.row(), number));
        self.older.extend(keys.zip(self.newest.drain(..)).filter_map(|(key, value)| Some((key, value?))));
        self.alive = 0;
        if self.newest.capacity() > HOLES {
            self.newest = VecDeque::new();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.older.len() + self.alive
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// In the order of the keys.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        let newest = self.first.into_iter().flat_map(|first| {
            let keys = (first.number()..).map(move |number| K::nth(first.row(), number));
            keys.zip(&self.newest).filter_map(|(key, value)| Some((key, value.as_ref()?)))
        });
        self.older.iter().map(|(key, value)| (*key, value)).chain(newest)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = K> {
        self.iter().map(|(key, _)| key)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.older.values().chain(self.newest.iter().flatten())
    }
}

impl<K: Numbered, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Numbered, V> FromIterator<(K, V)> for Recent<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(all: I) -> Self {
        let mut recent = Self::new();
        for (key, value) in all {
            recent.insert(key, value);
        }
        recent
    }
}

// Where a value stands makes no difference.
impl<K: Numbered, V: PartialEq> PartialEq for Recent<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<K: Numbered, V: Eq> Eq for Recent<K, V> {}

impl<K: Numbered + Hash, V: Hash> Hash for Recent<K, V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len().hash(state);
        self.iter().for_each(|each| each.hash(state));
    }
}

impl<K: Numbered + fmt::Debug, V: fmt::Debug> fmt::Debug for Recent<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Numbered + Serialize, V: Serialize> Serialize for Recent<K, V> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.iter())
    }
}

impl<'de, K: Numbered + Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for Recent<K, V> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        BTreeMap::deserialize(from).map(Self::from_iter)
    }
}

#[cfg(test)]
mod tests;
