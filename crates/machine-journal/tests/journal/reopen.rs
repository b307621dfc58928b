//! A session is run with a journal, dies somewhere, and is opened again.
use std::sync::Arc;

use machine_core::ask::{Answer, Plan, Prepared, Question};
use machine_core::event::{EndReason, Event};
use machine_core::input::{Command, Input};
use machine_core::outcome::{Outcome, SkipCode};
use machine_journal::{Closing, Record, reopen, replay};

use crate::session::{Session, Until, ok, whole_session};

#[test]
fn c_j01_a_replay_equals_the_run() {
    let session = whole_session();
    let mut again = Vec::new();
    let reopened = replay(session.journal.records(), &mut |_, event| again.push(event.clone())).unwrap();
    assert_eq!(reopened.engine, session.engine);
    assert_eq!(again, session.events);
    assert_eq!(reopened.closing, Closing::AskAgain(vec![]), "nothing was open");
    assert_eq!(reopened.writer, session.writer);
    let durable = session.events.iter().filter(|event| event.is_durable()).count();
    assert_eq!(reopened.writer.events(), durable as u64);
}

#[test]
fn c_j03_every_prefix_opens_and_closes_what_was_open_once() {
    let records = whole_session().journal.records().to_vec();
    for cut in 1..=records.len() {
        let (session, _) = Session::open(&records[..cut]);
        session.engine.history().audit().unwrap();
        assert!(session.engine.history().awaited().is_none(), "cut at {cut}: a call is open");
        assert!(session.engine.is_idle(), "cut at {cut}");
        let (again, closed) = Session::open(session.journal.synced());
        assert!(!closed, "cut at {cut}: opening again adds nothing");
        assert_eq!(again.engine, session.engine, "cut at {cut}");
    }
}

#[test]
fn c_j05_a_recorded_act_is_unknown_and_one_that_never_left_is_not_started() {
    for (until, expected) in
        [(Until::Synced, Outcome::Unknown), (Until::Handled, Outcome::skipped(SkipCode::Crash))]
    {
        let mut session = Session::new();
        session.prompt("a");
        session.respond(&["x"]);
        let ask = session.take("Prepare").id;
        let plan = Prepared::Ready(Arc::new(Plan::default()));
        session.feed_until(Input::Answer { ask, answer: Answer::Prepare(plan) }, until);
        session.journal.crash();

        let (session, closed) = Session::open(session.journal.synced());
        assert!(closed);
        assert_eq!(session.outcomes(), [expected]);
        let ends = session.events.iter().filter_map(|event| match event {
            Event::TurnEnded(end) => Some(end.reason.clone()),
            _ => None,
        });
        assert_eq!(ends.collect::<Vec<_>>(), [EndReason::Interrupted]);
        assert!(session.open.is_empty(), "nothing is asked again: {:?}", session.open);
    }
}

#[test]
fn c_j05_an_approval_is_asked_again_under_the_same_id_and_its_turn_goes_on() {
    let mut session = Session::new();
    session.prompt("a");
    session.respond(&["x"]);
    session.prepare(true);
    let asked = session.take("Approve");

    let (mut session, closed) = Session::open(session.journal.synced());
    assert!(!closed, "nothing is to be closed");
    let again = session.take("Approve");
    assert_eq!(again, asked);
    let Question::Approve { digest, .. } = again.question else { unreachable!() };
    let approval = machine_core::ask::Approval::Granted;
    let approved = Arc::new(machine_core::ask::Approved { digest, approval, rule: None });
    session.feed(Input::Answer { ask: again.id, answer: Answer::Approve(approved) });
    session.answer("Execute", ok("done"));
    session.respond(&[]);
    assert_eq!(session.outcomes(), [Outcome::Ok]);
    assert!(session.engine.is_idle());
}

#[test]
fn c_j02_what_is_not_synced_is_gone_and_the_rest_opens() {
    let mut session = Session::new();
    session.prompt("a");
    let before = session.engine.clone();
    let mut records = vec![];
    session.writer.input(&session.engine, 99, &Command::Pause.into(), &mut records);
    records.into_iter().for_each(|record| session.journal.append(record));
    session.journal.crash();
    assert_eq!(reopen(session.journal.records()).unwrap().engine, before);
}

#[test]
fn records_survive_their_text_form() {
    for record in whole_session().journal.records() {
        let line = record.to_json().unwrap();
        assert!(!line.contains('\n'));
        assert_eq!(&Record::from_json(&line).unwrap(), record, "{line}");
    }
}
