//! Which hook comes first: as their names say, and else as they were added (H01).
use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

use machine_core::Text;
use machine_core::ask::{HookError, HookFailure};

use crate::error::HooksError;
use crate::hooks::{Hooks, Wants};

/// A hook in its place.
#[derive(Clone)]
pub(crate) struct Placed {
    pub(crate) name: Text,
    pub(crate) wants: Wants,
    pub(crate) hook: Arc<dyn Hooks>,
    /// Where it was added.
    at: &'static Location<'static>,
    before: Vec<Text>,
    after: Vec<Text>,
}

tokio::task_local! {
    static ASKED: Asked;
}

/// Which hook of a chain is asked just now: it is named if the time is up (H09).
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked(Arc<Mutex<Text>>);

impl Asked {
    /// Runs a chain, and knows which hook it asks.
    pub(crate) fn scope<F: Future>(&self, chain: F) -> impl Future<Output = F::Output> + use<F> {
        ASKED.scope(self.clone(), chain)
    }

    /// A hook is asked.
    pub(crate) fn set(name: &Text) {
        let set = |asked: &Self| *asked.0.lock().unwrap_or_else(PoisonError::into_inner) = name.clone();
        // Outside of a chain nobody wants to know.
        let _ = ASKED.try_with(set);
    }

    /// Nobody answered in time.
    pub(crate) fn too_long(&self) -> Arc<HookError> {
        let name = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name = if name.is_empty() { "a hook" } else { &**name };
        HookError::new(HookFailure::TimedOut, format!("{name}: it took too long"))
    }
}

/// Hooks as the host adds them.
#[derive(Default)]
pub(crate) struct Added {
    hooks: Vec<Placed>,
    /// The first thing that was said of a hook before there was one.
    no_hook: Option<HooksError>,
}

impl Added {
    pub(crate) fn add(&mut self, hook: Arc<dyn Hooks>, at: &'static Location<'static>) {
        let (name, wants) = (hook.name().into(), hook.wants());
        self.hooks.push(Placed { name, wants, hook, at, before: Vec::new(), after: Vec::new() });
    }

    /// A closure cannot say its name: the second of a kind is numbered.
    pub(crate) fn add_closure(&mut self, hook: Arc<dyn Hooks>, at: &'static Location<'static>) {
        let same = |placed: &&Placed| placed.hook.name() == hook.name();
        let n = self.hooks.iter().filter(same).count() + 1;
        self.add(hook, at);
        if n > 1 {
            self.last("named", at, |placed| placed.name = format!("{} {n}", placed.name).into());
        }
    }

    pub(crate) fn named(&mut self, name: Text, at: &'static Location<'static>) {
        self.last("named", at, |placed| placed.name = name);
    }

    pub(crate) fn before(&mut self, other: Text, at: &'static Location<'static>) {
        self.last("runs_before", at, |placed| placed.before.push(other));
    }

    pub(crate) fn after(&mut self, other: Text, at: &'static Location<'static>) {
        self.last("runs_after", at, |placed| placed.after.push(other));
    }

    fn last(&mut self, method: &'static str, at: &'static Location<'static>, say: impl FnOnce(&mut Placed)) {
        match self.hooks.last_mut() {
            Some(placed) => say(placed),
            None => self.no_hook = self.no_hook.take().or(Some(HooksError::NoHook { method, at })),
        }
    }

    /// In the order in which they run: of those that may come next, the one that was added first.
    pub(crate) fn in_order(self) -> Result<Vec<Placed>, HooksError> {
        let Self { hooks, no_hook } = self;
        if let Some(error) = no_hook {
            return Err(error);
        }
        let mut after = predecessors(&hooks)?;
        let mut waiting: BTreeMap<usize, Placed> = hooks.into_iter().enumerate().collect();
        let mut ordered = Vec::with_capacity(waiting.len());
        while !waiting.is_empty() {
            let free = |n: &&usize| after[**n].iter().all(|first| !waiting.contains_key(first));
            let Some(next) = waiting.keys().find(free).copied() else {
                return Err(cycle(&waiting, &mut after));
            };
            ordered.extend(waiting.remove(&next));
        }
        Ok(ordered)
    }
}

/// For each hook, those that run before it.
fn predecessors(hooks: &[Placed]) -> Result<Vec<Vec<usize>>, HooksError> {
    let mut by_name: BTreeMap<&str, usize> = BTreeMap::new();
    for (n, placed) in hooks.iter().enumerate() {
        if let Some(first) = by_name.insert(&placed.name, n) {
            let (name, first, second) = (placed.name.clone(), hooks[first].at, placed.at);
            return Err(HooksError::SameName { name, first, second });
        }
    }
    let find = |placed: &Placed, other: &Text| {
        by_name.get(&**other).copied().ok_or_else(|| HooksError::UnknownName {
            name: placed.name.clone(),
            at: placed.at,
            other: other.clone(),
            known: list(hooks.iter().map(|placed| &placed.name)),
        })
    };
    let mut after = vec![Vec::new(); hooks.len()];
    for (n, placed) in hooks.iter().enumerate() {
        for other in &placed.before {
            after[find(placed, other)?].push(n);
        }
        for other in &placed.after {
            after[n].push(find(placed, other)?);
        }
    }
    Ok(after)
}

/// Walks back among hooks that all wait for another, until it is where it was.
fn cycle(waiting: &BTreeMap<usize, Placed>, after: &mut [Vec<usize>]) -> HooksError {
    let mut way: Vec<usize> = waiting.keys().take(1).copied().collect();
    while let Some(last) = way.last() {
        let Some(next) = after[*last].iter().copied().find(|first| waiting.contains_key(first)) else {
            break;
        };
        if let Some(from) = way.iter().position(|n| *n == next) {
            way.drain(..from);
            break;
        }
        way.push(next);
    }
    // They were found from the last to the first.
    HooksError::Cycle { names: list(way.iter().rev().map(|n| &waiting[n].name)) }
}

fn list<'a>(names: impl Iterator<Item = &'a Text>) -> Text {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ").into()
}
