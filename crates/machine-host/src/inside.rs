//! Knows when a tool or hook of an agent asks the agent something that it could only wait for in vain (H08).
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

tokio::task_local! {
    static INSIDE: Inside;
}

/// The agents in which something runs, outermost first. It goes along with everything that a host starts, but not
/// into what a tool spawns by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inside(Arc<[u64]>);

impl Inside {
    /// A new agent, opened where we are.
    pub(crate) fn new() -> Self {
        let outer = INSIDE.try_with(Clone::clone).ok();
        Self::below(outer.as_ref())
    }

    /// A new agent inside this one.
    pub(crate) fn below(outer: Option<&Self>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let own = NEXT.fetch_add(1, Ordering::Relaxed);
        let outer = outer.map_or(&[][..], |outer| &outer.0);
        Self(outer.iter().copied().chain([own]).collect())
    }

    /// Runs work as a part of this agent.
    pub(crate) fn scope<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        INSIDE.scope(self.clone(), work)
    }

    /// The same for what does not wait.
    pub(crate) fn sync_scope<T>(&self, work: impl FnOnce() -> T) -> T {
        INSIDE.sync_scope(self.clone(), work)
    }

    /// Whether we run as a part of this agent, or of one inside it.
    pub(crate) fn is_here(&self) -> bool {
        let own = self.0.last();
        INSIDE.try_with(|here| own.is_some_and(|own| here.0.contains(own))).unwrap_or(false)
    }
}
