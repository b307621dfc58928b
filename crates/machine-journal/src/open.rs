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
    /// What closes that which the dead process left open: to be written and handled like any other input. None if
    /// nothing was open.
    pub recovered: Option<Input>,
    /// Questions that wait on and are asked again under the same ids: a turn that only waits for people needs no
    /// closing. Where something is closed, the engine asks again by itself.
    pub again: Vec<AskId>,
    /// Where the journal goes on.
    pub writer: Writer,
    /// Whether all that was replayed was compared: it was written under today's rules.
    pub compared: bool,
    /// Records that were written under other rules and fit nothing under today's, by their position (J06).
    pub passed_over: Vec<usize>,
}

/// Opens a session: goes from point to point, and handles what comes after the last one. Of the records between two
/// points nothing is needed; they may be left out.
pub fn reopen(records: &[Record]) -> Result<Reopened, ReplayError> {
    let (first, rest) = records.split_first().ok_or(ReplayError::NoHeader)?;
    let mut replay = Replay::begin(first)?;
    let last = rest.iter().rposition(|record| record.point().is_some());
    let (before, tail) = rest.split_at(last.map_or(0, |last| last + 1));
    before.iter().try_for_each(|record| replay.pass(record))?;
    tail.iter().try_for_each(|record| replay.step(record, &mut |_, _| {}))?;
    Ok(replay.finish())
}

/// Handles every record once more and compares all of it. Gives every event again, in order, with the wall time of its
/// input: the durable ones are the session's record (E01, E04).
pub fn replay(records: &[Record], sink: Sink<'_>) -> Result<Reopened, ReplayError> {
    let (first, rest) = records.split_first().ok_or(ReplayError::NoHeader)?;
    let mut replay = Replay::begin(first)?;
    rest.iter().try_for_each(|record| replay.step(record, sink))?;
    Ok(replay.finish())
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
    let (first, rest) = records.split_first().ok_or(ReplayError::NoHeader)?;
    let mut replay = Replay::begin(first)?;
    let near = |record: &Record| record.point().is_some_and(|point| point.events <= from);
    let (before, tail) = rest.split_at(rest.iter().rposition(near).map_or(0, |at| at + 1));
    before.iter().try_for_each(|record| replay.pass(record))?;
    for record in tail {
        let mut n = replay.events();
        replay.step(record, &mut |at, event| {
            if event.is_durable() {
                if n >= from {
                    sink(n, at, event);
                }
                n += 1;
            }
        })?;
    }
    Ok(())
}

/// How many durable events there were before the oldest record that is kept: [`events`] reaches back to here.
pub fn oldest_event(records: &[Record]) -> u64 {
    records.get(1).and_then(Record::point).map_or(0, |point| point.events)
}

/// A session that begins with this engine, such as a fork (J08): its first records, and where they go on. `inputs` and
/// `events` were there before. None while maintenance runs.
pub fn begin(engine: &Engine, inputs: u64, events: u64) -> Option<([Record; 2], Writer)> {
    let config = engine.config();
    let header = Writer::header(engine.agent().data().branch, config.clone());
    let (point, mut writer) = (Point::first(engine, inputs, events)?, Writer::new(config.clone()));
    writer.passed(&point);
    Some(([header, Record::Point(Box::new(point))], writer))
}

/// The same session without the records before its last point: it opens alike, and events, forks and replays reach back
/// to there (E04). What has no point stays as it is.
pub fn without_past(records: &[Record]) -> Result<Vec<Record>, ReplayError> {
    let last = records.iter().rposition(|record| matches!(record, Record::Point(_)));
    let Some(last) = last.filter(|last| *last > 1) else { return Ok(records.to_vec()) };
    let (first, rest) = records.split_first().ok_or(ReplayError::NoHeader)?;
    let mut replay = Replay::begin(first)?;
    rest[..last].iter().try_for_each(|record| replay.pass(record))?;
    let (engine, Record::Point(point)) = (replay.engine(), &records[last]) else {
        return Ok(records.to_vec());
    };
    let Some(([header, Record::Point(mut whole)], _)) = begin(engine, point.n, point.events) else {
        return Ok(records.to_vec());
    };
    // The rules that were in force there stay in force.
    whole.semantics = point.semantics;
    let tail = records[last + 1..].iter().cloned();
    Ok([header, Record::Point(whole)].into_iter().chain(tail).collect())
}
