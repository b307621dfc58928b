//! Processes that end, and others that open their sessions again.
use std::sync::{Arc, Mutex};

use machine_core::config::Config;
use machine_host::Parked;
use machine_journal::{Closing, Record, reopen};

use crate::scenario::hosted::disk::Disk;
use crate::scenario::hosted::house::{Held, House, Seat};
use crate::scenario::hosted::lock;
use crate::scenario::reopened::{inputs, memory};
use crate::scenario::simulated::GONE;
use crate::scenario::verb::Opening;

impl House {
    /// An opening of a session ends, or the next one begins.
    pub(crate) async fn open_again(
        self: &Arc<Self>,
        seat: &Arc<Seat>,
        how: Opening,
        word: &str,
    ) -> Result<(), String> {
        if seat.agent().is_none_or(|agent| agent.is_gone()) && how != Opening::Reopen {
            lock(&seat.refused).push(format!("{word}: {GONE}"));
            return Ok(());
        }
        if how == Opening::CrashUnsaved {
            seat.fate().die_unsaved();
            return Ok(());
        }
        let parked = self.end(seat, how).await?;
        if how == Opening::Die {
            return Ok(());
        }
        let disk = lock(&seat.disk).clone();
        let mut builder = self.builder(seat, config(&seat.records())?, disk);
        if let Some(parked) = parked {
            builder = builder.parked(parked);
        }
        self.hold(seat, builder).await.map_err(|error| error.to_string())
    }

    /// A process ends, and every agent in it.
    async fn end(&self, seat: &Arc<Seat>, how: Opening) -> Result<Option<Parked>, String> {
        let there: Vec<_> = self.seats().into_iter().filter(|other| other.home == seat.rank).collect();
        // At one moment: what a dying process still does is not seen, and not on disk.
        let held: Vec<_> = there.iter().filter_map(|seat| seat.ends(how)).collect();
        let mut parked = None;
        for Held { agent, mut deeds, heard } in held {
            deeds.shutdown().await;
            if how == Opening::Park && parked.is_none() {
                parked = Some(agent.park().await.map_err(|error| error.to_string())?);
            }
            drop(agent);
            // It is over when its driver is.
            heard.await.map_err(|error| error.to_string())?;
        }
        Ok(parked)
    }
}

impl Seat {
    fn ends(&self, how: Opening) -> Option<Held> {
        let held = lock(&self.held).take()?;
        self.clear_stage();
        self.fate().bury();
        if how != Opening::Park {
            let mut left = lock(&lock(&self.disk)).clone();
            if how != Opening::Reopen {
                left.crash();
            }
            *lock(&self.disk) = Arc::new(Mutex::new(left));
        }
        Some(held)
    }
}

/// What the session was configured with last.
fn config(records: &[Record]) -> Result<Config, String> {
    let again = reopen(records).map_err(|error| error.to_string())?;
    Ok(again.engine.config().as_ref().clone())
}

impl House {
    /// After the run: the journal is opened by nobody who would do anything. That gives the agent that ran, or closes
    /// it with one input; and the second time nothing is added (J05). None: so it is.
    pub(crate) async fn flaw(self: &Arc<Self>, seat: &Arc<Seat>) -> Option<String> {
        let ran = match seat.agent().filter(|_| seat.home == seat.rank) {
            Some(agent) => agent.park().await.ok(),
            None => None,
        };
        self.opens_twice(seat, ran).await.err()
    }

    async fn opens_twice(self: &Arc<Self>, seat: &Arc<Seat>, ran: Option<Parked>) -> Result<(), String> {
        let records = seat.records();
        seat.clear_stage();
        let closing = reopen(&records).map_err(|error| error.to_string())?.closing;
        let is_closed = matches!(closing, Closing::AskAgain(_));
        let (once, left) = self.opened(seat, &records).await.map_err(|error| error.to_string())?;
        let new = inputs(&left) - inputs(&records);
        if new != usize::from(!is_closed) {
            return Err(format!("{new} inputs were added"));
        }
        if is_closed && ran.is_some_and(|ran| ran != once) {
            return Err("nothing was open, and it is not the agent that ran".into());
        }
        let (twice, last) = self.opened(seat, &left).await.map_err(|error| error.to_string())?;
        if (twice, last) != (once, left) {
            return Err("opening it a second time changes something".into());
        }
        Ok(())
    }

    /// Opens and parks it; gives what is on disk then.
    async fn opened(
        self: &Arc<Self>,
        seat: &Arc<Seat>,
        records: &[Record],
    ) -> Result<(Parked, Vec<Record>), Box<dyn std::error::Error>> {
        let disk: Disk = Arc::new(Mutex::new(memory(records)));
        let agent = self.builder(seat, config(records)?, disk.clone()).open().await?;
        // What is played from now on is of an earlier opening.
        seat.clear_stage();
        let parked = agent.park().await?;
        let left = lock(&disk).records().to_vec();
        Ok((parked, left))
    }
}
