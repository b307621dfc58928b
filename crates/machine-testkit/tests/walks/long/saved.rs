//! A long run that is saved and restored before every input goes on identically (P18).
use machine_core::event::Event;
use machine_core::input::Input;
use machine_testkit::engine::long::LongRun;
use proptest::prelude::*;

use super::{Beside, begin, picks, play};
use crate::{cases, restored};

/// The run around the engine that was restored.
struct Saved(Option<LongRun>);

impl Beside for Saved {
    fn before(&mut self, run: &LongRun, _input: &Input) -> Result<(), String> {
        let saved = restored(run.engine());
        if saved != *run.engine() {
            return Err("P18: what was saved differs from what is restored".into());
        }
        self.0 = Some(run.clone().with_engine(saved));
        Ok(())
    }

    fn after(&mut self, run: &LongRun, input: &Input, events: &[Event]) -> Result<(), String> {
        let mut other = self.0.take().ok_or("it was saved before")?;
        let same = other.apply(input)? == events && other.engine() == run.engine();
        if same { Ok(()) } else { Err("P18: the restored engine goes on differently".into()) }
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn p18_long_runs_go_on_from_any_snapshot(picks in picks()) {
        let (settings, draw) = begin(&picks);
        play(LongRun::new(settings).expect("a sound start"), draw, 150, &mut Saved(None))?;
    }
}
