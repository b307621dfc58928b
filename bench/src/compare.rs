//! `compare`: our engine beside other loops, on the same scripted work, in one process, interleaved. Processor time of the
//! thread; what is printed of ratios is the median over the rounds. `--behaviour` asks what they do ([`behaviour`]).
use std::sync::Arc;

use tokio::runtime::Builder;

use crate::loops::host::Host;
use crate::loops::minimal::Minimal;
use crate::loops::ours::{Answered, Ours, Touches};
use crate::loops::{Loop, Shape, grow};
use crate::rounds::Rounds;
use crate::table::{Table, short};
use crate::{Done, behaviour, clock};

/// What is compared.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How often all is done
    #[arg(long, default_value_t = 41)]
    rounds: usize,
    /// Not what they cost but what they do: short probes, and who does what
    #[arg(long)]
    behaviour: bool,
}

/// A loop, by name, and how one is made.
type Maker = (&'static str, fn() -> Done<Box<dyn Loop>>);

const LOOPS: &[Maker] = &[
    ("ours", || Ok(Box::new(Ours::new(Touches::Distinct, Answered::InOrder)?))),
    ("minimal", || Ok(Box::new(Minimal::default()))),
    #[cfg(feature = "peers")]
    ("loopctl 0.2 machine", || Ok(Box::new(crate::loops::loopctl::Loopctl::new()?))),
    #[cfg(feature = "peers")]
    ("rig 0.44 run", || Ok(Box::new(crate::loops::rig::Rig::new()?))),
];

/// Whole loops on tokio, with a model and a tool that have their answers at once.
const HOSTS: &[Maker] = &[
    ("our host", || {
        let runtime = Builder::new_current_thread().enable_time().build()?;
        Ok(Box::new(Host::new(Arc::new(runtime), Touches::Distinct)?))
    }),
    #[cfg(feature = "peers")]
    ("loopctl 0.2 loop", || Ok(Box::new(crate::loops::loopctl_host::LoopctlHost::new()?))),
    #[cfg(feature = "peers")]
    ("rig 0.44 agent", || Ok(Box::new(crate::loops::rig_host::RigHost::new()?))),
];

/// What is played: its name, the shape of a turn, entries of history to begin with, what one figure counts.
const WORK: [(&str, Shape, usize); 6] = [
    ("a turn of text, history 100", Shape { steps: 0, calls: 0 }, 100),
    ("a turn of 1 call, history 100", Shape { steps: 1, calls: 1 }, 100),
    ("a turn of 1 call, history 1,000", Shape { steps: 1, calls: 1 }, 1_000),
    ("a turn of 4 steps of 4 calls, history 100", Shape { steps: 4, calls: 4 }, 100),
    ("a turn of 64 calls, history 100", Shape { steps: 1, calls: 64 }, 100),
    ("a turn of 1,000 calls, history 100", Shape { steps: 1, calls: 1_000 }, 100),
];

/// Measures and prints.
pub fn run(args: &Args) -> Done<()> {
    if args.behaviour {
        return behaviour::run();
    }
    side_by_side(args.rounds, LOOPS, "")?;
    side_by_side(args.rounds, HOSTS, " of whole loops on tokio")
}

fn side_by_side(rounds: usize, loops: &[Maker], of_what: &str) -> Done<()> {
    let names = loops.iter().map(|(name, _)| *name);
    let columns: Vec<&str> = std::iter::once("microseconds").chain(names).collect();
    let (mut times, mut ratios) = (Table::of(&columns), Table::of(&columns));
    for (name, shape, entries) in WORK {
        let rounds = Rounds::of(rounds, loops.len(), |thing| {
            let mut of = loops[thing].1()?;
            grow(&mut *of, entries)?;
            of.turn(shape)?;
            // Few enough that history stays about as long as it was.
            let turns = u32::try_from(1 + entries / 5 / shape.entries())?;
            let began = clock::now();
            for _ in 0..turns {
                of.turn(shape)?;
            }
            Ok((clock::now() - began) / turns)
        })?;
        let things = 0..loops.len();
        let row = |cells: Vec<String>| std::iter::once(name.to_owned()).chain(cells);
        times.row(row(things.clone().map(|thing| short(rounds.seconds(thing) * 1e6)).collect()));
        ratios.row(row(things.map(|thing| short(rounds.ratio(thing, 0))).collect()));
    }
    times.print(&format!("A turn{of_what}, in microseconds of processor time"));
    ratios.print("The same, as multiples of ours");
    Ok(())
}
