//! A journal file: opening gives an error or a session that is sound, is closed once, and opens the second time without
//! adding anything (J03 to J05). Bytes that begin like JSON are a file, read as it is and again with checksums that are
//! right, so that damage reaches the records; others are a long run and what is done to its records.
use std::path::Path;

use machine_host::FileJournal;
use machine_journal::{Record, Reopened, Start, begin, events, oldest_event, reopen, replay, without_past};
use serde_json::Value;

use crate::draw::{Bytes, Draw};
use crate::engine::Journaled;
use crate::engine::journaled::closed;
use crate::engine::long::{LongRun, Settings};

/// The most bytes that are read: what a fuzzer invents is small.
const MOST: usize = 1 << 18;

/// With what a line begins, and how long that is, its checksum included. `docs/journal.md` has the format.
const BEGINS: &[u8] = br#"{"crc":""#;
const HEAD: usize = r#"{"crc":"00000000","#.len();

/// Opens the journal that these bytes are.
///
/// A point is taken at its word: its checksum says that we wrote it. What it says of the engine is therefore not changed, or
/// no more is asked than that nothing panics.
///
/// # Errors
/// The rule that was broken, and how.
pub fn journal(bytes: &[u8]) -> Result<(), String> {
    if bytes.len() > MOST {
        return Ok(());
    }
    if bytes.first() != Some(&b'{') {
        return opens(&edited(&mut Bytes(bytes))?);
    }
    file(bytes)?;
    file(&mended(bytes))
}

/// A file is refused, or opens; cut at its torn end it is whole.
fn file(bytes: &[u8]) -> Result<(), String> {
    let path = Path::new("session.jsonl");
    let Ok(found) = FileJournal::parse(path, bytes) else { return Ok(()) };
    if let Some(torn) = found.torn {
        let sound = bytes.len() - usize::try_from(torn.bytes).unwrap_or(usize::MAX);
        let again = FileJournal::parse(path, &bytes[..sound]).map_err(|error| format!("J03: {error}"))?;
        if again.torn.is_some() || again.records != found.records {
            return Err("J03: what is left of a torn file is another one".into());
        }
    }
    let records = &found.records;
    let whole = replay(records, &mut |_, _| {});
    // Inputs lead to every point but one that the records begin with.
    let is_told = records.get(1).is_some_and(|record| record.point().is_some());
    match whole {
        Ok(whole) if whole.not_compared == 0 && !is_told => opens(records),
        _ => {
            let _ = opens(records);
            Ok(())
        }
    }
}

/// The same lines with the checksums that they should have. A line may be a record alone.
fn mended(bytes: &[u8]) -> Vec<u8> {
    let (mut all, mut last) = (Vec::with_capacity(bytes.len()), 0u32);
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let rest = match line.strip_prefix(BEGINS) {
            Some(_) if line.len() > HEAD => line[HEAD..].to_vec(),
            _ => [br#""synced":0,"record":"#, line, b"}"].concat(),
        };
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&last.to_le_bytes());
        hasher.update(&rest);
        last = hasher.finalize();
        all.extend_from_slice(format!(r#"{{"crc":"{last:08x}","#).as_bytes());
        all.extend_from_slice(&rest);
        all.push(b'\n');
    }
    all
}

/// What records may be: no session, or one that keeps the rules.
fn opens(records: &[Record]) -> Result<(), String> {
    let whole = replay(records, &mut |_, _| {});
    let Ok(opened) = reopen(records) else { return Ok(()) };
    if let Ok(whole) = &whole
        && whole.not_compared == 0
        && *whole != opened
    {
        return Err("J07: points and tail differ from the full replay".into());
    }
    looked_at(records, &opened, whole.is_ok())?;
    closed(records.to_vec(), opened)
}

/// Whoever looks at it finds the same session. `follows`: whether its points follow from its inputs; one that stands twice
/// is taken twice, and in a file its checksum says so.
fn looked_at(records: &[Record], opened: &Reopened, follows: bool) -> Result<(), String> {
    let mut numbers = Vec::new();
    let from = oldest_event(records);
    let read = events(records, from, &mut |n, _, _| numbers.push(n));
    if read.is_ok() && numbers.iter().zip(from..=u64::MAX).any(|(found, expected)| *found != expected) {
        return Err(format!("E01: events from {from} on are numbered {numbers:?}"));
    }
    let short = without_past(records).map_err(|error| format!("E04: {error}"))?;
    let again = reopen(&short).map_err(|error| format!("E04: without its past: {error}"))?;
    if follows && (again.engine != opened.engine || again.closing != opened.closing) {
        return Err("E04: without its past it opens differently".into());
    }
    let (engine, entries) = (&opened.engine, opened.engine.history().len());
    for at in [0, entries / 2, entries] {
        if let Ok(fork) = engine.fork(u32::MAX, at) {
            fork.history().audit().map_err(|error| format!("J08: {error}"))?;
            let Start { records, .. } = begin(&fork, 0).map_err(|error| format!("J08: {error}"))?;
            reopen(&records).map_err(|error| format!("J08: {error}"))?;
        }
    }
    Ok(())
}

/// The records of a long run, after a few edits.
fn edited(draw: &mut Bytes<'_>) -> Result<Vec<Record>, String> {
    let mut records = walked(draw)?;
    for _ in 0..draw.below(8) {
        let at = draw.below(records.len());
        match draw.below(6) {
            0 => drop(records.remove(at)),
            1 => records.truncate(at + 1),
            2 => records.insert(at, records[at].clone()),
            3 => {
                let other = draw.below(records.len());
                records.swap(at, other);
            }
            _ => {
                if let Some(record) = changed(&records[at], draw) {
                    records[at] = record;
                }
            }
        }
        if records.is_empty() {
            break;
        }
    }
    Ok(records)
}

fn walked(draw: &mut Bytes<'_>) -> Result<Vec<Record>, String> {
    let mut run = LongRun::new(Settings::drawn(draw))?;
    let mut journal = Journaled::of(run.engine()).map_err(|error| error.to_string())?;
    for _ in 0..draw.below(64) {
        let Some(input) = run.next(draw) else { break };
        journal.write(&mut run.engine().clone(), run.now(), &input)?;
        run.apply(&input)?;
    }
    Ok(journal.left())
}

/// One value in it is another one, if it is a record then.
fn changed(record: &Record, draw: &mut Bytes<'_>) -> Option<Record> {
    let mut value = serde_json::to_value(record).ok()?;
    let part = match record.point() {
        Some(_) => value.get_mut("point")?.get_mut(draw.one_of(&["n", "semantics", "events", "digest"]))?,
        None => &mut value,
    };
    let at = draw.below(leaves(part).len());
    let other = match draw.below(8) {
        0 => Value::Null,
        1 => Value::from(0),
        2 => Value::from(u32::MAX),
        3 => Value::from(u64::MAX),
        4 => Value::from(true),
        5 => Value::from(draw.number(1_000)),
        6 => Value::from("1.1.1.0"),
        _ => Value::from(&*draw.text(16)),
    };
    **leaves(part).get_mut(at)? = other;
    serde_json::from_value(value).ok()
}

fn leaves(value: &mut Value) -> Vec<&mut Value> {
    match value {
        Value::Array(all) => all.iter_mut().flat_map(leaves).collect(),
        Value::Object(all) => all.values_mut().flat_map(leaves).collect(),
        leaf => vec![leaf],
    }
}
