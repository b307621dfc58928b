//! What an agent costs while it rests, and what a delta costs on its way through journal, engine and watcher.
//! `cargo run --release -p machine-host --example host_cost`
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use machine_core::response::{Finish, Finished, ModelError};
use machine_host::{Agent, Fleet, Model, ModelOut};
use machine_journal::MemoryJournal;

const AGENTS: u32 = 10_000;
const TURNS: u32 = 200;
const DELTAS: u32 = 1_000;

async fn talkative(_: machine_adapter::Request, out: ModelOut) -> Result<Finished, ModelError> {
    for _ in 0..DELTAS {
        out.text("word ").await;
    }
    Ok(Finished::new(Finish::EndTurn))
}

/// Bytes of memory that are in use; Linux only.
fn memory() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4_096
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (fleet, model): (_, Arc<dyn Model>) = (Fleet::new(), Arc::new(talkative));
    let (before, start) = (memory(), Instant::now());
    for n in 0..AGENTS {
        let agent = Agent::builder().shared_model(model.clone()).journal(MemoryJournal::new());
        fleet.insert(n, agent.open().await?);
    }
    let each = memory().saturating_sub(before) / u64::from(AGENTS);
    println!("{AGENTS} agents opened in {:?}, {each} bytes each", start.elapsed());

    let agent = fleet.get(&0).ok_or("no agent")?;
    let mut events = agent.events();
    let start = Instant::now();
    for _ in 0..TURNS {
        agent.prompt("go").await?;
        while events.try_next().is_some() {}
    }
    println!("a delta takes {:?}", start.elapsed() / (TURNS * DELTAS));
    Ok(())
}
