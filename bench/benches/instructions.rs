//! Instructions of a turn, counted by valgrind: the same each time, on a busy machine, too. What comes before the turn (a
//! history of some length, a first turn of its kind) is not counted, nor is what is dropped afterwards.
//!
//! `docs/performance.md` says what it needs and how it is run.
#![expect(missing_docs, reason = "the harness makes items that have none")]

use std::sync::Arc;

use gungraun::prelude::*;
use machine_bench::Done;
use machine_bench::loops::host::Host;
use machine_bench::loops::minimal::Minimal;
use machine_bench::loops::ours::{Answered, Ours, Touches};
use machine_bench::loops::{Loop, Shape, grow};
use tokio::runtime::Builder;

const ONE: Shape = Shape { steps: 1, calls: 1 };
const STEPS: Shape = Shape { steps: 4, calls: 4 };
const BATCH: Shape = Shape { steps: 1, calls: 64 };
const LARGE: Shape = Shape { steps: 1, calls: 1_000 };

/// A loop that has played such a turn, after so many entries.
fn begun<L: Loop>(of: Done<L>, shape: Shape, entries: usize) -> (L, Shape) {
    let begin = || {
        let mut of = of?;
        grow(&mut of, entries)?;
        of.turn(shape)?;
        Done::Ok(of)
    };
    (begin().expect("a script that fits"), shape)
}

fn ours(shape: Shape, entries: usize) -> (Ours, Shape) {
    begun(Ours::new(Touches::Distinct, Answered::InOrder), shape, entries)
}

fn minimal(shape: Shape, entries: usize) -> (Minimal, Shape) {
    begun(Ok(Minimal::default()), shape, entries)
}

fn host(shape: Shape, entries: usize) -> (Host, Shape) {
    let runtime = Builder::new_current_thread().enable_time().build().map_err(Into::into);
    begun(runtime.and_then(|runtime| Host::new(Arc::new(runtime), Touches::Distinct)), shape, entries)
}

fn turn<L: Loop>((mut of, shape): (L, Shape)) -> L {
    of.turn(shape).expect("a script that fits");
    of
}

#[library_benchmark]
#[bench::text(args = (Shape::TEXT, 100), setup = ours)]
#[bench::call_after_100(args = (ONE, 100), setup = ours)]
#[bench::call_after_1_000(args = (ONE, 1_000), setup = ours)]
#[bench::call_after_100_000(args = (ONE, 100_000), setup = ours)]
#[bench::steps_4_of_4_calls(args = (STEPS, 100), setup = ours)]
#[bench::batch_of_64(args = (BATCH, 100), setup = ours)]
#[bench::batch_of_1_000(args = (LARGE, 100), setup = ours)]
fn engine(begun: (Ours, Shape)) -> Ours {
    turn(begun)
}

#[library_benchmark]
#[bench::text(args = (Shape::TEXT, 100), setup = minimal)]
#[bench::steps_4_of_4_calls(args = (STEPS, 100), setup = minimal)]
#[bench::batch_of_64(args = (BATCH, 100), setup = minimal)]
fn minimal_loop(begun: (Minimal, Shape)) -> Minimal {
    turn(begun)
}

#[library_benchmark]
#[bench::text(args = (Shape::TEXT, 100), setup = host)]
#[bench::steps_4_of_4_calls(args = (STEPS, 100), setup = host)]
#[bench::batch_of_64(args = (BATCH, 100), setup = host)]
fn tokio_host(begun: (Host, Shape)) -> Host {
    turn(begun)
}

library_benchmark_group!(name = turns, benchmarks = [engine, minimal_loop, tokio_host]);
main!(library_benchmark_groups = turns);
