//! The journal of a run, beside it: the records lead to the same engine and events, and wherever the process dies the
//! session opens, is closed once, and runs nothing twice (P8, P11, P12).
use machine_adapter::{Engine, Out};
use machine_core::event::Event;
use machine_core::input::Input;
use machine_journal::{Closing, Maintaining, Record, Reopened, Start, Writer, begin, reopen, replay};

/// What is written of a run, and what it reported.
#[derive(Clone, Debug)]
pub struct Journaled {
    records: Vec<Record>,
    writer: Writer,
    /// Durable events since the beginning.
    events: Vec<Event>,
}

impl Journaled {
    /// A journal that begins with an engine as it is.
    ///
    /// # Errors
    /// Maintenance is running.
    pub fn of(engine: &Engine) -> Result<Self, Maintaining> {
        let Start { records, writer } = begin(engine, 0)?;
        Ok(Self { records: records.into(), writer, events: Vec::new() })
    }

    /// The records, deltas that wait to be joined included.
    pub fn left(&self) -> Vec<Record> {
        let mut records = self.records.clone();
        self.writer.clone().flush(&mut records);
        records
    }

    /// An input is written down and handled, with what follows from it.
    ///
    /// # Errors
    /// It is refused.
    pub fn write(&mut self, engine: &mut Engine, at: u64, input: &Input) -> Result<(), String> {
        let mut out = Out::default();
        let written = Writer::writes(engine, input);
        if written {
            self.writer.input(engine, at, input, &mut self.records);
        }
        engine.feed(at, input, &mut out).map_err(|error| error.to_string())?;
        if written {
            self.writer.handled(engine, &out, &mut self.records);
        }
        self.events.extend(out.events.into_iter().filter(Event::is_durable));
        Ok(())
    }

    /// The records as they are lead to this engine, from the last point and from the first record on, and to its events.
    ///
    /// # Errors
    /// The rule that was broken.
    pub fn whole(&self, engine: &Engine) -> Result<(), String> {
        let records = self.left();
        let mut seen = Vec::new();
        let mut keep = |_: u64, event: &Event| seen.extend(event.is_durable().then(|| event.clone()));
        let full = replay(&records, &mut keep).map_err(|error| format!("J01: {error}"))?;
        let short = reopen(&records).map_err(|error| format!("J07: {error}"))?;
        match () {
            () if full.engine != *engine => Err("J01: the replay differs from the run".into()),
            () if short != full => Err("J07: points and tail differ from the full replay".into()),
            () if seen != self.events => Err("P11: the replay reports other events".into()),
            () => Ok(()),
        }
    }

    /// Without its last records it opens, is closed once, and opens again as it is. What it begins with stays.
    ///
    /// # Errors
    /// The rule that was broken.
    pub fn without_last(&self, records: usize) -> Result<(), String> {
        let mut left = self.records.clone();
        left.truncate(left.len().saturating_sub(records).max(2));
        let opened = reopen(&left).map_err(|error| format!("J03: {error}"))?;
        closed(left, opened)
    }
}

/// Closed once, nothing runs again, and opened again as it is (J05).
///
/// # Errors
/// The rule that was broken.
pub(crate) fn closed(mut records: Vec<Record>, opened: Reopened) -> Result<(), String> {
    let Reopened { mut engine, closing, mut writer, not_compared, .. } = opened;
    if let Closing::Recovered(recovered) = closing {
        let mut out = Out::default();
        writer.input(&engine, 0, &recovered, &mut records);
        engine.feed(0, &recovered, &mut out).map_err(|error| format!("J05: {error}"))?;
        if let Some(act) = out.acts.first() {
            return Err(format!("P8: opening asks for {act:?}"));
        }
        writer.handled(&engine, &out, &mut records);
    }
    if let Some(open) = engine.outstanding().find(|open| open.ask.question.is_act()) {
        return Err(format!("J05: after opening there is still {:?}", open.ask));
    }
    engine.history().audit().map_err(|error| format!("P12: {error}"))?;
    let twice = reopen(&records).map_err(|error| format!("J05: opening again: {error}"))?;
    match twice.closing {
        Closing::Recovered(again) => Err(format!("J05: opening again closes something again: {again:?}")),
        Closing::AskAgain(_) if twice.engine != engine && not_compared == 0 => {
            Err("J05: opening again leads elsewhere".into())
        }
        Closing::AskAgain(_) => Ok(()),
    }
}
