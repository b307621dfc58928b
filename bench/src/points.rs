//! `points`: what it costs to keep a session by a point of its journal or a snapshot, to copy and to hash its history, by
//! the length of history; and how many states an explorer looks at in a second.
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::hint::black_box;
use std::num::NonZero;
use std::time::Duration;

use machine_adapter::{Engine, Out, Snapshot};
use machine_core::config::{CallLimits, Questions};
use machine_journal::{Record, Writer};
use machine_testkit::engine::{Allowed, EngineWorld, Menu};
use machine_testkit::explore::{Bounds, Explored, explore};

use crate::loops::ours::{Answered, Ours, Touches};
use crate::loops::{Loop, Shape, grow};
use crate::rounds::Rounds;
use crate::table::{Table, short, thousands};
use crate::{Done, clock};

/// What is measured.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How often all is done
    #[arg(long, default_value_t = 21)]
    rounds: usize,
}

/// Measures and prints.
pub fn run(args: &Args) -> Done<()> {
    kept(args.rounds)?;
    explored(args.rounds.min(5))
}

const HISTORIES: [usize; 4] = [10, 100, 1_000, 10_000];

/// An engine whose turn just ended, and what its journal is about to write of that.
struct Ended {
    engine: Engine,
    out: Out,
    writer: Writer,
    /// The record of its point, and its bytes.
    point: Record,
    bytes: usize,
    /// The snapshot as text.
    saved: Vec<u8>,
}

/// What is done with one: its name, how often in a round, and how.
type Work = (&'static str, u32, fn(&Ended, u32) -> Done<Duration>);

const WORK: [Work; 8] = [
    ("a point, made", 100, point_made),
    ("a point, written as text", 100, |of, times| timed(times, || Ok(serde_json::to_vec(&of.point)?))),
    ("a snapshot, made", 20, |of, times| timed(times, || Ok(of.engine.snapshot()))),
    ("a snapshot, restored", 20, restored),
    ("a snapshot, written as text", 1, |of, times| {
        timed(times, || Ok(serde_json::to_vec(&of.engine.snapshot())?))
    }),
    ("a snapshot, read and restored", 1, |of, times| {
        timed(times, || Ok(Engine::restore(serde_json::from_slice(&of.saved)?)?))
    }),
    ("a copy of history", 10_000, |of, times| timed(times, || Ok(of.engine.history().clone()))),
    ("a hash of history", 10_000, |of, times| {
        timed(times, || Ok(BuildHasherDefault::<DefaultHasher>::default().hash_one(of.engine.history())))
    }),
];

fn kept(rounds: usize) -> Done<()> {
    let ended = HISTORIES.iter().map(|entries| Ended::after(*entries)).collect::<Done<Vec<_>>>()?;
    let lengths = HISTORIES.map(|entries| thousands(entries as f64));
    let mut columns = vec!["us, by entries of history"];
    columns.extend(lengths.iter().map(|length| &**length));
    columns.push("10,000 / 100");
    let mut table = Table::of(&columns);
    for (name, times, work) in WORK {
        let rounds = Rounds::of(rounds, ended.len(), |thing| Ok(work(&ended[thing], times)? / times))?;
        let each = (0..ended.len()).map(|thing| short(rounds.seconds(thing) * 1e6));
        let row = std::iter::once(name.to_owned()).chain(each);
        table.row(row.chain([short(rounds.ratio(3, 1))]));
    }
    for (name, bytes) in [
        ("bytes of a point", (|of| of.bytes) as fn(&Ended) -> usize),
        ("bytes of a snapshot", |of| of.saved.len()),
    ] {
        let each = ended.iter().map(|of| thousands(bytes(of) as f64));
        let ratio = bytes(&ended[3]) as f64 / bytes(&ended[1]) as f64;
        table.row(std::iter::once(name.to_owned()).chain(each).chain([short(ratio)]));
    }
    table.print("Keeping and copying a session");
    Ok(())
}

impl Ended {
    /// A turn of one call, after so many entries.
    fn after(entries: usize) -> Done<Self> {
        let mut ours = Ours::new(Touches::Distinct, Answered::InOrder)?;
        grow(&mut ours, entries)?;
        let mut engine = ours.engine.clone();
        ours.fed = Some(Vec::new());
        ours.turn(Shape { steps: 1, calls: 1 })?;
        let inputs = ours.fed.take().unwrap_or_default();
        let (mut out, mut writer, mut records) = (Out::default(), Writer::new(), Vec::new());
        let mut before = writer.clone();
        for (at, input) in &inputs {
            out.clear();
            writer.input(&engine, *at, input, &mut records);
            engine.feed(*at, input, &mut out)?;
            before = writer.clone();
            records.clear();
            writer.handled(&engine, &out, &mut records);
        }
        let point = records.into_iter().find(|record| matches!(record, Record::Point(_)));
        let point = point.ok_or("no point was due")?;
        let (bytes, saved) = (serde_json::to_vec(&point)?.len(), serde_json::to_vec(&engine.snapshot())?);
        Ok(Self { engine, out, writer: before, point, bytes, saved })
    }
}

fn point_made(of: &Ended, times: u32) -> Done<Duration> {
    let mut writers: Vec<_> = (0..times).map(|_| of.writer.clone()).collect();
    let mut records = Vec::new();
    let began = clock::now();
    for writer in &mut writers {
        writer.handled(&of.engine, &of.out, &mut records);
    }
    let took = clock::now() - began;
    black_box(records);
    Ok(took)
}

fn restored(of: &Ended, times: u32) -> Done<Duration> {
    let mut saved: Vec<Snapshot> = (0..times).map(|_| of.engine.snapshot()).collect();
    let mut engines = Vec::with_capacity(saved.len());
    let began = clock::now();
    for snapshot in saved.drain(..) {
        engines.push(Engine::restore(snapshot)?);
    }
    let took = clock::now() - began;
    black_box(engines);
    Ok(took)
}

/// What it brings is dropped later.
fn timed<T>(times: u32, mut work: impl FnMut() -> Done<T>) -> Done<Duration> {
    let mut made = Vec::with_capacity(times as usize);
    let began = clock::now();
    for _ in 0..times {
        made.push(work()?);
    }
    let took = clock::now() - began;
    black_box(made);
    Ok(took)
}

/// Every way through a small engine, as `agent-machine explore engine` goes it.
fn explored(rounds: usize) -> Done<()> {
    let busy = Allowed { abort: 1, steer: 1, notify: 1, ..Allowed::default() };
    let worlds = [
        ("--calls 2 --steps 1 --abort --steer --notify", busy.clone()),
        ("the same with --stray", Allowed { stray: true, ..busy }),
    ];
    let mut table = Table::of(&["", "states", "transitions", "1 thread, states/s", "2 threads, states/s"]);
    for (name, may) in worlds {
        let menu = Menu { calls: 2, steps: 1, failures: 0, may, conflict: false };
        let calls = CallLimits { max_parallel: 2, ..CallLimits::default() };
        let world = EngineWorld::new(menu, Questions::default(), calls)?;
        let mut last: Option<Explored> = None;
        let took = Rounds::of(rounds, 2, |thing| {
            let jobs = NonZero::<usize>::MIN.saturating_add(thing);
            let explored = explore(world.clone(), Bounds { states: usize::MAX, jobs });
            let explored = explored.map_err(|violation| violation.to_string())?;
            let took = explored.took;
            last = Some(explored);
            Ok(took)
        })?;
        let Explored { states, transitions, .. } = last.ok_or("nothing was explored")?;
        let rates = [0, 1].map(|thing| thousands(states as f64 / took.seconds(thing)));
        let counts = [states, transitions].map(|count| thousands(count as f64));
        table.row(std::iter::once(name.to_owned()).chain(counts).chain(rates));
    }
    table.print("Exploring a small engine");
    Ok(())
}
