//! Opening: a new session, one from its journal, or one that was parked elsewhere (J05, J07).
use std::sync::Arc;
use std::time::Duration;

use machine_adapter::{Engine, Out};
use machine_core::ask::{HookError, HookFailure};
use machine_core::ids::AskId;
use machine_core::input::{Command, Input, Note, Refused};
use machine_journal::{Record, Reopened, Writer, reopen};

use crate::approvals::Rules;
use crate::builder::Opening;
use crate::driver::begin;
use crate::error::{BoxError, OpenError};
use crate::hooks::SessionQuestion;
use crate::journal::{Journal, Log};
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
    let records = match &mut journal {
        Some(journal) => usable(caught(async { journal.load().await }).await)?,
        None => Vec::new(),
    };
    let is_new = parked.is_none() && records.is_empty();
    let mut found = match parked {
        Some(parked) => {
            check(&parked, &records, journal.is_some())?;
            resumed(parked)?
        }
        None if records.is_empty() => new(Engine::new(branch, config.clone())?),
        None => reopened(reopen(&records)?),
    };
    if found.engine.config() != &config {
        found.inputs.push(Command::Configure(config.clone()).into());
    }
    let first = session_start(&parts, &found).await?;
    if is_new {
        begin_journal(journal.as_mut(), &Writer::header(branch, config)).await?;
    }
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

async fn begin_journal(journal: Option<&mut Box<dyn Journal>>, header: &Record) -> Result<(), OpenError> {
    let Some(journal) = journal else { return Ok(()) };
    usable(caught(async { journal.append(header).await }).await)?;
    usable(caught(async { journal.sync().await }).await)
}

fn new(engine: Engine) -> Found {
    Found { engine, writer: Writer::new(), events: 0, inputs: Vec::new(), again: Vec::new() }
}

fn reopened(reopened: Reopened) -> Found {
    let Reopened { engine, recovered, again, writer, events } = reopened;
    Found { engine, writer, events, inputs: recovered.into_iter().collect(), again }
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

/// The parked agent must have handled exactly what its journal has, if it has one.
fn check(parked: &Parked, records: &[Record], has_journal: bool) -> Result<(), OpenError> {
    let journal = records.iter().filter(|record| matches!(record, Record::In { .. })).count() as u64;
    if !has_journal || journal == parked.inputs {
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
