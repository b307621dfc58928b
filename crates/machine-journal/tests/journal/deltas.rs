//! Deltas are written late and joined; the session is the same (J02).
use std::sync::Arc;

use machine_core::ask::{Answer, By, Cause, Piece};
use machine_core::config::Config;
use machine_core::input::{Abort, Command, Input};
use machine_core::response::{Finish, Finished, ModelEvent};
use machine_journal::{Record, reopen, replay};

use crate::session::Session;

fn pieces(records: &[Record]) -> usize {
    let piece = |record: &&Record| matches!(record, Record::In { input: Input::Piece { .. }, .. });
    records.iter().filter(piece).count()
}

#[test]
fn c_j02_deltas_of_one_kind_are_one_record() {
    let mut session = Session::new();
    session.prompt("a");
    let stream = |event| Piece::Model(event);
    for word in ["The ", "answer ", "is "] {
        session.piece("Attempt", stream(ModelEvent::Text(word.into())));
        // In the middle of a stream, too: when the last one came counts.
        let mut records = session.journal.records().to_vec();
        session.writer.clone().flush(&mut records);
        assert_eq!(replay(&records, &mut |_, _| {}).unwrap().engine, session.engine);
    }
    session.piece("Attempt", stream(ModelEvent::Thinking { text: "hm".into(), signature: None }));
    session.piece("Attempt", stream(ModelEvent::Thinking { text: "m".into(), signature: None }));
    session.piece("Attempt", stream(ModelEvent::Thinking { text: "!".into(), signature: Some("s".into()) }));
    session.piece("Attempt", stream(ModelEvent::CallStart { index: 0, id: "x".into(), tool: "run".into() }));
    for piece in ["{\"a\"", ":", "1}"] {
        session.piece("Attempt", stream(ModelEvent::CallArgs { index: Some(0), piece: piece.into() }));
    }
    session.answer("Attempt", Answer::Finished(Arc::new(Finished::new(Finish::EndTurn))));
    let records = session.journal.records();
    assert_eq!(pieces(records), 5, "text, thinking, signed, start, arguments");
    let again = replay(records, &mut |_, _| {}).unwrap();
    assert_eq!(again.engine, session.engine);
    assert_eq!(again.writer.inputs(), session.writer.inputs());
    assert_eq!(reopen(records).unwrap().engine, session.engine);
}

#[test]
fn c_j02_what_waits_is_bounded() {
    let mut session = Session::new();
    session.prompt("a");
    let before = session.journal.records().len();
    for _ in 0..100 {
        session.piece("Attempt", Piece::Model(ModelEvent::Text("x".repeat(1_024).into())));
    }
    assert_eq!(session.journal.records().len() - before, 1, "64 KiB of 100");
    session.answer("Attempt", Answer::Finished(Arc::new(Finished::new(Finish::EndTurn))));
    assert_eq!(reopen(session.journal.records()).unwrap().engine, session.engine);
}

/// The delta that makes a response too large is not taken in, but those before it are: an abort keeps them (M11).
#[test]
fn c_j02_a_delta_that_is_too_much_stays_apart() {
    let mut config = Config::default();
    config.turn.response_bytes = 8;
    config.ask.recover = true;
    let mut session = Session::with(config);
    session.prompt("a");
    for word in ["One ", "two ", "three "] {
        session.piece("Attempt", Piece::Model(ModelEvent::Text(word.into())));
    }
    let mut recovering = session.journal.records().to_vec();
    session.writer.clone().flush(&mut recovering);
    assert_eq!(reopen(&recovering).unwrap().engine, session.engine);
    let cause = Cause::by(By::User);
    session.feed(Command::Abort(Arc::new(Abort { cause, target: None })).into());
    assert!(session.engine.history().iter().any(|entry| entry.message.text() == "One two "));
    let records = session.journal.records();
    assert_eq!(replay(records, &mut |_, _| {}).unwrap().engine, session.engine);
}

/// Of arguments that are longer than allowed as much is kept as fits, whatever pieces they came in (A24, M01).
#[test]
fn c_j02_arguments_that_are_too_long_are_joined_too() {
    let mut config = Config::default();
    config.turn.argument_bytes = 8;
    let mut session = Session::with(config);
    session.prompt("a");
    let start = ModelEvent::CallStart { index: 0, id: "x".into(), tool: "run".into() };
    session.piece("Attempt", Piece::Model(start));
    for piece in ["{\"a\":", " \"éé", "\"}"] {
        let args = ModelEvent::CallArgs { index: Some(0), piece: piece.into() };
        session.piece("Attempt", Piece::Model(args));
    }
    session.answer("Attempt", Answer::Finished(Arc::new(Finished::new(Finish::EndTurn))));
    let records = session.journal.records();
    assert_eq!(replay(records, &mut |_, _| {}).unwrap().engine, session.engine);
}
