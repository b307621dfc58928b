//! Many agents by name: those that rest cost their state and nothing else (H06).
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::agent::Agent;

/// Agents by key. It holds a handle to each, so that none goes away because nobody uses it just now: an agent without
/// work is a value, its driver starts with the next command and ends a moment after the last.
#[derive(Default)]
pub struct Fleet<K> {
    agents: Mutex<BTreeMap<K, Agent>>,
}

impl<K: Ord + Clone> Fleet<K> {
    /// No agents yet.
    pub fn new() -> Self {
        Self { agents: Mutex::new(BTreeMap::new()) }
    }

    /// Takes an agent in; gives back the one that had this key.
    pub fn insert(&self, key: K, agent: Agent) -> Option<Agent> {
        self.lock().insert(key, agent)
    }

    /// The agent of this key, unless it is gone: then the key is free.
    pub fn get(&self, key: &K) -> Option<Agent> {
        let mut agents = self.lock();
        let agent = agents.get(key)?.clone();
        if agent.is_gone() {
            agents.remove(key);
            return None;
        }
        Some(agent)
    }

    /// Lets an agent go.
    pub fn remove(&self, key: &K) -> Option<Agent> {
        self.lock().remove(key)
    }

    /// All keys, in order.
    pub fn keys(&self) -> Vec<K> {
        self.lock().keys().cloned().collect()
    }

    /// How many agents there are.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// How many rest.
    pub fn resting(&self) -> usize {
        self.lock().values().filter(|agent| agent.is_resting()).count()
    }

    /// Closes all agents, in order (A19).
    pub async fn close(&self) {
        let agents = std::mem::take(&mut *self.lock());
        for agent in agents.into_values() {
            // An agent that is gone needs no closing, and none refuses it.
            let _ = agent.close().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<K, Agent>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
