//! `simulate`: the host in faulty worlds, from seeds. Of one seed everything that happened; of many what did not hold, how
//! often each thing happened, and how long it took.
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Instant;

use machine_testkit::simulate::{Summary, many, run};

use crate::program::args;
use crate::program::console::print;
use crate::program::exit::{self, Usage};

/// Runs seeds.
pub fn simulate(args: &args::Simulate) -> Result<ExitCode, Usage> {
    let began = Instant::now();
    let (summary, trace) = match args.seed {
        Some(seed) => {
            let run = run(seed, true);
            (Summary { seeds: 1, violations: run.violations, tally: run.tally }, run.trace)
        }
        None => {
            let jobs = args.jobs.or_else(|| available_parallelism().ok()).map_or(1, |jobs| jobs.get());
            (many(0..args.seeds, jobs), Vec::new())
        }
    };
    let told = report(&summary, &trace, began.elapsed().as_secs_f64());
    let held = summary.violations.is_empty();
    Ok(print(&told, if held { exit::COMPLETED } else { exit::ENDED_EARLY.into() }))
}

fn report(summary: &Summary, trace: &[String], seconds: f64) -> String {
    let Summary { seeds, violations, tally } = summary;
    let mut told: String = trace.iter().map(|line| format!("{line}\n")).collect();
    told += &tally.to_string();
    for violation in violations {
        let seed = violation.seed;
        told += &format!("{violation}; again: agent-machine simulate --seed {seed}\n");
    }
    let speed = *seeds as f64 / seconds.max(f64::MIN_POSITIVE);
    told + &format!("{seeds} seeds in {seconds:.1} s, {speed:.0} seeds/s, {} violations\n", violations.len())
}
