//! Everything that an agent has started: each piece of work is joined, so that its panic is the answer of its ask and
//! nothing vanishes unseen (H03).
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use machine_core::Text;
use machine_core::ask::{HookError, Withdrawal};
use machine_core::canary::Canary;
use machine_core::ids::AskId;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Instrument;

use crate::errands::{Done, Errand, Kind};
use crate::inside::Inside;
use crate::order::Asked;
use crate::unwind;

/// The work that goes on. Dropping it drops all of it.
#[derive(Debug)]
pub(crate) struct Carrier {
    work: JoinSet<Done>,
    by_id: HashMap<Id, AskId>,
    running: HashMap<AskId, Running>,
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
        let (work, by_id, running) = (JoinSet::new(), HashMap::new(), HashMap::new());
        Self { work, by_id, running, inside, agent, _cancel: cancel }
    }

    /// Fires when the agent goes away.
    pub(crate) fn agent(&self) -> &CancellationToken {
        &self.agent
    }

    pub(crate) fn start(&mut self, ask: AskId, errand: Errand) {
        let Errand { kind, span, work } = errand;
        let work = self.work.spawn(self.inside.scope(work).instrument(span));
        self.by_id.insert(work.id(), ask);
        self.running.insert(ask, Running { work, kind });
    }

    /// An execution is told to stop; everything else is dropped where it is.
    pub(crate) fn withdraw(&mut self, withdrawal: Withdrawal) {
        let Withdrawal { ask, why, grace_ms } = withdrawal;
        match self.running.get(&ask).map(|running| &running.kind) {
            Some(Kind::Execution { .. }) if Canary::CancellationIsNotTold.is_planted() => {}
            Some(Kind::Execution { stop, .. }) => {
                stop.fire(why, grace_ms.map_or(Duration::ZERO, Duration::from_millis));
            }
            Some(Kind::Hook(_) | Kind::Attempt) => self.drop_work(ask),
            None => {}
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
        if let Some(running) = self.running.remove(&ask) {
            running.work.abort();
        }
    }

    /// The next work that is over; none if nothing runs.
    pub(crate) async fn next(&mut self) -> Option<Ended> {
        loop {
            let joined = self.work.join_next_with_id().await?;
            if let Some(ended) = self.ended(joined) {
                return Some(ended);
            }
        }
    }

    /// The next work that is over already.
    pub(crate) fn try_next(&mut self) -> Option<Ended> {
        loop {
            let joined = self.work.try_join_next_with_id()?;
            if let Some(ended) = self.ended(joined) {
                return Some(ended);
            }
        }
    }

    /// What was dropped, or replaced by new work for the same ask, has nothing to say.
    fn ended(&mut self, joined: Result<(Id, Done), JoinError>) -> Option<Ended> {
        let (id, how) = match joined {
            Ok((id, done)) => (id, How::Done(done)),
            Err(error) => (
                error.id(),
                match error.try_into_panic() {
                    Ok(panic) => How::Panicked(unwind::message(&*panic)),
                    Err(_) => How::Vanished,
                },
            ),
        };
        let ask = self.by_id.remove(&id)?;
        self.running.get(&ask).filter(|running| running.work.id() == id)?;
        let Running { kind, .. } = self.running.remove(&ask)?;
        Some(Ended { ask, kind, how })
    }

    /// Whether nothing runs.
    pub(crate) fn is_empty(&self) -> bool {
        self.work.is_empty()
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
