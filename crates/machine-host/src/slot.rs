//! Where an agent is: a value that rests, a driver that works, or gone. The lock is taken only when that changes, or
//! to find the driver.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use machine_adapter::Engine;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::driver::{Request, drive};
use crate::error::CommandError;
use crate::inside::Inside;
use crate::session::Session;
use crate::spine::Spine;
use crate::watch::Watch;

/// Requests that wait for a driver; who sends more waits.
const REQUESTS: usize = 64;

/// What the handles of an agent share. When the last one goes, so does the agent.
pub(crate) struct Slot {
    place: Mutex<Place>,
    pub(crate) watch: Arc<Watch>,
    pub(crate) inside: Inside,
    runtime: Handle,
}

enum Place {
    /// Nothing runs. Its driver is started on demand.
    Resting(Box<Session>),
    /// A driver works.
    Driven(mpsc::Sender<Request>),
    /// Closed, parked or dead.
    Gone,
}

impl Slot {
    /// An agent that was just opened: driven if something runs already.
    pub(crate) fn of(mut spine: Spine) -> Arc<Self> {
        let watch = spine.session.recorder.watch().clone();
        let inside = spine.session.parts.inside.clone();
        let slot = |place| Self { place: Mutex::new(place), watch, inside, runtime: Handle::current() };
        if spine.is_at_rest() {
            return Arc::new(slot(Place::Resting(Box::new(spine.session))));
        }
        let slot = Arc::new(slot(Place::Gone));
        let mut place = slot.lock();
        *place = Place::Driven(slot.start(spine));
        drop(place);
        slot
    }

    /// Sends a request to the driver, and starts one if there is none.
    pub(crate) async fn send(self: &Arc<Self>, mut request: Request) -> Result<(), CommandError> {
        loop {
            match self.driver()?.send(request).await {
                Ok(()) => return Ok(()),
                Err(mpsc::error::SendError(back)) => request = back,
            }
            // It is just going to rest, or going away: the place will say which.
            tokio::task::yield_now().await;
        }
    }

    /// Reads the engine where it rests; gives `read` back where a driver has it.
    pub(crate) fn read<R, T>(&self, read: R) -> Result<T, Result<R, CommandError>>
    where
        R: FnOnce(&Engine) -> T,
    {
        match &*self.lock() {
            Place::Resting(session) => Ok(read(&session.engine)),
            Place::Driven(_) => Err(Ok(read)),
            Place::Gone => Err(Err(CommandError::Gone)),
        }
    }

    pub(crate) fn is_resting(&self) -> bool {
        matches!(&*self.lock(), Place::Resting(_))
    }

    pub(crate) fn is_gone(&self) -> bool {
        matches!(&*self.lock(), Place::Gone)
    }

    fn driver(self: &Arc<Self>) -> Result<mpsc::Sender<Request>, CommandError> {
        let mut place = self.lock();
        match std::mem::replace(&mut *place, Place::Gone) {
            Place::Gone => Err(CommandError::Gone),
            Place::Driven(to) => {
                *place = Place::Driven(to.clone());
                Ok(to)
            }
            Place::Resting(session) => {
                let to = self.start(Spine::new(*session));
                *place = Place::Driven(to.clone());
                Ok(to)
            }
        }
    }

    fn start(self: &Arc<Self>, spine: Spine) -> mpsc::Sender<Request> {
        let (to, requests) = mpsc::channel(REQUESTS);
        self.runtime.spawn(drive(spine, Arc::downgrade(self), requests));
        to
    }

    fn lock(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A driver's hold on its slot: however it ends, the slot knows.
pub(crate) struct Leaving {
    slot: Weak<Slot>,
    watch: Arc<Watch>,
    rested: bool,
}

impl Leaving {
    pub(crate) fn new(slot: Weak<Slot>, watch: Arc<Watch>) -> Self {
        Self { slot, watch, rested: false }
    }

    /// The agent is a value again. If nobody holds it any more, it is gone.
    pub(crate) fn rest(mut self, session: Session) {
        if let Some(slot) = self.slot.upgrade() {
            self.watch.tidy();
            *slot.lock() = Place::Resting(Box::new(session));
            self.rested = true;
        }
    }

    /// The driver goes on, with a new channel; none if nobody holds the agent any more.
    pub(crate) fn stay(&self) -> Option<mpsc::Receiver<Request>> {
        let (to, requests) = mpsc::channel(REQUESTS);
        *self.slot.upgrade()?.lock() = Place::Driven(to);
        Some(requests)
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if self.rested {
            return;
        }
        if let Some(slot) = self.slot.upgrade() {
            *slot.lock() = Place::Gone;
        }
        self.watch.end();
    }
}
