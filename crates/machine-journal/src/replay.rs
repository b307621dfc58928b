//! Records become an engine again (J01), and what a dead process left open is closed, once (J05).
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use machine_adapter::{Engine, Out};
use machine_core::config::ConfigError;
use machine_core::event::Event;
use machine_core::ids::AskId;
use machine_core::input::{Input, Refused};

use crate::record::{Record, SCHEMA, SEMANTICS};
use crate::writer::Writer;

/// A session that was opened again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reopened {
    /// As it was after the last record.
    pub engine: Engine,
    /// What closes that which the dead process left open: to be written and handled like any other input. None if
    /// nothing was open.
    pub recovered: Option<Input>,
    /// Questions that wait on and are asked again under the same ids: a turn that only waits for people needs no
    /// closing. Where something is closed, the engine asks again by itself.
    pub again: Vec<AskId>,
    /// Where the journal goes on.
    pub writer: Writer,
    /// How many durable events the record has so far (E01).
    pub events: u64,
}

/// Why records are no session that can be opened (J04, J06). `record` counts them from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The first record is no header.
    #[error("record 0: expected the header of a session")]
    NoHeader,
    /// There is a header that is not the first record.
    #[error("record {record}: a second header")]
    SecondHeader {
        /// Its position.
        record: usize,
    },
    /// It was written by another version.
    #[error("record 0: the session has {what} {found}; this version reads {known}")]
    Version {
        /// `schema` or `semantics`.
        what: &'static str,
        /// The session's.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// The configuration in the header is nonsense.
    #[error("record 0: {0}")]
    Config(#[from] ConfigError),
    /// A record is missing, or there twice.
    #[error("record {record}: expected number {expected}, found {found}")]
    Number {
        /// Its position.
        record: usize,
        /// What must come.
        expected: u64,
        /// What came.
        found: u64,
    },
    /// This input is never written.
    #[error("record {record}: an input of the kind {kind} is never written")]
    NeverWritten {
        /// Its position.
        record: usize,
        /// The input's name.
        kind: &'static str,
    },
    /// The engine does not take this input where it stands.
    #[error("record {record}: the engine refuses this input: {why}")]
    Refused {
        /// Its position.
        record: usize,
        /// Why.
        why: Refused,
    },
    /// The acts that left are not those that the inputs lead to.
    #[error("record {record}: acts {recorded:?} left, the inputs lead to {replayed:?}")]
    Acts {
        /// Its position.
        record: usize,
        /// What the journal says.
        recorded: Arc<[AskId]>,
        /// What the replay says.
        replayed: Arc<[AskId]>,
    },
}

/// Opens a session from all its records.
pub fn reopen(records: &[Record]) -> Result<Reopened, ReplayError> {
    replay(records, |_, _| {})
}

/// The same, and gives every event again, in order, with the wall time of its input: the durable ones are the
/// session's record (E01, E04).
pub fn replay(records: &[Record], mut sink: impl FnMut(u64, &Event)) -> Result<Reopened, ReplayError> {
    let (first, rest) = records.split_first().ok_or(ReplayError::NoHeader)?;
    let mut replay = Replay::of(begin(first)?);
    for (record, entry) in (1..).zip(rest) {
        match entry {
            Record::Header { .. } => return Err(ReplayError::SecondHeader { record }),
            Record::In { n, at, input } => replay.input(record, (*n, *at), input, &mut sink)?,
            Record::Act { n, asks } => replay.acts(record, *n, asks)?,
        }
    }
    Ok(replay.finish())
}

/// A replay under way.
struct Replay {
    engine: Engine,
    out: Out,
    writer: Writer,
    events: u64,
    /// Acts that may have left.
    left: BTreeSet<AskId>,
    /// Whether the acts of the last input are recorded.
    recorded: bool,
}

fn begin(header: &Record) -> Result<Engine, ReplayError> {
    let Record::Header { schema, semantics, branch, config } = header else {
        return Err(ReplayError::NoHeader);
    };
    for (what, found, known) in [("schema", *schema, SCHEMA), ("semantics", *semantics, SEMANTICS)] {
        if found != known {
            return Err(ReplayError::Version { what, found, known });
        }
    }
    Ok(Engine::new(*branch, config.clone())?)
}

impl Replay {
    fn of(engine: Engine) -> Self {
        let (out, left) = (Out::default(), BTreeSet::new());
        Self { engine, out, writer: Writer::new(), events: 0, left, recorded: false }
    }

    fn input(
        &mut self,
        record: usize,
        (found, at): (u64, u64),
        input: &Input,
        sink: &mut impl FnMut(u64, &Event),
    ) -> Result<(), ReplayError> {
        let expected = self.writer.inputs();
        if found != expected {
            return Err(ReplayError::Number { record, expected, found });
        }
        if matches!(input, Input::Fault { .. }) {
            return Err(ReplayError::NeverWritten { record, kind: input.kind() });
        }
        self.out.clear();
        let admitted = self.engine.admit(input).map_err(|why| ReplayError::Refused { record, why })?;
        self.engine.handle(at, admitted, &mut self.out);
        self.writer = Writer::after(found + 1);
        self.recorded = false;
        for event in &self.out.events {
            self.events += u64::from(event.is_durable());
            sink(at, event);
        }
        Ok(())
    }

    /// They belong to the input just before, once.
    fn acts(&mut self, record: usize, found: u64, recorded: &Arc<[AskId]>) -> Result<(), ReplayError> {
        if self.writer.inputs() != found + 1 {
            let expected = self.writer.inputs().saturating_sub(1);
            return Err(ReplayError::Number { record, expected, found });
        }
        let replayed: Arc<[AskId]> = self.out.acts.iter().map(|act| act.id).collect();
        if self.recorded || *recorded != replayed {
            return Err(ReplayError::Acts { record, recorded: recorded.clone(), replayed });
        }
        self.recorded = true;
        self.left.extend(recorded.iter());
        Ok(())
    }

    fn finish(self) -> Reopened {
        let Self { engine, writer, events, left, .. } = self;
        let open = engine.outstanding().filter(|open| open.ask.question.is_act());
        let unsent: Vec<AskId> = open.map(|open| open.ask.id).filter(|id| !left.contains(id)).collect();
        let recovered = Input::Recovered { unsent: unsent.into() };
        let recovered = engine.admit(&recovered).is_ok().then_some(recovered);
        let again = engine.outstanding().filter(|_| recovered.is_none()).map(|open| open.ask.id).collect();
        Reopened { engine, recovered, again, writer, events }
    }
}
