//! Random sessions: whatever happens, after every input the records lead to the same engine and the same events, from the
//! first record and from the last point on, as text, without their past, under other rules, and in a fork
//! (J01, J02, J06, J07, J08).
mod moves;

use machine_core::event::Event;
use machine_core::input::Input;
use machine_journal::{Record, SEMANTICS, Writer, begin, events, oldest_event, reopen, replay, without_past};
use proptest::prelude::*;

use crate::session::Session;
use moves::{Picks, command, config, reply};

/// What a process that dies now leaves, read as from a file.
fn left(session: &Session) -> Vec<Record> {
    let mut records = session.journal.records().to_vec();
    session.writer.clone().flush(&mut records);
    records.iter().map(|record| Record::from_json(&record.to_json().unwrap()).unwrap()).collect()
}

/// One thing that happens, if it fits.
fn happens(session: &mut Session, picks: &mut Picks<'_>) {
    let open: Vec<_> = session.engine.outstanding().map(|open| open.ask.clone()).collect();
    let input = match open.len() {
        0 => command(session, picks),
        _ if picks.below(3) == 0 => command(session, picks),
        n => reply(session, &open[picks.below(n)], picks),
    };
    let fits = session.engine.admit(&input).is_ok() && Writer::writes(&session.engine, &input);
    if fits {
        session.feed(input);
    }
}

/// The process dies, and another one opens what is left, once and for all.
fn crash(session: &mut Session, seen: &mut Vec<Event>) {
    seen.append(&mut session.events);
    *session = Session::open(&left(session)).0;
    let (again, closed) = Session::open(&left(session));
    assert!(!closed && again.engine == session.engine, "J05: opening again adds nothing");
}

fn check(session: &Session, before: &[Event], fork_at: usize) {
    let records = left(session);
    let ran: Vec<&Event> = before.iter().chain(&session.events).filter(|event| event.is_durable()).collect();
    let mut again = Vec::new();
    let full =
        replay(&records, &mut |_, event| again.extend(event.is_durable().then(|| event.clone()))).unwrap();
    assert_eq!(full.engine, session.engine, "J01");
    assert!(again.iter().eq(ran.iter().copied()), "P11: the replay reports other events");

    let short = reopen(&records).unwrap();
    assert_eq!(short, full, "J07: points and tail are the full replay");
    let thin = without_past(&records).unwrap();
    let from_thin = reopen(&thin).unwrap();
    assert_eq!((&from_thin.engine, &from_thin.closing), (&full.engine, &full.closing), "without its past");
    let (mut n, oldest) = (0, oldest_event(&thin));
    events(&thin, oldest, &mut |at, _, event| {
        assert_eq!((at, event), (oldest + n, ran[usize::try_from(at).unwrap()]));
        n += 1;
    })
    .unwrap();
    assert_eq!(oldest + n, full.writer.events());

    let other = reopen(&under_other_rules(&records)).unwrap();
    assert_eq!(
        (&other.engine, &other.closing),
        (&full.engine, &full.closing),
        "J06: today's rules are the same"
    );
    assert!(other.passed_over.is_empty());

    let fork = session.engine.fork(99, fork_at % (session.engine.history().len() + 1)).unwrap();
    fork.history().audit().unwrap();
    let begun = reopen(&begin(&fork, 0).unwrap().records).unwrap();
    assert_eq!(begun.engine, fork, "J08");
    assert!(fork.outstanding().next().is_none() && fork.admit(&Input::Recovered { ran: [].into() }).is_err());
}

fn under_other_rules(records: &[Record]) -> Vec<Record> {
    let mut records = records.to_vec();
    for record in &mut records {
        match record {
            Record::Header { semantics, .. } => *semantics = SEMANTICS + 1,
            Record::Point(point) => point.semantics = SEMANTICS + 1,
            Record::In { .. } | Record::Act { .. } => {}
        }
    }
    records
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn c_j01_c_j07_whatever_happens_the_records_lead_to_it(
        picks in prop::collection::vec(any::<prop::sample::Index>(), 600)
    ) {
        let mut picks = Picks(picks.iter().cycle());
        let (mut session, mut seen) = (Session::with(config(&mut picks)), Vec::new());
        for _ in 0..80 {
            happens(&mut session, &mut picks);
            check(&session, &seen, picks.below(1_000));
            if picks.below(15) == 0 {
                crash(&mut session, &mut seen);
            }
        }
    }
}
