//! Opening: a new session, one from its journal, or one that was parked elsewhere (J05, J07).
use std::sync::Arc;
use std::time::Duration;

use machine_adapter::{Engine, Out, Snapshot};
use machine_core::ask::{HookError, HookFailure};
use machine_core::config::Config;
use machine_core::ids::AskId;
use machine_core::input::{Command, Input, Note, Refused};
use machine_journal::{Record, Reopened, Writer, reopen};

use crate::approvals::Rules;
use crate::builder::Opening;
use crate::driver::begin;
use crate::error::{BoxError, OpenError};
use crate::hooks::SessionQuestion;
use crate::journal::{Journal, Log, Reach};
use crate::order::Asked;
use crate::session::{Parked, Parts, Session};
use crate::spine::Spine;
use crate::unwind::caught;
use crate::watch::{Recorder, Watch};
use crate::watchers::in_time;

/// A session that was found or begun, before anything is carried out.
struct Found {
    engine: Engine,
    writer: Writer,
    /// Durable events so far.
    events: u64,
    /// What its journal has to begin with, if that is empty.
    begin: Vec<Record>,
    /// What closes that which was left open.
    inputs: Vec<Input>,
    /// Questions that are carried out again.
    again: Vec<AskId>,
}

/// Opens a session; who watches sees all of it.
pub(crate) async fn open(
    opening: Opening,
    mut journal: Option<Box<dyn Journal>>,
    parked: Option<Parked>,
    watch: Arc<Watch>,
) -> Result<Spine, OpenError> {
    let Opening { config, branch, parts } = opening;
    let config = sealed(&parts, config)?;
    let reopened = match &mut journal {
        Some(journal) => reopened(journal).await?,
        None => None,
    };
    let mut found = match (parked, reopened) {
        (Some(parked), Some(reopened)) => resumed(parked, reopened)?,
        (Some(parked), None) => alone(parked, journal.is_some())?,
        (None, Some(reopened)) => found(reopened),
        (None, None) => new(branch, config.clone())?,
    };
    if found.engine.config() != &config {
        found.inputs.push(Command::Configure(config.clone()).into());
    }
    let first = session_start(&parts, &found).await?;
    begin_journal(journal.as_mut(), &found.begin).await?;
    found.inputs.extend(first);
    let session = Session {
        finalize: found.engine.config().ask.finalize,
        engine: found.engine,
        log: Log::new(journal, found.writer),
        recorder: Recorder::after(found.events, watch),
        parts,
        rules: Rules::default(),
    };
    let spine = begin(session, found.inputs, found.again).await;
    match spine.session.log.broken() {
        Some(why) => Err(OpenError::Journal((&**why).into())),
        None => Ok(spine),
    }
}

/// The configuration as it may be written: what is written is what is handled (J11).
fn sealed(parts: &Parts, config: Arc<Config>) -> Result<Arc<Config>, OpenError> {
    let mut input = Command::Configure(config).into();
    parts.chain.seal(&mut input).map_err(OpenError::Seal)?;
    match input {
        Input::Command(Command::Configure(config)) => Ok(config),
        _ => unreachable!("J11: a seal leaves an input what it is"),
    }
}

/// The session that the journal has, if it has one.
async fn reopened(journal: &mut Box<dyn Journal>) -> Result<Option<Reopened>, OpenError> {
    let records = usable(caught(async { journal.load(Reach::Opening).await }).await)?;
    if records.is_empty() {
        return Ok(None);
    }
    let reopened = match reopen(&records) {
        Ok(reopened) => reopened,
        Err(_) => {
            // Where all records are there, the error names the right one.
            let all = usable(caught(async { journal.load(Reach::All).await }).await)?;
            reopen(&all)?
        }
    };
    if !reopened.passed_over.is_empty() {
        let records = &reopened.passed_over;
        tracing::warn!(?records, "written by another version, and they fit nothing under today's rules");
    }
    Ok(Some(reopened))
}

/// What the hooks have to say before the first turn (H01). Nothing is written yet: if one fails, nothing was begun.
async fn session_start(parts: &Parts, found: &Found) -> Result<Vec<Input>, OpenError> {
    let agent = found.engine.agent().data();
    if agent.turns > 0 {
        return Ok(Vec::new());
    }
    let within = Duration::from_millis(found.engine.config().ask.timeout_ms);
    let asked = parts.chain.session_start(SessionQuestion { branch: agent.branch });
    let who = Asked::default();
    let notes = in_time(within, parts.inside.scope(who.scope(asked))).await;
    let notes = notes.unwrap_or_else(|| Err(who.too_long())).map_err(OpenError::SessionStart)?;
    taken(found, &notes).map_err(OpenError::SessionStart)?;
    Ok(notes.into_iter().map(|note| Command::Inject(note).into()).collect())
}

/// Whether the agent will take all of these, tried on a copy of it. What an earlier opening said is there already. To an
/// agent that is faulted nothing can be said; its next opening does.
fn taken(found: &Found, notes: &[Arc<Note>]) -> Result<(), Arc<HookError>> {
    let (mut copy, mut out) = (found.engine.clone(), Out::default());
    for input in &found.inputs {
        // As when it is carried out: what is refused changes nothing.
        let _ = copy.feed(0, input, &mut out);
    }
    for note in notes {
        let is_there = found.engine.agent().data().inbox.receipt(&note.id).is_some();
        match copy.feed(0, &Command::Inject(note.clone()).into(), &mut out) {
            Ok(()) | Err(Refused::Faulted(_)) => {}
            Err(Refused::Duplicate { .. }) if is_there => {}
            Err(why) => return Err(HookError::new(HookFailure::Failed, format!("{}: {why}", note.id))),
        }
    }
    Ok(())
}

async fn begin_journal(journal: Option<&mut Box<dyn Journal>>, begin: &[Record]) -> Result<(), OpenError> {
    let Some(journal) = journal.filter(|_| !begin.is_empty()) else { return Ok(()) };
    for record in begin {
        usable(caught(async { journal.append(record).await }).await)?;
    }
    usable(caught(async { journal.sync().await }).await)
}

fn new(branch: u32, config: Arc<Config>) -> Result<Found, OpenError> {
    let engine = Engine::new(branch, config.clone())?;
    let begin = vec![Writer::header(branch, config.clone())];
    let writer = Writer::new(config);
    Ok(Found { engine, writer, events: 0, begin, inputs: Vec::new(), again: Vec::new() })
}

fn found(reopened: Reopened) -> Found {
    let Reopened { engine, recovered, again, writer, .. } = reopened;
    let events = writer.events();
    Found { engine, writer, events, begin: Vec::new(), inputs: recovered.into_iter().collect(), again }
}

/// A parked agent with its journal: both must have come to the same place.
fn resumed(parked: Parked, reopened: Reopened) -> Result<Found, OpenError> {
    let mut found = handed_over(parked.snapshot)?;
    let journal = reopened.writer.inputs();
    // What was written under other rules may have led elsewhere then.
    let elsewhere = reopened.compared && reopened.engine != found.engine;
    if journal != parked.inputs || elsewhere {
        return Err(OpenError::NotItsJournal { parked: parked.inputs, journal });
    }
    found.events = parked.events;
    found.writer = reopened.writer;
    Ok(found)
}

/// A parked agent without a journal, or one that begins its own, such as a fork.
fn alone(parked: Parked, has_journal: bool) -> Result<Found, OpenError> {
    if has_journal && parked.inputs > 0 {
        return Err(OpenError::NotItsJournal { parked: parked.inputs, journal: 0 });
    }
    let mut found = handed_over(parked.snapshot)?;
    found.events = parked.events;
    if has_journal {
        let begin = machine_journal::begin(&found.engine, 0, parked.events);
        let (records, writer) = begin.ok_or(OpenError::Maintaining)?;
        (found.begin, found.writer) = (records.into(), writer);
    }
    Ok(found)
}

/// Acts are lost, questions are asked again (J07).
fn handed_over(snapshot: Snapshot) -> Result<Found, OpenError> {
    let engine = Engine::restore(snapshot)?;
    let (acts, questions): (Vec<_>, Vec<_>) =
        engine.outstanding().partition(|open| open.ask.question.is_act());
    let inputs = acts.iter().map(|open| Input::Lost { ask: open.ask.id }).collect();
    let again = questions.iter().map(|open| open.ask.id).collect();
    let writer = Writer::new(engine.config().clone());
    Ok(Found { engine, writer, events: 0, begin: Vec::new(), inputs, again })
}

fn usable<T>(done: Result<Result<T, BoxError>, machine_core::Text>) -> Result<T, OpenError> {
    match done {
        Ok(done) => done.map_err(OpenError::Journal),
        Err(panic) => Err(OpenError::Journal((&*panic).into())),
    }
}
