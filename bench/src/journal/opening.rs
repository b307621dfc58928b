//! Opening a session that has become long.
use std::path::{Path, PathBuf};
use std::time::Duration;

use machine_host::{FileJournal, Journal};
use machine_journal::{Point, Record};
use tokio::runtime;

use crate::Done;
use crate::journal::made::Made;
use crate::journal::work::Work;
use crate::rounds::{Rounds, median};
use crate::script::BRIEF;
use crate::table::{Table, short, thousands};

const TURNS: [usize; 4] = [10, 100, 1_000, 10_000];

/// So many points at each end say how large one is.
const ENDS: usize = 5;

/// Prints what opening costs, and how large points are.
pub fn measure(place: &Path, rounds: usize) -> Done<()> {
    let runtime = runtime::Builder::new_current_thread().build()?;
    let mut opening = Table::of(&[
        "turns",
        "entries",
        "MB",
        "ms",
        "us an entry",
        "x full replay",
        "ms, past dropped",
        "us an entry",
        "x full replay",
    ]);
    let mut points = Table::of(&["turns", "bytes of a point, early", "late", "% of the file"]);
    for turns in TURNS {
        let path = place.join(format!("{turns}.jsonl"));
        let made = runtime.block_on(Made::by(path, BRIEF, |so_far, _| so_far < turns))?;
        let thin = runtime.block_on(forgotten(&made))?;
        opening.row(opened(&made, &thin, rounds)?);
        points.row(sizes(&made)?);
    }
    opening.print("Opening a session from its points");
    points.print("Points");
    Ok(())
}

/// The same session without its past.
async fn forgotten(made: &Made) -> Done<PathBuf> {
    let thin = made.path.with_extension("thin.jsonl");
    std::fs::copy(&made.path, &thin)?;
    FileJournal::at(&thin).drop_past_above(0).open().await?;
    Ok(thin)
}

fn opened(made: &Made, thin: &Path, rounds: usize) -> Done<Vec<String>> {
    // A short one is opened often, so that there is something to measure.
    let times = u32::try_from(1_000 / made.turns)?.clamp(1, 20);
    let often = |work: Work, file: &Path| -> Done<Duration> {
        (0..times).map(|_| work.run(file)).sum::<Done<Duration>>().map(|took| took / times)
    };
    let took = Rounds::of(rounds, 3, |thing| match thing {
        0 => Ok(often(Work::Read, &made.path)? + often(Work::Replay, &made.path)?),
        1 => often(Work::Open, &made.path),
        _ => often(Work::Open, thin),
    })?;
    let mut row: Vec<String> = [made.turns, made.entries].map(|count| thousands(count as f64)).into();
    row.push(short(made.bytes as f64 / 1e6));
    for thing in [1, 2] {
        let seconds = took.seconds(thing);
        row.extend([
            short(1e3 * seconds),
            short(1e6 * seconds / made.entries as f64),
            short(took.ratio(thing, 0)),
        ]);
    }
    Ok(row)
}

fn sizes(made: &Made) -> Done<Vec<String>> {
    let records = FileJournal::read(&made.path)?.records;
    let points = records.iter().filter_map(Record::point).map(size).collect::<Done<Vec<f64>>>()?;
    let (early, late) = (&points[..ENDS.min(points.len())], &points[points.len().saturating_sub(ENDS)..]);
    Ok(vec![
        thousands(made.turns as f64),
        thousands(median(early.to_vec())),
        thousands(median(late.to_vec())),
        short(100.0 * points.iter().sum::<f64>() / made.bytes as f64),
    ])
}

fn size(point: &Point) -> Done<f64> {
    Ok(Record::Point(Box::new(point.clone())).to_json()?.len() as f64)
}
