//! `memory`: what an agent takes while it lives, beyond its configuration, which all share.
use std::fs;
use std::process::Command;
use std::sync::Arc;

use machine_core::config::Config;

use crate::Done;
use crate::loops::ours::{Answered, Ours, Touches};
use crate::loops::{Loop, Shape};
use crate::table::{Table, thousands};

/// What is measured.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How many agents at once
    #[arg(long, default_value_t = 100_000)]
    agents: usize,
    /// Only this state, and only the bytes: how each is measured in a process of its own
    #[arg(long, hide = true)]
    state: Option<usize>,
}

/// In which state agents are looked at, and how they get there.
type Way = (&'static str, fn(&mut Ours) -> Done<()>);

const STATES: [Way; 3] = [
    ("idle, nothing said yet", |_| Ok(())),
    ("idle, after a turn of text", |ours| ours.turn(Shape { steps: 0, calls: 0 })),
    ("active, its first request is out", Ours::prompt),
];

/// Measures and prints.
pub fn run(args: &Args) -> Done<()> {
    if let Some(state) = args.state {
        println!("{}", taken(args.agents, STATES[state].1)?);
        return Ok(());
    }
    let agents = args.agents.to_string();
    let mut table = Table::of(&["agents", "bytes each", "MiB in all"]);
    for (state, (name, _)) in STATES.iter().enumerate() {
        let run = Command::new(std::env::current_exe()?)
            .args(["memory", "--agents", &agents, "--state", &state.to_string()])
            .output()?;
        let taken: f64 = String::from_utf8(run.stdout)?.trim().parse()?;
        let each = thousands(taken / args.agents as f64);
        table.row([(*name).into(), each, thousands(taken / f64::from(1 << 20))]);
    }
    table
        .print(&format!("{} engines in one process, as the system counts it", thousands(args.agents as f64)));
    Ok(())
}

/// What so many agents take that got where they are this way.
fn taken(count: usize, enter: fn(&mut Ours) -> Done<()>) -> Done<i64> {
    let config = Arc::new(Config::default());
    let before = resident()?;
    let mut agents = Vec::with_capacity(count);
    for _ in 0..count {
        let mut ours = Ours::with(config.clone(), Touches::Nothing, Answered::InOrder)?;
        enter(&mut ours)?;
        agents.push(ours.engine);
    }
    let taken = resident()? - before;
    std::hint::black_box(&agents);
    Ok(taken)
}

/// Bytes of memory that this process has.
fn resident() -> Done<i64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")).ok_or("the system does not say")?;
    Ok(kib.trim().parse::<i64>()? << 10)
}
