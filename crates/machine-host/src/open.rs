//! Opening: a new session, one from its journal, or one that was parked elsewhere (J05, J07).
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use machine_adapter::{Engine, Out};
use machine_core::ask::{HookError, HookFailure};
use machine_core::config::Config;
use machine_core::ids::AskId;
use machine_core::input::{Command, Input, Note, Refused};
use machine_journal::{Closing, Record, Reopened, Start, Writer, begin, reopen};

use crate::approvals::Rules;
use crate::builder::Opening;
use crate::driver::carry_on;
use crate::error::{BoxError, OpenError};
use crate::hooks::SessionQuestion;
use crate::journal::{Journal, Log};
use crate::order::Asked;
use crate::session::{Parked, Parts, Session};
use crate::spine::Spine;
use crate::unwind::caught;
use crate::waiters::answered;
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
    let kept = kept(journal.as_mut()).await?;
    let mut found = match (parked, kept) {
        (None, Kept::Nothing) => new(branch, config.clone())?,
        (None, Kept::Header(_, reopened) | Kept::Session(reopened)) => found(*reopened),
        (Some(parked), Kept::Nothing) => alone(parked, journal.is_some(), None)?,
        (Some(parked), Kept::Header(header, _)) => alone(parked, true, Some(*header))?,
        (Some(parked), Kept::Session(reopened)) => resumed(parked, *reopened)?,
    };
    if found.engine.config() != &config {
        found.inputs.push(Command::Configure(config.clone()).into());
    }
    let first = session_start(&parts, &found).await?;
    begin_journal(journal.as_mut(), &found.begin).await?;
    found.inputs.extend(first);
    let active = found.engine.agent().state().active().map(|active| active.turn);
    let session = Session {
        answered: active.map_or_else(BTreeMap::new, |turn| answered(&found.engine, turn)),
        finalize: found.engine.config().ask.finalize,
        engine: found.engine,
        log: Log::new(journal, found.writer),
        recorder: Recorder::after(found.events, watch),
        parts,
        rules: Rules::default(),
    };
    let spine = carry_on(session, found.inputs, found.again).await;
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

/// What a journal has.
enum Kept {
    /// Nothing yet.
    Nothing,
    /// A header: the process that began it died before it wrote what comes next.
    Header(Box<Record>, Box<Reopened>),
    /// A session.
    Session(Box<Reopened>),
}

async fn kept(journal: Option<&mut Box<dyn Journal>>) -> Result<Kept, OpenError> {
    let Some(journal) = journal else { return Ok(Kept::Nothing) };
    let records = usable(caught(async { journal.open().await }).await)?;
    if records.is_empty() {
        return Ok(Kept::Nothing);
    }
    let reopened = match reopen(&records) {
        Ok(reopened) => Box::new(reopened),
        Err(_) => {
            // Where all records are there, the error names the right one.
            let all = usable(caught(async { journal.read().await }).await)?;
            Box::new(reopen(&all)?)
        }
    };
    if !reopened.passed_over.is_empty() {
        let inputs = &reopened.passed_over;
        tracing::warn!(?inputs, "written by another version, and they fit nothing under today's rules");
    }
    Ok(match <[Record; 1]>::try_from(records) {
        Ok([header]) => Kept::Header(Box::new(header), reopened),
        Err(_) => Kept::Session(reopened),
    })
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
    let begin = vec![Writer::header(branch, config)];
    let writer = Writer::new();
    Ok(Found { engine, writer, events: 0, begin, inputs: Vec::new(), again: Vec::new() })
}

fn found(reopened: Reopened) -> Found {
    let Reopened { engine, closing, writer, .. } = reopened;
    let (inputs, again) = match closing {
        Closing::Recovered(input) => (vec![input], Vec::new()),
        Closing::AskAgain(again) => (Vec::new(), again),
    };
    let events = writer.events();
    Found { engine, writer, events, begin: Vec::new(), inputs, again }
}

/// A parked agent with its journal: both must have come to the same place. What was written under other rules may lead
/// elsewhere today; then the journal counts.
fn resumed(parked: Parked, reopened: Reopened) -> Result<Found, OpenError> {
    let (handed, journal) = (parked.inputs, reopened.writer.inputs());
    let not_its_journal = OpenError::NotItsJournal { parked: handed, journal };
    let mut handed_over = handed_over(parked)?;
    match () {
        () if journal != handed => Err(not_its_journal),
        () if reopened.engine == handed_over.engine => {
            handed_over.writer = reopened.writer;
            Ok(handed_over)
        }
        () if reopened.not_compared > 0 => Ok(found(reopened)),
        () => Err(not_its_journal),
    }
}

/// A parked agent without a journal, or one that begins its own, such as a fork; its header may be there.
fn alone(parked: Parked, has_journal: bool, header: Option<Record>) -> Result<Found, OpenError> {
    let (inputs, events) = (parked.inputs, parked.events);
    let mut found = handed_over(parked)?;
    if !has_journal {
        return Ok(found);
    }
    let Start { records, writer } = begin(&found.engine, events)?;
    if inputs > 0 || header.as_ref().is_some_and(|header| *header != records[0]) {
        return Err(OpenError::NotItsJournal { parked: inputs, journal: 0 });
    }
    found.begin = records.into_iter().skip(usize::from(header.is_some())).collect();
    found.writer = writer;
    Ok(found)
}

fn handed_over(parked: Parked) -> Result<Found, OpenError> {
    let Parked { snapshot, events, .. } = parked;
    let engine = Engine::restore(snapshot)?;
    let (inputs, again) = engine.handed_over();
    Ok(Found { engine, writer: Writer::new(), events, begin: Vec::new(), inputs, again })
}

fn usable<T>(done: Result<Result<T, BoxError>, machine_core::Text>) -> Result<T, OpenError> {
    match done {
        Ok(done) => done.map_err(OpenError::Journal),
        Err(panic) => Err(OpenError::Journal((&*panic).into())),
    }
}
