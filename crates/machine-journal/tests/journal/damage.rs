//! Records that are no session, each named (J04, J06).
use std::sync::Arc;

use machine_adapter::Change;
use machine_core::ask::Subject;
use machine_core::ids::AskId;
use machine_core::input::{Command, Input};
use machine_journal::{Left, Point, Record, ReplayError, reopen, replay};

use crate::session::{Session, whole_session};

fn refused(records: &[Record], expected: impl Fn(&ReplayError) -> bool) {
    let error = replay(records, &mut |_, _| {}).unwrap_err();
    assert!(expected(&error), "{error}");
}

fn position(records: &[Record], of: fn(&Record) -> bool) -> usize {
    records.iter().position(of).unwrap()
}

/// One record becomes another.
fn with(records: &[Record], at: usize, change: impl FnOnce(&mut Record)) -> Vec<Record> {
    let mut changed = records.to_vec();
    change(&mut changed[at]);
    changed
}

fn input(n: u64, input: Input) -> Record {
    Record::In { n, at: 1, about: None, input }
}

#[test]
fn c_j06_what_is_no_session_names_its_record() {
    let good = whole_session().journal.records().to_vec();
    refused(&[], |e| matches!(e, ReplayError::NoHeader));
    refused(&good[1..], |e| matches!(e, ReplayError::NoHeader));

    for at in 1..=good.len() {
        let mut twice = good.clone();
        twice.insert(at, good[0].clone());
        refused(&twice, |e| matches!(e, ReplayError::SecondHeader { record } if *record == at));
    }

    let mut gap = good.clone();
    gap.remove(1);
    refused(&gap, |e| matches!(e, ReplayError::Number { record: 1, expected: 0, .. }));

    let fault = input(0, Input::Fault { cause: "full".into() });
    refused(&[good[0].clone(), fault], |e| matches!(e, ReplayError::NeverWritten { record: 1, .. }));

    let steer = input(0, Command::Steer(Arc::from(["nobody".into()])).into());
    refused(&[good[0].clone(), steer], |e| matches!(e, ReplayError::Refused { record: 1, .. }));

    let later = with(&good, 0, |record| {
        let Record::Header { schema, .. } = record else { unreachable!() };
        *schema += 1;
    });
    refused(&later, |e| matches!(e, ReplayError::Schema { .. }));
}

#[test]
fn c_j06_acts_that_do_not_follow_name_their_record() {
    let good = whole_session().journal.records().to_vec();
    let acts = position(&good, |record| matches!(record, Record::Act { .. }));
    let swapped = with(&good, acts, |record| {
        let Record::Act { asks, .. } = record else { unreachable!() };
        *asks = Arc::from([Left { ask: AskId { branch: 7, serial: 99 }, about: asks[0].about.clone() }]);
    });
    refused(&swapped, |e| matches!(e, ReplayError::Acts { .. }));

    let mut doubled = good.clone();
    doubled.insert(acts, good[acts].clone());
    refused(&doubled, |e| matches!(e, ReplayError::Acts { .. }));

    let mut missing = good.clone();
    missing.remove(acts);
    refused(&missing, |e| matches!(e, ReplayError::ActsMissing { .. }));
}

#[test]
fn c_j06_an_answer_to_something_else_names_its_record() {
    let good = whole_session().journal.records().to_vec();
    let answer = position(&good, |record| {
        matches!(record, Record::In { input: Input::Answer { .. }, about: Some(Subject::Prepare(_)), .. })
    });
    let foreign = with(&good, answer, |record| {
        let Record::In { about, .. } = record else { unreachable!() };
        *about = None;
    });
    refused(&foreign, |e| matches!(e, ReplayError::About { .. }));
}

#[test]
fn c_j06_a_point_that_does_not_follow_names_its_record() {
    let good = whole_session().journal.records().to_vec();
    let at = position(&good, |record| matches!(record, Record::Point(_)));
    let edited = |edit: fn(&mut Point)| {
        with(&good, at, |record| {
            let Record::Point(point) = record else { unreachable!() };
            edit(point);
        })
    };
    let differs = |edit: fn(&mut Point), what: &str| {
        let records = edited(edit);
        let error = replay(&records, &mut |_, _| {}).unwrap_err();
        assert!(matches!(error, ReplayError::Point { what: found, .. } if found == what), "{error}");
    };
    differs(|point| point.events += 1, "durable events");
    differs(|point| point.n += 1, "inputs");
    differs(|point| drop(point.changes.pop()), "changes");
    differs(|point| point.digest.0 += 1, "history");

    let mut elsewhere = good.clone();
    elsewhere.swap(at, at + 1);
    refused(&elsewhere, |e| matches!(e, ReplayError::Point { .. } | ReplayError::ActsMissing { .. }));

    // Opening goes from point to point, and sees it, too.
    let without_an_entry = edited(|point| {
        let entry = point.changes.iter().position(|change| matches!(change, Change::Entry(_))).unwrap();
        point.changes.remove(entry);
    });
    let error = reopen(&without_an_entry).unwrap_err();
    assert!(matches!(error, ReplayError::BadPoint { .. }), "{error}");
}

#[test]
fn c_j06_every_record_that_is_missing_doubled_or_swapped_is_seen() {
    let good = whole_session().journal.records().to_vec();
    for at in 1..good.len() {
        let mut doubled = good.clone();
        doubled.insert(at, good[at].clone());
        assert!(replay(&doubled, &mut |_, _| {}).is_err(), "{at} twice");
        if at + 1 == good.len() {
            break;
        }
        let mut missing = good.clone();
        missing.remove(at);
        assert!(replay(&missing, &mut |_, _| {}).is_err(), "{at} missing");
        let mut swapped = good.clone();
        swapped.swap(at, at + 1);
        assert!(replay(&swapped, &mut |_, _| {}).is_err(), "{at} swapped with the next");
    }
}

/// A process that died may have left no point where one was due.
#[test]
fn c_j06_a_last_point_that_was_torn_off_leaves_a_whole_session() {
    let good = whole_session().journal.records().to_vec();
    assert!(good.last().unwrap().point().is_some());
    let torn = &good[..good.len() - 1];
    assert_eq!(replay(torn, &mut |_, _| {}).unwrap().engine, replay(&good, &mut |_, _| {}).unwrap().engine);
}

#[test]
fn c_j06_a_recovery_that_says_something_else_names_its_record() {
    let mut session = Session::new();
    session.prompt("a");
    session.respond(&["x"]);
    session.prepare(false);
    let (session, _) = Session::open(session.journal.records());
    let records = session.journal.records();
    let at = position(records, |record| matches!(record, Record::In { input: Input::Recovered { .. }, .. }));
    let nothing_ran = with(records, at, |record| {
        let Record::In { input, .. } = record else { unreachable!() };
        *input = Input::Recovered { ran: Arc::from([]) };
    });
    refused(&nothing_ran, |e| matches!(e, ReplayError::Recovered { .. }));
}

#[test]
fn c_j06_an_input_that_is_never_written_names_its_record() {
    let mut session = Session::new();
    session.prompt("a");
    let mut records = session.journal.records().to_vec();
    let stray = Input::Lost { ask: AskId { branch: 7, serial: 99 } };
    records.push(input(session.writer.inputs(), stray));
    refused(&records, |e| matches!(e, ReplayError::NeverWritten { kind: "Lost", .. }));
}

#[test]
fn c_j06_a_record_of_another_session_is_seen() {
    let (good, mut other) = (whole_session().journal.records().to_vec(), Session::new());
    other.prompt("a");
    other.respond(&["z"]);
    let foreign = other.journal.records();
    let mut seen = 0;
    for at in 1..foreign.len().min(good.len()) {
        if foreign[at] != good[at] {
            let mixed = with(&good, at, |record| *record = foreign[at].clone());
            assert!(replay(&mixed, &mut |_, _| {}).is_err(), "record {at}");
            seen += 1;
        }
    }
    assert!(seen > 0);
}

#[test]
fn c_j06_a_number_that_is_too_large_is_an_error() {
    let good = whole_session().journal.records().to_vec();
    let acts = position(&good, |record| matches!(record, Record::Act { .. }));
    let huge = with(&good, acts, |record| {
        let Record::Act { n, .. } = record else { unreachable!() };
        *n = u64::MAX;
    });
    refused(&huge, |e| matches!(e, ReplayError::Number { .. }));
}

/// A point is taken at its word, also where its numbers cannot be.
#[test]
fn c_j04_numbers_at_their_end_stay_there() {
    let good = whole_session().journal.records().to_vec();
    let last = good.iter().rposition(|record| record.point().is_some()).unwrap();
    let mut records = with(&good[..=last], last, |record| {
        let Record::Point(point) = record else { unreachable!("it is one") };
        (point.n, point.events) = (u64::MAX, u64::MAX);
    });
    records.push(input(u64::MAX, Command::Pause.into()));
    assert!(reopen(&records).is_ok());
}
