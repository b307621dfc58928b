//! The one writer of a store: takes all that waits, makes it durable with one sync of the log, writes it to sessions'
//! files, and answers. While it syncs, more comes to wait: that is the next group (J02).
use std::fs::File;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, OnceLock};

use tokio::sync::oneshot;

use crate::store::error::StoreError;
use crate::store::files::Files;
use crate::store::log::{Failed, Log};
use crate::store::name::Name;
use crate::store::settle::Settler;

/// Bytes of a group; what is more waits for the next.
const GROUP: usize = 8 << 20;

pub(crate) type Done = oneshot::Sender<Result<(), StoreError>>;

/// What a journal asks for. It has one at a time.
pub(crate) enum Request {
    Write(Write),
    Settle(Barrier),
}

/// Bytes for a session's file.
pub(crate) struct Write {
    pub(crate) name: Name,
    pub(crate) at: u64,
    /// Whether a torn end is to go first.
    pub(crate) cut: bool,
    pub(crate) bytes: Vec<u8>,
    pub(crate) done: Done,
}

/// Answered when all that came before is in the session's file.
pub(crate) struct Barrier {
    pub(crate) name: Name,
    pub(crate) done: Done,
}

/// Why nothing is written any more; the first cause stays (J10).
#[derive(Clone, Default)]
pub(crate) struct Broken(Arc<OnceLock<String>>);

impl Broken {
    pub(crate) fn set(&self, cause: &str) {
        if self.0.set(cause.to_owned()).is_ok() {
            tracing::error!(cause, "the store writes nothing more");
        }
    }

    pub(crate) fn check(&self) -> Result<(), StoreError> {
        self.0.get().map_or(Ok(()), |cause| Err(StoreError::Broken(cause.clone())))
    }
}

/// What the writer's thread has.
pub(crate) struct Writer {
    pub(crate) requests: Receiver<Request>,
    pub(crate) log: Log,
    pub(crate) files: Files,
    pub(crate) settler: Settler,
    pub(crate) broken: Broken,
    /// How large a file of the log grows.
    pub(crate) most: u64,
    /// The store is ours until the writer is done.
    pub(crate) lock: File,
}

impl Writer {
    /// Works until nobody can ask any more. Then all is brought where it belongs, and the log is gone.
    pub(crate) fn run(mut self) -> Result<(), StoreError> {
        while let Ok(first) = self.requests.recv() {
            let (writes, barriers) = self.gather(first);
            self.commit(writes);
            for Barrier { name, done } in barriers {
                self.files.forget(&name);
                answer(done, self.broken.check());
            }
        }
        self.finish()
    }

    /// Everything that waits.
    fn gather(&self, first: Request) -> (Vec<Write>, Vec<Barrier>) {
        let (mut writes, mut barriers, mut bytes) = (Vec::new(), Vec::new(), 0);
        let mut next = Some(first);
        while let Some(request) = next {
            match request {
                Request::Write(write) => {
                    bytes += write.bytes.len();
                    writes.push(write);
                }
                Request::Settle(barrier) => barriers.push(barrier),
            }
            next = if bytes < GROUP { self.requests.try_recv().ok() } else { None };
        }
        (writes, barriers)
    }

    /// Durable, then in its place, then answered.
    fn commit(&mut self, writes: Vec<Write>) {
        if let Err(StoreError::Broken(cause)) = self.broken.check() {
            return refuse(writes, || StoreError::Broken(cause.clone()));
        }
        let writes = self.without_torn_ends(writes);
        if writes.is_empty() {
            return;
        }
        match self.log.append(&writes) {
            Ok(()) => {}
            Err(Failed::Undone(why)) => {
                let why = why.to_string();
                return refuse(writes, || StoreError::NotWritten(why.clone()));
            }
            Err(Failed::Broken(why)) => return self.fail(writes, &why.to_string()),
        }
        for Write { name, at, bytes, .. } in &writes {
            if let Err(why) = self.files.write(name, *at, bytes) {
                // It is in the log: opening the store again writes it.
                return self.fail(writes, &why.to_string());
            }
        }
        for write in writes {
            answer(write.done, Ok(()));
        }
        if let Some(full) = self.log.take(self.most)
            && let Err(cause) = self.settler.take(full)
        {
            self.broken.set(&cause);
        }
    }

    /// What a session's file had torn goes before the log says anything about that file.
    fn without_torn_ends(&mut self, writes: Vec<Write>) -> Vec<Write> {
        let mut left = Vec::with_capacity(writes.len());
        for write in writes {
            let cut = if write.cut { self.files.cut(&write.name, write.at) } else { Ok(()) };
            match cut {
                Ok(()) => left.push(write),
                Err(why) => answer(write.done, Err(StoreError::NotWritten(why.to_string()))),
            }
        }
        left
    }

    fn fail(&self, writes: Vec<Write>, cause: &str) {
        self.broken.set(cause);
        refuse(writes, || StoreError::Broken(cause.to_owned()));
    }

    fn finish(self) -> Result<(), StoreError> {
        let Self { mut log, settler, broken, lock, .. } = self;
        if broken.check().is_ok()
            && let Some(last) = log.take(0)
            && let Err(cause) = settler.take(last)
        {
            broken.set(&cause);
        }
        if let Err(cause) = settler.finish() {
            broken.set(&cause);
        }
        drop(lock);
        broken.check()
    }
}

fn refuse(writes: Vec<Write>, why: impl Fn() -> StoreError) {
    for write in writes {
        answer(write.done, Err(why()));
    }
}

fn answer(done: Done, result: Result<(), StoreError>) {
    // Who asked may have stopped waiting.
    let _ = done.send(result);
}
