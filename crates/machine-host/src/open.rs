//! Opening: a new session, one from its journal, or one that was parked elsewhere (J05, J07).
use std::sync::Arc;

use machine_adapter::Engine;
use machine_core::ids::AskId;
use machine_core::input::{Command, Input};
use machine_journal::{Record, Reopened, Writer, reopen};

use crate::builder::Opening;
use crate::driver::begin;
use crate::error::{BoxError, OpenError};
use crate::journal::{Journal, Log};
use crate::parked::Parked;
use crate::spine::{Session, Spine};
use crate::unwind::caught;
use crate::watch::{Events, Recorder, Watch};

/// A session that was found or begun, before anything is carried out.
struct Found {
    engine: Engine,
    writer: Writer,
    /// Durable events so far.
    events: u64,
    /// What closes that which was left open.
    inputs: Vec<Input>,
    /// Questions that are carried out again.
    again: Vec<AskId>,
}

/// Opens a session; its watcher sees all of it.
pub(crate) async fn open(mut opening: Opening) -> Result<(Spine, Events), OpenError> {
    let mut journal = opening.journal.take();
    let mut found = find(&opening, journal.as_deref_mut()).await?;
    let watch = Arc::new(Watch::default());
    let events = watch.subscribe();
    let finalize = found.engine.config().ask.finalize;
    if found.engine.config() != &opening.config {
        found.inputs.push(Command::Configure(opening.config).into());
    }
    let session = Session {
        engine: found.engine,
        log: Log::new(journal, found.writer),
        recorder: Recorder::after(found.events, watch),
        parts: opening.parts,
        finalize,
    };
    let spine = begin(session, found.inputs, found.again).await;
    match spine.session.log.broken() {
        Some(why) => Err(OpenError::Journal((&**why).into())),
        None => Ok((spine, events)),
    }
}

async fn find(opening: &Opening, journal: Option<&mut (dyn Journal + 'static)>) -> Result<Found, OpenError> {
    let mut journal = journal;
    let records = match &mut journal {
        Some(journal) => usable(caught(async { journal.load().await }).await)?,
        None => Vec::new(),
    };
    match (&opening.parked, records.is_empty(), journal) {
        (Some(parked), true, None) => resumed(parked.clone()),
        (Some(parked), _, Some(_)) => {
            check(parked, &records)?;
            resumed(parked.clone())
        }
        (None, true, Some(journal)) => {
            let header = Writer::header(opening.branch, opening.config.clone());
            usable(caught(async { journal.append(&header).await }).await)?;
            usable(caught(async { journal.sync().await }).await)?;
            new(opening)
        }
        (None, _, None) | (Some(_), false, None) => new(opening),
        (None, false, Some(_)) => Ok(reopened(reopen(&records)?)),
    }
}

fn new(opening: &Opening) -> Result<Found, OpenError> {
    let engine = opening.engine()?;
    Ok(Found { engine, writer: Writer::new(), events: 0, inputs: Vec::new(), again: Vec::new() })
}

fn reopened(reopened: Reopened) -> Found {
    let Reopened { engine, recovered, writer, events } = reopened;
    Found { engine, writer, events, inputs: recovered.into_iter().collect(), again: Vec::new() }
}

/// Acts are lost, questions are asked again (J07).
fn resumed(parked: Parked) -> Result<Found, OpenError> {
    let Parked { snapshot, inputs, events } = parked;
    let engine = Engine::restore(snapshot)?;
    let (acts, questions): (Vec<_>, Vec<_>) =
        engine.outstanding().partition(|open| open.ask.question.is_act());
    let lost = acts.iter().map(|open| Input::Lost { ask: open.ask.id }).collect();
    let again = questions.iter().map(|open| open.ask.id).collect();
    Ok(Found { engine, writer: Writer::after(inputs), events, inputs: lost, again })
}

/// The parked agent must have handled exactly what the journal has.
fn check(parked: &Parked, records: &[Record]) -> Result<(), OpenError> {
    let journal = records.iter().filter(|record| matches!(record, Record::In { .. })).count() as u64;
    if journal == parked.inputs {
        return Ok(());
    }
    Err(OpenError::NotItsJournal { parked: parked.inputs, journal })
}

fn usable<T>(done: Result<Result<T, BoxError>, machine_core::Text>) -> Result<T, OpenError> {
    match done {
        Ok(done) => done.map_err(OpenError::Journal),
        Err(panic) => Err(OpenError::Journal((&*panic).into())),
    }
}
