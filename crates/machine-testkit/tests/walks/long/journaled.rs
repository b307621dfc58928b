//! A long run with a journal: the records lead to the same engine and events, and wherever its process dies the session
//! opens, is closed once, and runs nothing twice (P8, P11, P12).
use machine_core::event::Event;
use machine_core::input::Input;
use machine_testkit::engine::Journaled;
use machine_testkit::engine::long::LongRun;
use proptest::prelude::*;

use super::{Beside, begin, picks, play};
use crate::cases;

/// How often all records are replayed.
const WHOLE_EVERY: usize = 16;

struct Writing {
    journal: Journaled,
    inputs: usize,
}

impl Beside for Writing {
    fn before(&mut self, run: &LongRun, input: &Input) -> Result<(), String> {
        self.journal.write(&mut run.engine().clone(), run.now(), input)
    }

    fn after(&mut self, run: &LongRun, _input: &Input, _events: &[Event]) -> Result<(), String> {
        self.inputs += 1;
        if self.inputs.is_multiple_of(WHOLE_EVERY) {
            self.journal.whole(run.engine())?;
        }
        (0..3).try_for_each(|back| self.journal.without_last(back))
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn p11_p12_long_runs_open_wherever_they_stop(picks in picks()) {
        let (settings, draw) = begin(&picks);
        let run = LongRun::new(settings).expect("a sound start");
        // The prompt is in the point with which the journal begins.
        let journal = Journaled::of(run.engine()).expect("no maintenance yet");
        play(run, draw, 200, &mut Writing { journal, inputs: 0 })?;
    }
}
