//! Long runs under any configuration: hundreds of inputs, batches of up to 70 calls, turns of dozens of steps.
use std::collections::BTreeSet;
use std::fmt;

use machine_core::event::{EndReason, Event, Receipt};
use machine_core::input::Input;
use machine_core::outcome::Outcome;
use machine_testkit::engine::long::{LongRun, Settings};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// Inputs that are drawn in one run.
const INPUTS: usize = 1_500;

/// Inputs after which a run must rest.
const PATIENCE: usize = 20_000;

/// What a run is drawn from. The trace says what came of it.
#[derive(Clone)]
pub struct Picks(Vec<Index>);

impl fmt::Debug for Picks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} picks", self.0.len())
    }
}

fn picks() -> impl Strategy<Value = Picks> {
    prop::collection::vec(any::<Index>(), 0..6_000).prop_map(Picks)
}

/// An input in one line.
fn brief(input: &Input) -> String {
    format!("{input:?}").chars().take(200).collect()
}

/// Begins a run, and gives what is drawn from.
fn begin(Picks(picks): &Picks) -> Result<(LongRun, impl FnMut(usize) -> usize), String> {
    let mut left = picks.clone().into_iter();
    let mut draw = move |n: usize| left.next().map_or(0, |index| index.index(n));
    Ok((LongRun::new(Settings::drawn(&mut draw))?, draw))
}

fn long(picks: &Picks) -> Result<(), String> {
    let (mut run, mut draw) = begin(picks)?;
    let mut trace = Vec::new();
    let mut play = || -> Result<(), String> {
        for _ in 0..INPUTS {
            match run.next(&mut draw) {
                Some(input) => {
                    trace.push(brief(&input));
                    run.apply(&input)?;
                }
                None => run.at_rest()?,
            }
        }
        for _ in 0..PATIENCE {
            let Some(input) = run.next_owed() else { return run.at_rest() };
            trace.push(brief(&input));
            run.apply(&input)?;
        }
        Err(format!("P9: not at rest after {PATIENCE} owed inputs"))
    };
    play().map_err(|why| format!("{why}\n{}", trace.join("\n")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn long_runs_keep_the_properties(picks in picks()) {
        long(&picks).map_err(TestCaseError::fail)?;
    }
}

/// What runs reach: without it the properties say nothing of it. A list of names per kind, and the largest numbers.
#[derive(Default)]
struct Reached {
    names: BTreeSet<String>,
    inputs: usize,
    calls: u32,
    steps: u32,
}

impl Reached {
    fn see(&mut self, event: &Event) {
        let name = |value: &dyn fmt::Debug| {
            let text = format!("{value:?}");
            text.split([' ', '(', '{']).next().unwrap_or_default().to_owned()
        };
        self.names.insert(name(event));
        match event {
            Event::CallSettled { outcome: Outcome::NotStarted { code }, .. } => {
                self.names.insert(format!("skip {code:?}"));
            }
            Event::CallSettled { outcome: Outcome::Error { code }, .. } => {
                self.names.insert(format!("error {code:?}"));
            }
            Event::CallSettled { outcome, .. } => {
                self.names.insert(format!("outcome {}", name(outcome)));
            }
            Event::TurnEnded(end) => {
                self.names.insert(format!("end {}", end.reason.name()));
                if let EndReason::Failed(error) = &end.reason {
                    self.names.insert(format!("failed {}", name(error)));
                }
                self.steps = self.steps.max(end.steps);
            }
            Event::CallAnnounced { call, .. } => self.calls = self.calls.max(call.index + 1),
            Event::Committed { entry, .. } => {
                self.names.insert(format!("from {}", name(&entry.origin)));
            }
            Event::Receipt { receipt, .. } => {
                self.names.insert(format!("receipt {}", name(receipt)));
                if let Receipt::Dropped(why) = receipt {
                    self.names.insert(format!("dropped {}", name(why)));
                }
            }
            _ => {}
        }
    }
}

#[test]
fn long_runs_reach_everything() {
    let mut runner = TestRunner::deterministic();
    let mut reached = Reached::default();
    for _ in 0..400 {
        let picks = picks().new_tree(&mut runner).expect("picks").current();
        let (mut run, mut draw) = begin(&picks).expect("a sound start");
        for _ in 0..INPUTS {
            let Some(input) = run.next(&mut draw) else { continue };
            reached.inputs += 1;
            run.apply(&input).expect("no violation").iter().for_each(|event| reached.see(event));
        }
    }
    let Reached { names, inputs, calls, steps } = reached;
    println!("{inputs} inputs, {calls} calls in a batch, {steps} steps in a turn\n{names:#?}");
}
