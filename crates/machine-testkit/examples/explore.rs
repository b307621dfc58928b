//! A larger exploration of the whole engine than the tests make, for a quiet minute:
//! `cargo run --release -p machine-testkit --example explore -- CALLS STEPS FAILURES`
//! (by default 2 calls, 2 steps with calls, 1 failed attempt; two aborts, a steer and a notification may come at any time).
use std::process::ExitCode;

use machine_core::config::{CallLimits, Questions};
use machine_testkit::engine::{Allowed, EngineWorld, Menu};
use machine_testkit::explore::{Bounds, explore};

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|arg| arg.parse::<u32>());
    let mut number = |default| numbers.next().unwrap_or(Ok(default));
    let (Ok(calls), Ok(steps), Ok(failures)) = (number(2), number(2), number(1)) else {
        eprintln!("explore: CALLS STEPS FAILURES are whole numbers");
        return ExitCode::from(2);
    };
    let may = Allowed { abort: 2, steer: 1, notify: 1, ..Allowed::default() };
    let menu = Menu { calls, steps, failures, may, conflict: false };
    let limits = CallLimits { max_parallel: 2, ..CallLimits::default() };
    let world = match EngineWorld::new(menu, Questions { timeout_ms: 0, ..Questions::default() }, limits) {
        Ok(world) => world,
        Err(what) => {
            eprintln!("explore: {what}");
            return ExitCode::FAILURE;
        }
    };
    match explore(
        world,
        Bounds {
            states: 50_000_000,
            jobs: std::thread::available_parallelism().unwrap_or(std::num::NonZero::<usize>::MIN),
        },
    ) {
        Ok(done) => {
            println!("{done:?}, 0 violations");
            ExitCode::SUCCESS
        }
        Err(violation) => {
            println!("{violation}");
            ExitCode::FAILURE
        }
    }
}
