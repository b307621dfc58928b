//! Records become a session again, and what a dead process left open is closed, once (J05).
use alloc::boxed::Box;
use alloc::vec::Vec;

use machine_adapter::Engine;
use machine_core::event::Event;
use machine_core::ids::AskId;
use machine_core::input::Input;

use crate::error::ReplayError;
use crate::point::Point;
use crate::record::Record;
use crate::replay::{Replay, Sink};
use crate::writer::Writer;

/// A session that was opened again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reopened {
    /// As it was after the last record.
    pub engine: Engine,
    /// What is to be done with what is open.
    pub closing: Closing,
    /// Where the journal goes on.
    pub writer: Writer,
    /// How many of the records were written under other rules, and so were not compared (J06).
    pub not_compared: usize,
    /// Inputs that were written under other rules and fit nothing under today's, by their number.
    pub passed_over: Vec<u64>,
}

/// What is to be done with what a dead process left open (J05).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Closing {
    /// It is closed by this input, to be written and handled like any other. The engine then asks again by itself what
    /// stays open.
    Recovered(Input),
    /// Nothing is to be closed. These questions outlive their process, and are asked again under the same ids.
    AskAgain(Vec<AskId>),
}

/// A session that begins with an engine: its first records, and where they go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The header, and the first point.
    pub records: [Record; 2],
    /// Where they go on.
    pub writer: Writer,
}

/// A session cannot begin there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("maintenance runs, and its edits may still be undone: begin a journal when it is over")]
pub struct Maintaining;

/// Opens a session: goes from point to point, and handles what comes after the last one. Of the records between two
/// points nothing is needed; they may be left out.
pub fn reopen(records: &[Record]) -> Result<Reopened, ReplayError> {
    let (replay, tail) = from_point(records, |_| true)?;
    tail.iter().try_fold(replay, |replay, record| replay.step(record, &mut |_, _| {})).map(Replay::finish)
}

/// Handles every record once more and compares all of it. Gives every event again, in order, with the wall time of its
/// input: the durable ones are the session's record (E01, E04).
pub fn replay(records: &[Record], sink: Sink<'_>) -> Result<Reopened, ReplayError> {
    let (replay, rest) = from_header(records)?;
    rest.iter().try_fold(replay, |replay, record| replay.step(record, &mut *sink)).map(Replay::finish)
}

/// The durable events from number `from` on, each with its number and the wall time of its input. It begins at the
/// last point before them.
///
/// # Errors
/// The records are no session.
pub fn events(
    records: &[Record],
    from: u64,
    sink: &mut dyn FnMut(u64, u64, &Event),
) -> Result<(), ReplayError> {
    let (mut replay, tail) = from_point(records, |point| point.events <= from)?;
    for record in tail {
        let mut n = replay.events();
        replay = replay.step(record, &mut |at, event| {
            if event.is_durable() {
                if n >= from {
                    sink(n, at, event);
                }
                n = n.saturating_add(1);
            }
        })?;
    }
    Ok(())
}

/// How many durable events there were before the oldest record that is kept: [`events`] reaches back to here.
pub fn oldest_event(records: &[Record]) -> u64 {
    records.get(1).and_then(Record::point).map_or(0, |point| point.events)
}

/// The records of a session that begins with this engine, such as a fork (J08). `events`: how many durable events there
/// were before.
pub fn begin(engine: &Engine, events: u64) -> Result<Start, Maintaining> {
    start(engine, 0, events)
}

/// The same session without the records before its last point: it opens alike, and events, forks and replays reach back
/// to there (E04). What has no point stays as it is.
pub fn without_past(records: &[Record]) -> Result<Vec<Record>, ReplayError> {
    let (replay, tail) = from_point(records, |_| true)?;
    let last = records[..records.len() - tail.len()].last().and_then(Record::point);
    let whole = last.map(|last| (last, start(replay.engine(), last.n, last.events)));
    let Some((last, Ok(Start { records: [header, mut whole], .. }))) = whole else {
        return Ok(records.to_vec());
    };
    if let Record::Point(whole) = &mut whole {
        // The rules that were in force there stay in force.
        whole.semantics = last.semantics;
    }
    Ok([header, whole].into_iter().chain(tail.iter().cloned()).collect())
}

fn start(engine: &Engine, inputs: u64, events: u64) -> Result<Start, Maintaining> {
    let header = Writer::header(engine.agent().data().branch, engine.config().clone());
    let (point, mut writer) = (Point::first(engine, inputs, events).ok_or(Maintaining)?, Writer::new());
    writer.passed(&point);
    Ok(Start { records: [header, Record::Point(Box::new(point))], writer })
}

fn from_header(records: &[Record]) -> Result<(Replay, &[Record]), ReplayError> {
    let (first, rest) = records.split_first().ok_or(ReplayError::NoHeader)?;
    Ok((Replay::begin(first)?, rest))
}

/// Goes to the last point that is meant, if there is one; gives what comes after it.
fn from_point(
    records: &[Record],
    is_meant: impl Fn(&Point) -> bool,
) -> Result<(Replay, &[Record]), ReplayError> {
    let (replay, rest) = from_header(records)?;
    let last = rest.iter().rposition(|record| record.point().is_some_and(&is_meant));
    let (before, tail) = rest.split_at(last.map_or(0, |last| last + 1));
    Ok((before.iter().try_fold(replay, Replay::pass)?, tail))
}
