//! A walk with a journal: after every input the records lead to the same engine and the same events, and may be cut.
use std::hash::{Hash, Hasher};

use machine_adapter::Out;
use machine_core::event::Event;
use machine_journal::{Closing, Record, Reopened, Start, Writer, begin, reopen, replay};
use machine_testkit::engine::EngineWorld;
use machine_testkit::explore::World;

/// A world whose inputs are journaled, and whose journal is looked at after every input (J01, J03, J05, J07).
#[derive(Clone)]
pub struct Journaled {
    world: EngineWorld,
    records: Vec<Record>,
    writer: Writer,
    /// Durable events since the beginning.
    events: Vec<Event>,
}

impl Journaled {
    pub fn new(world: EngineWorld) -> Self {
        let Start { records, writer } = begin(world.engine(), 0).expect("no maintenance yet");
        Self { world, records: records.into(), writer, events: Vec::new() }
    }

    /// What a process that dies now leaves.
    fn left(&self) -> Vec<Record> {
        let mut records = self.records.clone();
        self.writer.clone().flush(&mut records);
        records
    }

    /// The records as they are lead to the engine, from the last point and from the first record on, and to its events.
    fn check_whole(&self) -> Result<(), String> {
        let records = self.left();
        let mut seen = Vec::new();
        let mut keep = |_: u64, event: &Event| seen.extend(event.is_durable().then(|| event.clone()));
        let full = replay(&records, &mut keep).map_err(|error| format!("J01: {error}"))?;
        let short = reopen(&records).map_err(|error| format!("J07: {error}"))?;
        match () {
            () if full.engine != *self.world.engine() => Err("J01: the replay differs from the run".into()),
            () if short != full => Err("J07: points and tail differ from the full replay".into()),
            () if seen != self.events => Err("P11: the replay reports other events".into()),
            () => Ok(()),
        }
    }

    /// Cut anywhere, it opens, is closed once, and opens again as it is.
    fn check_cut(&self, at: usize) -> Result<(), String> {
        let mut records = self.left();
        records.truncate(at.max(2));
        let again = |records: &[Record]| reopen(records).map_err(|error| format!("J03: {error}"));
        let Reopened { mut engine, closing, mut writer, .. } = again(&records)?;
        if let Closing::Recovered(recovered) = closing {
            let mut out = Out::default();
            writer.input(&engine, 0, &recovered, &mut records);
            engine.feed(0, &recovered, &mut out).map_err(|error| format!("J05: {error}"))?;
            writer.handled(&engine, &out, &mut records);
        }
        engine.history().audit().map_err(|error| format!("P12: {error}"))?;
        let twice = again(&records)?;
        match twice.closing {
            Closing::Recovered(again) => Err(format!("J05: opening again closes something again: {again:?}")),
            Closing::AskAgain(_) if twice.engine != engine => {
                Err("J05: opening again leads elsewhere".into())
            }
            Closing::AskAgain(_) => Ok(()),
        }
    }
}

impl World for Journaled {
    type Move = <EngineWorld as World>::Move;

    fn owed(&self) -> Vec<Self::Move> {
        self.world.owed()
    }

    fn volunteered(&self) -> Vec<Self::Move> {
        self.world.volunteered()
    }

    fn apply(&mut self, happens: &Self::Move) -> Result<(), String> {
        let mut engine = self.world.engine().clone();
        for input in &happens.inputs {
            let mut out = Out::default();
            self.writer.input(&engine, 0, input, &mut self.records);
            engine.feed(0, input, &mut out).map_err(|error| error.to_string())?;
            self.writer.handled(&engine, &out, &mut self.records);
            self.events.extend(out.events.into_iter().filter(Event::is_durable));
        }
        self.world.apply(happens)?;
        self.check_whole()?;
        (1..=5).try_for_each(|back| self.check_cut(self.records.len().saturating_sub(back)))
    }

    fn at_rest(&self) -> Result<(), String> {
        self.world.at_rest()
    }
}

/// Worlds are told apart by what may still happen in them.
impl Hash for Journaled {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.world.hash(state);
    }
}
