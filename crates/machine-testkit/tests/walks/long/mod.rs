//! Long runs under any configuration: hundreds of inputs, batches of up to 70 calls, turns of dozens of steps.
mod journaled;
mod reach;
mod saved;
mod split;

use std::fmt;

use machine_core::event::Event;
use machine_core::input::Input;
use machine_testkit::engine::long::{LongRun, Settings};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::cases;

/// Inputs that are drawn in one run.
const INPUTS: usize = 1_500;

/// Inputs after which a run must rest.
const PATIENCE: usize = 20_000;

/// What a run is drawn from. The trace says what came of it.
#[derive(Clone)]
struct Picks(Vec<Index>);

impl fmt::Debug for Picks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} picks", self.0.len())
    }
}

fn picks() -> impl Strategy<Value = Picks> {
    prop::collection::vec(any::<Index>(), 0..6_000).prop_map(Picks)
}

/// What a run is made of, and what is drawn from then on.
fn begin(Picks(picks): &Picks) -> (Settings, impl FnMut(usize) -> usize) {
    let mut left = picks.clone().into_iter();
    let mut draw = move |n: usize| left.next().map_or(0, |index| index.index(n));
    (Settings::drawn(&mut draw), draw)
}

/// Something that goes along with a run and looks at each input.
trait Beside {
    /// The input is about to be delivered.
    fn before(&mut self, _run: &LongRun, _input: &Input) -> Result<(), String> {
        Ok(())
    }

    /// It was, and brought these events.
    fn after(&mut self, _run: &LongRun, _input: &Input, _events: &[Event]) -> Result<(), String> {
        Ok(())
    }
}

/// Nobody.
struct Alone;

impl Beside for Alone {}

/// Plays a run: so many inputs that are drawn, then what is owed.
fn play(
    mut run: LongRun,
    mut draw: impl FnMut(usize) -> usize,
    inputs: usize,
    beside: &mut impl Beside,
) -> Result<(), TestCaseError> {
    let mut trace = Vec::new();
    let mut play = || -> Result<(), String> {
        for n in 0..inputs + PATIENCE {
            let input = if n < inputs { run.next(&mut draw) } else { run.next_owed() };
            let Some(input) = input else {
                run.at_rest()?;
                if n < inputs { continue } else { return Ok(()) }
            };
            trace.push(format!("{input:?}").chars().take(200).collect::<String>());
            beside.before(&run, &input)?;
            let events = run.apply(&input)?;
            beside.after(&run, &input, &events)?;
        }
        Err(format!("P9: not at rest after {PATIENCE} owed inputs"))
    };
    play().map_err(|why| TestCaseError::fail(format!("{why}\n{}", trace.join("\n"))))
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn long_runs_keep_the_properties(picks in picks()) {
        let (settings, draw) = begin(&picks);
        play(LongRun::new(settings).expect("a sound start"), draw, INPUTS, &mut Alone)?;
    }
}
