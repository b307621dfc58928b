//! Everything that an agent has started: each piece of work is joined, so that its panic is the answer of its ask and
//! nothing vanishes unseen (H03).
use std::any::Any;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use machine_core::Text;
use machine_core::ask::{HookError, Withdrawal};
use machine_core::canary::Canary;
use machine_core::ids::AskId;
use tokio::task::coop::consume_budget;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{Instrument, Span};

use crate::errands::{AtHand, Done, Errand, Kind, Work};
use crate::inside::Inside;
use crate::order::Asked;
use crate::unwind::{caught, caught_at_once, message};

/// The work that goes on. Dropping it drops all of it.
pub(crate) struct Carrier {
    work: JoinSet<(AskId, How)>,
    running: BTreeMap<AskId, Running>,
    /// Aborted, and not joined yet.
    dropped: HashSet<Id>,
    /// Work that waits for nothing: the driver does it, one between two inputs.
    at_hand: BTreeMap<AskId, (Kind, Span, AtHand)>,
    inside: Inside,
    agent: CancellationToken,
    _cancel: DropGuard,
}

#[derive(Debug)]
struct Running {
    work: AbortHandle,
    kind: Kind,
}

/// Work that is over, by itself.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) ask: AskId,
    pub(crate) kind: Kind,
    pub(crate) how: How,
}

/// How work ended.
#[derive(Debug)]
pub(crate) enum How {
    Done(Done),
    Panicked(Text),
    /// It is gone without a word.
    Vanished,
}

impl Carrier {
    pub(crate) fn new(inside: Inside) -> Self {
        let agent = CancellationToken::new();
        let cancel = agent.clone().drop_guard();
        let (work, running) = (JoinSet::new(), BTreeMap::new());
        let (dropped, at_hand) = (HashSet::new(), BTreeMap::new());
        Self { work, running, dropped, at_hand, inside, agent, _cancel: cancel }
    }

    /// Fires when the agent goes away.
    pub(crate) fn agent(&self) -> &CancellationToken {
        &self.agent
    }

    pub(crate) fn start(&mut self, ask: AskId, errand: Errand) {
        let Errand { kind, span, work } = errand;
        match work {
            Work::AtHand(work) => {
                self.at_hand.insert(ask, (kind, span, work));
            }
            Work::Task(work) => {
                let work = async move { (ask, caught(work).await.map_or_else(How::Panicked, How::Done)) };
                let work = self.work.spawn(self.inside.scope(work).instrument(span));
                self.running.insert(ask, Running { work, kind });
            }
        }
    }

    /// An execution is told to stop; everything else is dropped where it is.
    pub(crate) fn withdraw(&mut self, withdrawal: Withdrawal) {
        let Withdrawal { ask, why, grace_ms } = withdrawal;
        match self.running.get(&ask).map(|running| &running.kind) {
            Some(Kind::Execution { .. }) if Canary::CancellationIsNotTold.is_planted() => {}
            Some(Kind::Execution { stop, .. }) => {
                stop.fire(why, grace_ms.map_or(Duration::ZERO, Duration::from_millis));
            }
            Some(Kind::Hook(_) | Kind::Attempt) | None => self.drop_work(ask),
        }
    }

    /// The time of a hook is up. The error names it.
    pub(crate) fn too_late(&mut self, ask: AskId) -> Arc<HookError> {
        let asked = match self.running.get(&ask).map(|running| &running.kind) {
            Some(Kind::Hook(asked)) => asked.clone(),
            Some(Kind::Attempt | Kind::Execution { .. }) | None => Asked::default(),
        };
        self.drop_work(ask);
        asked.too_long()
    }

    /// Nobody waits for the answer to this ask any more.
    pub(crate) fn drop_work(&mut self, ask: AskId) {
        self.at_hand.remove(&ask);
        if let Some(Running { work, .. }) = self.running.remove(&ask) {
            work.abort();
            self.dropped.insert(work.id());
        }
    }

    /// The next work that is over; none if nothing runs.
    pub(crate) async fn next(&mut self) -> Option<Ended> {
        if !self.at_hand.is_empty() {
            // Others have their turn too, however much is at hand.
            consume_budget().await;
        }
        loop {
            if let Some(ended) = self.at_once() {
                return Some(ended);
            }
            let joined = self.work.join_next_with_id().await?;
            if let Some(ended) = self.ended(joined) {
                return Some(ended);
            }
        }
    }

    /// The next work that is over already.
    pub(crate) fn try_next(&mut self) -> Option<Ended> {
        loop {
            if let Some(ended) = self.at_once() {
                return Some(ended);
            }
            let joined = self.work.try_join_next_with_id()?;
            if let Some(ended) = self.ended(joined) {
                return Some(ended);
            }
        }
    }

    /// Does the first work that is at hand.
    fn at_once(&mut self) -> Option<Ended> {
        let (ask, (kind, span, work)) = self.at_hand.pop_first()?;
        let done = span.in_scope(|| self.inside.sync_scope(|| caught_at_once(work)));
        Some(Ended { ask, kind, how: done.map_or_else(How::Panicked, How::Done) })
    }

    /// What was dropped, or replaced by new work for the same ask, has nothing to say.
    fn ended(&mut self, joined: Result<(Id, (AskId, How)), JoinError>) -> Option<Ended> {
        let id = joined.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        if !self.dropped.is_empty() && self.dropped.remove(&id) {
            return None;
        }
        let (ask, how) = match joined {
            Ok((_, ended)) => ended,
            // Whoever owns the runtime dropped it, or it panicked as it was dropped.
            Err(error) => {
                let ask = *self.running.iter().find(|(_, running)| running.work.id() == id)?.0;
                let panicked = |panic: Box<dyn Any + Send>| How::Panicked(message(&*panic));
                (ask, error.try_into_panic().map_or(How::Vanished, panicked))
            }
        };
        self.running.get(&ask).filter(|running| running.work.id() == id)?;
        let Running { kind, .. } = self.running.remove(&ask)?;
        Some(Ended { ask, kind, how })
    }

    /// Whether nothing runs.
    pub(crate) fn is_empty(&self) -> bool {
        self.work.is_empty() && self.at_hand.is_empty()
    }

    /// Drops everything and waits a moment until it is gone. What blocks its thread cannot be dropped.
    pub(crate) async fn shut_down(mut self, wait: Duration) {
        self.agent.cancel();
        let _ = tokio::time::timeout(wait, self.work.shutdown()).await;
    }
}

impl Kind {
    /// Whether an execution was told to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self, Self::Execution { stop, .. } if stop.token().is_cancelled())
    }
}
