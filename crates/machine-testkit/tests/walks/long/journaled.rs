//! A long run with a journal: the records lead to the same engine and events, and wherever its process dies the session
//! opens, is closed once, and runs nothing twice (P8, P11, P12).
use crate::cases;
use machine_adapter::Out;
use machine_core::event::Event;
use machine_core::input::Input;
use machine_journal::{Closing, Record, Reopened, Start, Writer, begin as begin_journal, reopen, replay};
use machine_testkit::engine::long::LongRun;
use proptest::prelude::*;

use super::{Beside, begin, picks, play};

/// How often all records are replayed.
const WHOLE_EVERY: usize = 16;

struct Journaled {
    records: Vec<Record>,
    writer: Writer,
    /// Durable events since the beginning.
    events: Vec<Event>,
    inputs: usize,
}

impl Journaled {
    fn of(run: &LongRun) -> Self {
        let Start { records, writer } = begin_journal(run.engine(), 0).expect("no maintenance yet");
        Self { records: records.into(), writer, events: Vec::new(), inputs: 0 }
    }

    /// The records lead to the engine, from the last point and from the first record on, and to its events.
    fn whole(&self, run: &LongRun) -> Result<(), String> {
        let mut records = self.records.clone();
        self.writer.clone().flush(&mut records);
        let mut seen = Vec::new();
        let mut keep = |_: u64, event: &Event| seen.extend(event.is_durable().then(|| event.clone()));
        let full = replay(&records, &mut keep).map_err(|error| format!("P11: {error}"))?;
        let short = reopen(&records).map_err(|error| format!("J07: {error}"))?;
        match () {
            () if full.engine != *run.engine() => Err("J01: the replay differs from the run".into()),
            () if short != full => Err("J07: points and tail differ from the full replay".into()),
            () if seen != self.events => Err("P11: the replay reports other events".into()),
            () => Ok(()),
        }
    }

    /// Cut here, it opens, is closed once, runs nothing again, and opens again as it is.
    fn cut(&self, at: usize) -> Result<(), String> {
        let mut records = self.records.clone();
        records.truncate(at.max(2));
        let again = |records: &[Record]| reopen(records).map_err(|error| format!("J03: {error}"));
        let Reopened { mut engine, closing, mut writer, .. } = again(&records)?;
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

impl Beside for Journaled {
    fn before(&mut self, run: &LongRun, input: &Input) -> Result<(), String> {
        if !Writer::writes(run.engine(), input) {
            return Ok(());
        }
        let (mut engine, mut out) = (run.engine().clone(), Out::default());
        self.writer.input(&engine, run.now(), input, &mut self.records);
        engine.feed(run.now(), input, &mut out).map_err(|error| error.to_string())?;
        self.writer.handled(&engine, &out, &mut self.records);
        Ok(())
    }

    fn after(&mut self, run: &LongRun, _input: &Input, events: &[Event]) -> Result<(), String> {
        self.events.extend(events.iter().filter(|event| event.is_durable()).cloned());
        self.inputs += 1;
        if self.inputs.is_multiple_of(WHOLE_EVERY) {
            self.whole(run)?;
        }
        (0..3).try_for_each(|back| self.cut(self.records.len().saturating_sub(back)))
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn p11_p12_long_runs_open_wherever_they_stop(picks in picks()) {
        let (settings, draw) = begin(&picks);
        let run = LongRun::new(settings).expect("a sound start");
        // The prompt is in the point with which the journal begins.
        let mut journal = Journaled::of(&run);
        play(run, draw, 200, &mut journal)?;
    }
}
