//! A fork begins like its parent, and nothing crosses afterwards (J08).
use machine_adapter::{Engine, ForkError, Out};
use machine_core::event::{Event, HeadTold};
use machine_core::ids::TurnId;
use machine_core::input::{Command, Submit};
use machine_core::message::Message;
use machine_core::outcome::Outcome;
use machine_journal::{begin, reopen, replay};

use crate::session::{Session, ok, whole_session};

fn fork(session: &Session, branch: u32, at: usize) -> Session {
    let engine = session.engine.fork(branch, at).unwrap();
    let records = begin(&engine, 0).unwrap().records;
    let (fork, closed) = Session::open(&records);
    assert!(!closed, "a fork leaves nothing open");
    assert_eq!(fork.engine, engine, "its first records are all of it");
    fork
}

#[test]
fn c_j08_a_fork_at_every_entry_is_sound_and_goes_on() {
    let parent = whole_session();
    let before = parent.engine.clone();
    let len = parent.engine.history().len();
    for at in 0..=len {
        let mut fork = fork(&parent, 8, at);
        let kept = fork.engine.history().len();
        assert!(kept >= at, "at {at}");
        let begins = |(mine, theirs)| mine == theirs;
        assert!(fork.engine.history().iter().zip(parent.engine.history().iter()).all(begins), "at {at}");
        // A batch is whole, or not there.
        assert!(!matches!(parent.engine.history().get(kept).map(|e| &e.message), Some(Message::Tool(_))));
        fork.engine.history().audit().unwrap();
        fork.prompt("x");
        fork.respond(&["mine"]);
        fork.prepare(false);
        fork.answer("Execute", ok("done"));
        fork.respond(&[]);
        assert!(fork.engine.is_idle());
        assert_eq!(replay(fork.journal.records(), &mut |_, _| {}).unwrap().engine, fork.engine);
        assert_eq!(reopen(fork.journal.records()).unwrap().engine, fork.engine);
        let turns: Vec<_> = fork.engine.history().iter().map(|entry| entry.turn).collect();
        let (past, new) = turns.split_at(kept);
        let next = past.iter().flatten().last().map_or(1, |last| last.turn + 1);
        let own = Some(TurnId { branch: 8, turn: next });
        assert!(!new.is_empty() && new.iter().all(|turn| *turn == own), "V02, A21: {new:?} after {past:?}");
    }
    assert_eq!(parent.engine, before, "the parent is only read");
}

/// Its clock does not go back, and its first request tells what it is made with (T21).
#[test]
fn c_j08_a_fork_goes_on_in_time_and_tells_its_head() {
    let parent = whole_session().engine;
    let prompt = Command::Submit(Submit::text("fork", "x")).into();
    let since = |engine: &Engine| engine.outstanding().map(|open| open.since).max();
    for (at, told) in [(0, HeadTold::First), (parent.history().len(), HeadTold::Resumed)] {
        let (mut fork, mut parent, mut out) = (parent.fork(8, at).unwrap(), parent.clone(), Out::default());
        parent.feed(0, &prompt, &mut out).unwrap();
        out.clear();
        fork.feed(0, &prompt, &mut out).unwrap();
        assert!(since(&fork) > Some(0) && since(&fork) == since(&parent), "at {at}");
        let heads = out.events.iter().filter_map(|event| match event {
            Event::AttemptStarted { with, .. } => with.as_ref().map(|head| head.why),
            _ => None,
        });
        assert_eq!(heads.collect::<Vec<_>>(), [told], "at {at}");
    }
}

#[test]
fn c_j08_a_call_that_runs_is_unknown_in_the_fork_and_ends_in_the_parent() {
    let mut parent = Session::new();
    parent.prompt("a");
    parent.respond(&["x", "y"]);
    parent.prepare(false);
    parent.prepare(false);
    parent.answer("Execute", ok("one"));
    let len = parent.engine.history().len();
    let mut fork = fork(&parent, 8, len);
    let outcomes = fork.outcomes();
    assert_eq!(outcomes, [Outcome::Ok, Outcome::Unknown]);
    fork.prompt("x");
    fork.respond(&[]);
    parent.answer("Execute", ok("two"));
    parent.respond(&[]);
    assert_eq!(parent.outcomes(), [Outcome::Ok, Outcome::Ok]);
    assert_eq!(fork.outcomes(), [Outcome::Ok, Outcome::Unknown]);
    for session in [&parent, &fork] {
        session.engine.history().audit().unwrap();
    }
}

#[test]
fn c_j08_an_approval_stays_with_the_parent() {
    let mut parent = Session::new();
    parent.prompt("a");
    parent.respond(&["x"]);
    parent.prepare(true);
    let fork = fork(&parent, 8, 2);
    assert!(fork.engine.history().awaited().is_none());
    assert!(fork.engine.outstanding().next().is_none());
    let [ended] = &fork.outcomes()[..] else { unreachable!("one call") };
    assert!(
        matches!(ended, Outcome::NotStarted { .. } | Outcome::Cancelled { may_have_run: false }),
        "{ended:?}"
    );
    assert_eq!(parent.engine.outstanding().count(), 1);
}

#[test]
fn c_j08_pending_input_stays_and_a_fork_may_be_forked() {
    let mut parent = Session::new();
    parent.feed(Command::Pause.into());
    parent.prompt("waits");
    assert!(fork(&parent, 8, 0).engine.agent().data().inbox.is_empty());
    let parent = whole_session();
    let child = fork(&parent, 8, 3);
    let grandchild = fork(&child, 9, child.engine.history().len());
    assert_eq!(grandchild.engine.history(), child.engine.history());
}

#[test]
fn c_v02_a_fork_needs_a_branch_of_its_own_and_an_entry_that_is_there() {
    let parent = whole_session();
    assert_eq!(parent.engine.fork(7, 0), Err(ForkError::SameBranch(7)));
    let child = fork(&parent, 8, 4);
    assert_eq!(child.engine.fork(7, 4), Err(ForkError::SameBranch(7)), "ids of 7 are in its history");
    let entries = parent.engine.history().len();
    assert_eq!(parent.engine.fork(8, entries + 1), Err(ForkError::TooFar { at: entries + 1, entries }));
}
