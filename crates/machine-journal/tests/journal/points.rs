//! From point to point is the same way as from input to input (J02, J07).
use std::sync::Arc;

use machine_core::ask::{Answer, Gated, Piece};
use machine_core::config::Config;
use machine_core::event::Event;
use machine_core::history::Edit;
use machine_core::input::{Command, Input, Note, Reminder, Submit};
use machine_core::message::{Entry, Origin, text_content};
use machine_journal::{Point, Record, events, oldest_event, reopen, replay, without_past};

use crate::session::{Session, ok, whole_session};

/// Receipts that are forgotten, reminders, other configurations, edits by a gate and by maintenance, held input.
fn eventful() -> Session {
    let mut config = Config::default();
    config.inbox.remembered_ids = 2;
    config.ask.gate = true;
    let mut session = Session::with(config.clone());
    session.feed(Command::Inject(Note::text("first", "to know")).into());
    session.feed(Command::Remind(reminder("todo")).into());
    session.prompt("a");
    session.feed(Command::Remind(reminder("todo")).into());
    session.prompt("b");
    gate(&mut session);
    session.respond(&["x"]);
    session.prepare(false);
    session.answer("Execute", ok("one"));
    session.piece("Gate", Piece::Edit(fold(2)));
    gate(&mut session);
    session.respond(&[]);
    config.inbox.remembered_ids = 3;
    config.request.system = "Be brief.".into();
    session.feed(Command::Configure(Arc::new(config.clone())).into());
    gate(&mut session);
    session.respond(&[]);
    session.feed(Command::Maintain.into());
    session.piece("Maintain", Piece::Edit(fold(1)));
    // In the middle of maintenance: no point may be written here.
    config.inbox.remembered_ids = 1;
    session.feed(Command::Configure(Arc::new(config.clone())).into());
    session.piece("Maintain", Piece::Edit(fold(2)));
    session.feed(Command::Submit(Submit::text("c", "during")).into());
    session.answer("Maintain", Answer::Maintained);
    gate(&mut session);
    session.feed(Command::Abort(abort()).into());
    session.feed(Command::Maintain.into());
    session.piece("Maintain", Piece::Edit(fold(1)));
    session.feed(Command::Abort(abort()).into());
    session.feed(Command::Pause.into());
    session.feed(Command::Close.into());
    session
}

fn gate(session: &mut Session) {
    session.answer("Gate", Answer::Gate(Gated::Proceed(Arc::default())));
}

fn reminder(key: &str) -> Arc<Reminder> {
    Arc::new(Reminder { key: key.into(), message: text_content("not done"), only_if_changed: true })
}

fn fold(up_to: usize) -> Arc<Edit> {
    let summary = Entry::user(Origin::Summary, None, text_content("what was said"));
    Arc::new(Edit::Fold { up_to, into: vec![summary] })
}

fn abort() -> Arc<machine_core::input::Abort> {
    let cause = machine_core::ask::Cause::by(machine_core::ask::By::User);
    Arc::new(machine_core::input::Abort { cause, target: None })
}

fn points(records: &[Record]) -> Vec<&Point> {
    records.iter().filter_map(Record::point).collect()
}

fn size(point: &Point) -> usize {
    Record::Point(Box::new(point.clone())).to_json().unwrap().len()
}

#[test]
fn c_j02_there_is_a_point_at_each_turn_end_edit_recovery_and_close() {
    let (session, closed) = Session::open(eventful().journal.records());
    assert!(closed);
    let records = session.journal.records();
    let mut seen = std::collections::BTreeSet::new();
    for at in 0..records.len() {
        let mut due = Vec::new();
        if !matches!(records[at], Record::In { .. }) {
            continue;
        }
        let before = replay(&records[..at], &mut |_, _| {}).unwrap().writer.events();
        let mut n = 0;
        replay(&records[..=at], &mut |_, event| {
            let kind = match event {
                Event::TurnEnded(_) => "turn",
                Event::Edited { .. } => "edit",
                Event::Recovered => "recovery",
                Event::Closed => "close",
                _ => "",
            };
            due.extend((n >= before && !kind.is_empty()).then_some(kind));
            n += u64::from(event.is_durable());
        })
        .unwrap();
        let mut after = records[at + 1..].iter().take_while(|record| !matches!(record, Record::In { .. }));
        assert!(due.is_empty() || after.any(|record| record.point().is_some()), "record {at}: {due:?}");
        seen.extend(due);
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
}

/// However few ids are remembered, and whatever was remembered when: also where more are than may be, until the next one
/// is taken, and where an id comes again after it was forgotten.
#[test]
fn c_a10_receipts_are_those_of_the_run_however_few_are_remembered() {
    for bounds in [[0; 6], [1; 6], [2; 6], [3, 3, 1, 1, 0, 2], [4, 4, 4, 1, 4, 0], [0, 2, 0, 2, 0, 2]] {
        let mut config = Config::default();
        let mut session = Session::new();
        for (n, remembered_ids) in bounds.into_iter().enumerate() {
            config.inbox.remembered_ids = remembered_ids;
            session.feed(Command::Configure(Arc::new(config.clone())).into());
            let same = |session: &Session| {
                let records = session.journal.records();
                let thin = without_past(records).unwrap();
                assert_eq!(reopen(records).unwrap().engine, session.engine, "{bounds:?} {n}");
                assert_eq!(reopen(&thin).unwrap().engine, session.engine, "{bounds:?} {n}, without its past");
            };
            same(&session);
            session.feed(Command::Inject(Note::text(format!("note {n}"), "to know")).into());
            session.feed(Command::Remind(reminder(&format!("key {}", n % 2))).into());
            // With few ids remembered this one comes again.
            let again = Command::Submit(Submit::text(format!("prompt {}", n / 3), "go")).into();
            if session.engine.admit(&again).is_ok() {
                session.feed(again);
                session.respond(&[]);
            }
            same(&session);
            session.prompt(&format!("another {n}"));
            session.respond(&[]);
            same(&session);
        }
    }
}

/// An input that waited, was taken and forgotten at once, and whose id is a reminder's key now.
#[test]
fn c_a10_what_was_forgotten_at_once_stays_forgotten() {
    let mut config = Config::default();
    config.inbox.remembered_ids = 0;
    let mut session = Session::with(config);
    session.feed(Command::Pause.into());
    session.prompt("x");
    session.feed(Command::Resume.into());
    session.feed(Command::Remind(reminder("x")).into());
    session.feed(Command::Pause.into());
    session.respond(&[]);
    assert!(session.engine.agent().data().inbox.is_pending(&"x".into()), "the reminder waits");
    let opened = reopen(session.journal.records()).unwrap().engine;
    assert_eq!(opened, session.engine);
    assert!(opened.admit(&Command::Remind(reminder("x")).into()).is_ok());
}

#[test]
fn c_j07_points_and_tail_equal_the_full_replay_after_every_record() {
    for session in [eventful(), whole_session()] {
        let records = session.journal.records();
        for cut in 1..=records.len() {
            let full = replay(&records[..cut], &mut |_, _| {}).unwrap();
            assert_eq!(reopen(&records[..cut]).unwrap(), full, "cut at {cut}");
            let thin = without_past(&records[..cut]).unwrap();
            let again = reopen(&thin).unwrap();
            assert_eq!((&again.engine, &again.closing), (&full.engine, &full.closing), "cut at {cut}");
            assert_eq!(again.writer.inputs(), full.writer.inputs(), "cut at {cut}");
            assert_eq!(again.writer.events(), full.writer.events(), "cut at {cut}");
        }
        assert_eq!(reopen(records).unwrap().engine, session.engine);
    }
}

#[test]
fn c_j07_what_lies_between_points_is_not_needed() {
    let records = eventful().journal.records().to_vec();
    let last = records.iter().rposition(|record| matches!(record, Record::Point(_))).unwrap();
    let needed = |(at, record): &(usize, &Record)| {
        *at > last || matches!(record, Record::Header { .. } | Record::Point(_))
    };
    let few: Vec<Record> =
        records.iter().enumerate().filter(needed).map(|(_, record)| record.clone()).collect();
    assert!(few.len() < records.len() / 2);
    assert_eq!(reopen(&few).unwrap(), reopen(&records).unwrap());
}

/// Cut anywhere, opened, carried on: what is written then is as good as if nothing had happened, whether or not the last
/// point was there.
#[test]
fn c_j05_a_session_goes_on_after_every_cut_and_its_record_stays_sound() {
    let records = eventful().journal.records().to_vec();
    for cut in 1..=records.len() {
        let (mut session, _) = Session::open(&records[..cut]);
        session.feed(Command::Resume.into());
        session.prompt(&format!("more {cut}"));
        let (again, _) = Session::open(session.journal.records());
        let full = replay(again.journal.records(), &mut |_, _| {});
        let full = full.unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        assert_eq!(full.engine, again.engine, "cut at {cut}");
        let thin = without_past(again.journal.records()).unwrap();
        assert_eq!(reopen(&thin).unwrap().engine, again.engine, "cut at {cut}");
    }
}

#[test]
fn c_j02_a_point_costs_what_happened_since_the_last_one() {
    let mut config = Config::default();
    config.request.system = "Long instructions. ".repeat(1_000).into();
    let mut session = Session::with(config);
    for n in 0..200 {
        session.prompt(&format!("prompt {n}"));
        session.respond(&[]);
    }
    let sizes: Vec<usize> = points(session.journal.records()).into_iter().map(size).collect();
    let (early, late) = (sizes[3], sizes[199]);
    assert!(late < early + 64, "{early} bytes, then {late}");
    assert!(late < 4_000, "{late} bytes");
}

#[test]
fn c_e04_events_are_made_again_from_any_number_on() {
    let session = eventful();
    let durable: Vec<&Event> = session.events.iter().filter(|event| event.is_durable()).collect();
    let from = |records: &[Record], from: u64| {
        let mut seen = Vec::new();
        events(records, from, &mut |n, _, event| seen.push((n, event.clone()))).unwrap();
        seen
    };
    let records = session.journal.records();
    for first in 0..=durable.len() {
        let expected = (first..durable.len()).map(|n| (n as u64, durable[n].clone()));
        assert_eq!(from(records, first as u64), expected.collect::<Vec<_>>(), "from {first} on");
    }
    // Without its past a record reaches back to its first point, and says so.
    let thin = without_past(records).unwrap();
    let oldest = oldest_event(&thin);
    assert!(oldest > 0 && oldest_event(records) == 0);
    let expected = (0..).zip(&durable).filter(|(n, _)| *n >= oldest).map(|(n, event)| (n, (*event).clone()));
    assert_eq!(from(&thin, 0), expected.collect::<Vec<_>>());
}

#[test]
fn c_a10_a_repeat_is_refused_with_its_first_outcome_after_opening_from_a_point() {
    let session = eventful();
    let opened = reopen(session.journal.records()).unwrap().engine;
    let thin = reopen(&without_past(session.journal.records()).unwrap()).unwrap().engine;
    for id in ["first", "a", "b", "c", "todo", "new"] {
        let receipt = session.engine.agent().data().inbox.receipt(&id.into());
        assert_eq!(opened.agent().data().inbox.receipt(&id.into()), receipt, "{id}");
        assert_eq!(thin.agent().data().inbox.receipt(&id.into()), receipt, "{id}");
    }
    let input: Input = Command::Resume.into();
    assert_eq!(opened.admit(&input).is_ok(), session.engine.admit(&input).is_ok());
}
