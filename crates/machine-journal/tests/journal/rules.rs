//! A journal that was written under other rules: points are taken as they are, the tail is handled by today's rules, and
//! the recorded acts say what may have run (J06). The files of an earlier version are planted: records are changed to
//! what other rules would have written.
use std::sync::Arc;

use machine_core::ask::{Answer, Plan, Prepared, Subject};
use machine_core::ids::AskId;
use machine_core::input::{Command, Input};
use machine_core::outcome::{Outcome, SkipCode};
use machine_journal::{Left, Record, SEMANTICS, replay};

use crate::session::{Session, Until, ok, whole_session};

/// As if an earlier version had written it.
fn earlier(records: &[Record]) -> Vec<Record> {
    let mut records = records.to_vec();
    for record in &mut records {
        match record {
            Record::Header { semantics, .. } => *semantics = SEMANTICS - 1,
            Record::Point(point) => point.semantics = SEMANTICS - 1,
            Record::In { .. } | Record::Act { .. } => {}
        }
    }
    records
}

/// As if earlier rules had asked one question more before this record: all ids after it are other ones.
fn with_other_ids(mut records: Vec<Record>, from: usize) -> Vec<Record> {
    let other = |ask: &mut AskId| ask.serial += 1;
    for record in records.iter_mut().skip(from) {
        match record {
            Record::In {
                input: Input::Answer { ask, .. } | Input::Piece { ask, .. } | Input::Lost { ask },
                ..
            } => other(ask),
            Record::Act { asks, .. } => {
                *asks = asks
                    .iter()
                    .cloned()
                    .map(|mut left| {
                        other(&mut left.ask);
                        left
                    })
                    .collect();
            }
            _ => {}
        }
    }
    records
}

fn running() -> Session {
    let mut session = Session::new();
    session.prompt("before");
    session.respond(&[]);
    session.prompt("a");
    session.respond(&["x", "y"]);
    session.prepare(false);
    session.prepare(false);
    session.answer("Execute", ok("one"));
    session
}

#[test]
fn c_j06_an_earlier_journal_with_open_calls_opens_and_the_recorded_act_decides() {
    let session = running();
    let (opened, closed) = Session::open(&earlier(session.journal.records()));
    assert!(closed);
    assert_eq!(opened.outcomes(), [Outcome::Ok, Outcome::Unknown]);
    opened.engine.history().audit().unwrap();
}

#[test]
fn c_j06_answers_are_told_by_what_they_are_about_and_not_by_their_number() {
    let session = running();
    let records = earlier(session.journal.records());
    let from = records.iter().rposition(|record| matches!(record, Record::Point(_))).unwrap();
    let (opened, _) = Session::open(&with_other_ids(records, from + 2));
    assert_eq!(opened.outcomes(), [Outcome::Ok, Outcome::Unknown]);
}

#[test]
fn c_j06_a_call_that_ran_is_unknown_where_today_it_would_still_wait() {
    // Earlier rules ran both calls; today's replay sees them wait for an approval, or for their preparation.
    for planned in [Some(true), None] {
        let mut session = Session::new();
        session.prompt("a");
        session.respond(&["x"]);
        planned.into_iter().for_each(|approval| session.prepare(approval));
        let mut records = earlier(session.journal.records());
        let call = session.engine.calls().next().unwrap().data().id;
        let left = Left { ask: AskId { branch: 7, serial: 99 }, about: Subject::Execute(call) };
        records.push(Record::Act { n: session.writer.inputs() - 1, asks: Arc::from([left]) });
        let (opened, closed) = Session::open(&records);
        assert!(closed);
        assert_eq!(opened.outcomes(), [Outcome::Unknown]);
        assert!(opened.open.is_empty(), "nothing is asked again: {:?}", opened.open);
        let (again, closed) = Session::open(opened.journal.records());
        assert!(!closed);
        assert_eq!(again.engine, opened.engine);
    }
}

#[test]
fn c_j06_a_call_whose_act_is_not_recorded_did_not_run() {
    let mut session = Session::new();
    session.prompt("a");
    session.respond(&["x"]);
    let ask = session.take("Prepare").id;
    let plan = Prepared::Ready(Arc::new(Plan::default()));
    session.feed_until(Input::Answer { ask, answer: Answer::Prepare(plan) }, Until::Handled);
    let (opened, _) = Session::open(&earlier(session.journal.records()));
    assert_eq!(opened.outcomes(), [Outcome::skipped(SkipCode::Crash)]);
}

#[test]
fn c_j06_what_fits_nothing_today_is_passed_over_and_told() {
    let session = running();
    let mut records = earlier(session.journal.records());
    let steer: Input = Command::Steer(Arc::from(["nobody".into()])).into();
    let n = session.writer.inputs();
    records.push(Record::In { n, at: 1, about: None, input: steer });
    let about = Some(Subject::Maintain(9));
    let ask = AskId { branch: 7, serial: 3 };
    records.push(Record::In {
        n: n + 1,
        at: 1,
        about,
        input: Input::Answer { ask, answer: Answer::Maintained },
    });
    let reopened = machine_journal::reopen(&records).unwrap();
    assert_eq!(reopened.passed_over, [n, n + 1]);
    assert!(reopened.not_compared > 0);
    assert_eq!(reopened.engine, session.engine);
}

/// What is written from now on is under today's rules, and is compared again.
#[test]
fn c_j06_after_the_next_point_the_session_is_one_of_today() {
    for session in [running(), whole_session()] {
        let mut records = earlier(session.journal.records());
        let (mut opened, _) = Session::open(&records);
        opened.prompt("more");
        let first = opened.journal.records()[records.len()..].iter().find_map(|record| match record {
            Record::Point(point) => Some(point.semantics),
            _ => None,
        });
        assert_eq!(first, Some(SEMANTICS));
        let full = replay(opened.journal.records(), &mut |_, _| {}).unwrap();
        assert_eq!(full.engine, opened.engine);
        // Damage in the new part is seen.
        records = opened.journal.records().to_vec();
        let last = records.len() - 1;
        records.swap(last, last - 1);
        assert!(replay(&records, &mut |_, _| {}).is_err());
    }
}
