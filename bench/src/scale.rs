//! `scale`: how our costs grow with history, with the batch, and with the pieces of a stream.
use std::time::Duration;

use crate::loops::ours::{Answered, Ours, Touches};
use crate::loops::{Loop, Shape, grow};
use crate::rounds::Rounds;
use crate::table::{Table, short, thousands};
use crate::{Done, clock};

/// What is measured.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How often all is done
    #[arg(long, default_value_t = 9)]
    rounds: usize,
}

/// Measures and prints.
pub fn run(args: &Args) -> Done<()> {
    histories(args.rounds)?;
    batches(args.rounds)?;
    streams(args.rounds)
}

const HISTORIES: [usize; 5] = [10, 100, 1_000, 10_000, 100_000];

/// A turn of four steps of four calls, after so many entries.
fn histories(rounds: usize) -> Done<()> {
    let shape = Shape { steps: 4, calls: 4 };
    let mut sessions = HISTORIES.map(|entries| (entries, None));
    for (entries, session) in &mut sessions {
        let mut ours = Ours::new(Touches::Distinct, Answered::InOrder)?;
        grow(&mut ours, *entries)?;
        ours.turn(shape)?;
        *session = Some(ours);
    }
    let rounds = Rounds::of(rounds, sessions.len(), |thing| {
        let Some(ours) = &mut sessions[thing].1 else { return Err("no session".into()) };
        timed(|| (0..10).try_for_each(|_| ours.turn(shape)))
    })?;
    let mut table = Table::of(&["entries", "us a turn", "x that at 100"]);
    for (thing, entries) in HISTORIES.iter().enumerate() {
        let each = short(rounds.seconds(thing) / 10.0 * 1e6);
        table.row([thousands(*entries as f64), each, short(rounds.ratio(thing, 1))]);
    }
    table.print("A turn of 4 steps of 4 calls, by the length of history");
    Ok(())
}

const BATCHES: [u32; 4] = [1, 64, 1_000, 10_000];

/// One step of so many calls.
fn batches(rounds: usize) -> Done<()> {
    let kinds = [
        ("a path each", Touches::Distinct, Answered::InOrder),
        ("a path each, answered backwards", Touches::Distinct, Answered::Backwards),
        ("nothing", Touches::Nothing, Answered::InOrder),
        ("one path for all", Touches::Shared, Answered::InOrder),
        ("everything", Touches::Everything, Answered::InOrder),
    ];
    let mut columns = vec!["us a call; they touch".to_owned()];
    columns.extend(BATCHES.iter().map(|calls| thousands(f64::from(*calls))));
    columns.push("10,000 / 1,000, whole".to_owned());
    let columns: Vec<&str> = columns.iter().map(|column| &**column).collect();
    let mut table = Table::of(&columns);
    for (name, touches, answered) in kinds {
        let rounds = Rounds::of(rounds.min(5), BATCHES.len(), |thing| {
            let mut ours = Ours::new(touches, answered)?;
            // Not the first of its kind.
            ours.turn(Shape { steps: 2, calls: BATCHES[thing].min(64) })?;
            ours.prompt()?;
            timed(|| ours.step(BATCHES[thing]))
        })?;
        let each = BATCHES.iter().enumerate();
        let mut row: Vec<String> = vec![name.into()];
        row.extend(each.map(|(thing, calls)| short(rounds.seconds(thing) / f64::from(*calls) * 1e6)));
        row.push(short(rounds.ratio(3, 2)));
        table.row(row);
    }
    table.print("A step of 1 to 10,000 calls");
    Ok(())
}

const PIECES: [u32; 4] = [10, 100, 1_000, 10_000];

/// A response of text in so many pieces.
fn streams(rounds: usize) -> Done<()> {
    let rounds = Rounds::of(rounds, PIECES.len(), |thing| {
        let mut ours = Ours::new(Touches::Nothing, Answered::InOrder)?;
        ours.prompt()?;
        timed(|| ours.say(PIECES[thing]))
    })?;
    let mut table = Table::of(&["pieces", "us a piece"]);
    for (thing, pieces) in PIECES.iter().enumerate() {
        let each = short(rounds.seconds(thing) / f64::from(*pieces) * 1e6);
        table.row([thousands(f64::from(*pieces)), each]);
    }
    table.print("A response of text, by the number of its pieces");
    Ok(())
}

fn timed(work: impl FnOnce() -> Done<()>) -> Done<Duration> {
    let began = clock::now();
    work()?;
    Ok(clock::now() - began)
}
