//! `host`: what the tokio host costs on top of the engine, with a model and a tool that have their answers at once; and how
//! much more two workers do than one, for many agents. Processor time of all threads, and time for the second.
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

use crate::loops::host::{Host, Player};
use crate::loops::ours::{Answered, Ours, Touches};
use crate::loops::{Loop, Shape, grow};
use crate::rounds::{Rounds, median};
use crate::table::{Table, short, thousands};
use crate::{Done, clock};

/// What is measured.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How often all is done
    #[arg(long, default_value_t = 21)]
    rounds: usize,
    /// How many agents are active at once
    #[arg(long, default_value_t = 1_000)]
    agents: usize,
}

/// Measures and prints.
pub fn run(args: &Args) -> Done<()> {
    overhead(args.rounds)?;
    many(args.rounds.div_ceil(2), args.agents)
}

/// A turn, how often it is played in a round, and what of it is counted.
const WORK: [(&str, Shape, u32, u32); 2] = [
    ("a turn of text", Shape::TEXT, 200, 1),
    ("a call, in a turn of 64", Shape { steps: 1, calls: 64 }, 20, 64),
];

fn overhead(rounds: usize) -> Done<()> {
    let runtimes = [
        ("current thread", Arc::new(Builder::new_current_thread().enable_time().build()?)),
        ("one worker", workers(1)?),
        ("two workers", workers(2)?),
    ];
    let mut table = Table::of(&["us of processor time", "engine", "host", "on top", "x engine"]);
    for (name, shape, turns, counted) in WORK {
        let rounds = Rounds::of(rounds, 1 + runtimes.len(), |thing| match thing.checked_sub(1) {
            None => {
                let mut ours = Ours::new(Touches::Nothing, Answered::InOrder)?;
                begun(&mut ours, shape)?;
                used(|| (0..turns).try_for_each(|_| ours.turn(shape)))
            }
            Some(runtime) => {
                let mut host = Host::new(runtimes[runtime].1.clone(), Touches::Nothing)?;
                begun(&mut host, shape)?;
                used(|| host.turns(shape, turns))
            }
        })?;
        let each = 1e6 / f64::from(turns * counted);
        for (runtime, (kind, _)) in runtimes.iter().enumerate() {
            let thing = 1 + runtime;
            table.row([
                format!("{name}: {kind}"),
                short(rounds.seconds(0) * each),
                short(rounds.seconds(thing) * each),
                short(rounds.longer(thing, 0) * each),
                short(rounds.ratio(thing, 0)),
            ]);
        }
    }
    table.print("The tokio host on top of the engine");
    Ok(())
}

/// A history of some length, and not the first turn of its kind.
fn begun(of: &mut dyn Loop, shape: Shape) -> Done<()> {
    grow(of, 100)?;
    of.turn(shape)
}

fn used(work: impl FnOnce() -> Done<()>) -> Done<Duration> {
    let began = clock::of_all();
    work()?;
    Ok(clock::of_all() - began)
}

fn workers(count: usize) -> Done<Arc<Runtime>> {
    Ok(Arc::new(Builder::new_multi_thread().worker_threads(count).enable_time().build()?))
}

/// What each of many agents does, and how often.
const EACH: (Shape, u32) = (Shape { steps: 1, calls: 4 }, 10);

fn many(rounds: usize, agents: usize) -> Done<()> {
    let runtimes = [workers(1)?, workers(2)?];
    let mut processor = [const { Vec::new() }; 2];
    let took = Rounds::of(rounds, runtimes.len(), |thing| {
        let runtime = &runtimes[thing];
        let players = runtime.block_on(opened(agents))?;
        // Their drivers run from now on.
        runtime.block_on(play(&players, 1))?;
        let (began, used) = (Instant::now(), clock::of_all());
        runtime.block_on(play(&players, EACH.1))?;
        let took = began.elapsed();
        processor[thing].push((clock::of_all() - used).as_secs_f64());
        Ok(took)
    })?;
    let columns =
        ["", "turns/s", "us of processor time a turn", "x the work of one", "the same, if nothing else ran"];
    let mut table = Table::of(&columns);
    let turns = agents as f64 * f64::from(EACH.1);
    let ratios = processor[0].iter().zip(&processor[1]).map(|(one, two)| 2.0 * one / two);
    let alone = [1.0, median(ratios.collect())];
    for (thing, name) in ["one worker", "two workers"].into_iter().enumerate() {
        table.row([
            name.into(),
            thousands(turns / took.seconds(thing)),
            short(median(processor[thing].clone()) / turns * 1e6),
            short(took.ratio(0, thing)),
            short(alone[thing]),
        ]);
    }
    table.print(&format!("{} agents at once, turns of 1 step of 4 calls", thousands(agents as f64)));
    Ok(())
}

async fn opened(agents: usize) -> Done<Vec<Player>> {
    let mut players = Vec::with_capacity(agents);
    for _ in 0..agents {
        players.push(Player::open(Touches::Nothing).await?);
    }
    Ok(players)
}

/// Each in a task of its own.
async fn play(players: &[Player], turns: u32) -> Done<()> {
    let each = players.iter().cloned();
    let tasks: Vec<_> =
        each.map(|player| tokio::spawn(async move { player.turns(EACH.0, turns).await })).collect();
    for task in tasks {
        task.await??;
    }
    Ok(())
}
