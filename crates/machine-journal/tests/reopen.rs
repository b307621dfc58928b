//! A session is run with a journal, dies somewhere, and is opened again.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
#![expect(clippy::panic, reason = "a test may also fail in a helper")]
use std::sync::Arc;

use machine_adapter::{Engine, Order, Out};
use machine_core::ask::{Answer, Ask, Executed, Piece, Plan, Prepared, Question};
use machine_core::config::Config;
use machine_core::event::{EndReason, Event};
use machine_core::ids::AskId;
use machine_core::input::{Command, Input, Note, Submit};
use machine_core::message::Message;
use machine_core::outcome::{Outcome, SkipCode, ToolResult};
use machine_core::response::{Finish, Finished, ModelEvent};
use machine_journal::{MemoryJournal, Record, ReplayError, Writer, reopen, replay};

/// A session with its journal, driven by hand.
struct Session {
    engine: Engine,
    journal: MemoryJournal,
    writer: Writer,
    open: Vec<Ask>,
    events: Vec<Event>,
    at: u64,
}

impl Session {
    fn new() -> Self {
        let config = Arc::new(Config::default());
        let mut journal = MemoryJournal::new();
        journal.append(Writer::header(7, config.clone()));
        journal.sync();
        let engine = Engine::new(7, config).unwrap();
        Self { engine, journal, writer: Writer::new(), open: vec![], events: vec![], at: 0 }
    }

    /// Opens what is durable; gives whether something had to be closed.
    fn open(records: &[Record]) -> (Self, bool) {
        let reopened = reopen(records).unwrap();
        let mut journal = MemoryJournal::new();
        records.iter().cloned().for_each(|record| journal.append(record));
        journal.sync();
        let (engine, writer) = (reopened.engine, reopened.writer);
        let mut session = Self { engine, journal, writer, open: vec![], events: vec![], at: 0 };
        let closed = reopened.recovered.is_some();
        let again = session.engine.outstanding().filter(|open| reopened.again.contains(&open.ask.id));
        session.open = again.map(|open| open.ask.clone()).collect();
        if let Some(recovered) = reopened.recovered {
            session.feed(recovered);
        }
        (session, closed)
    }

    fn feed(&mut self, input: Input) {
        self.feed_until(input, Until::Synced);
    }

    /// As J02 has it: append, handle, append the acts, sync.
    fn feed_until(&mut self, input: Input, until: Until) {
        let mut out = Out::default();
        self.at += 10;
        let admitted = self.engine.admit(&input).unwrap();
        self.journal.append(self.writer.input(self.at, input.clone()));
        self.engine.handle(self.at, admitted, &mut out);
        for order in out.now {
            match order {
                Order::Ask(ask) => self.open.push(ask),
                Order::Withdraw(withdrawal) => self.open.retain(|ask| ask.id != withdrawal.ask),
            }
        }
        if until == Until::Handled {
            self.journal.sync();
            return;
        }
        self.writer.acts(&out.acts).into_iter().for_each(|acts| self.journal.append(acts));
        self.journal.sync();
        self.open.extend(out.acts);
        self.events.extend(out.events);
    }

    fn take(&mut self, kind: &str) -> Ask {
        let at = self.open.iter().position(|ask| ask.question.kind() == kind);
        let at = at.unwrap_or_else(|| panic!("no {kind} is open: {:?}", self.open));
        self.open.remove(at)
    }

    fn answer(&mut self, kind: &str, answer: Answer) {
        let ask = self.take(kind).id;
        self.feed(Input::Answer { ask, answer });
    }

    fn piece(&mut self, kind: &str, piece: Piece) {
        let ask = self.open.iter().find(|ask| ask.question.kind() == kind).unwrap().id;
        self.feed(Input::Piece { ask, piece });
    }

    fn prompt(&mut self, id: &str) {
        self.feed(Command::Submit(Submit::text(id, "go")).into());
    }

    fn respond(&mut self, calls: &[&str]) {
        for (index, id) in (0..).zip(calls) {
            let start = ModelEvent::CallStart { index, id: (*id).into(), tool: "run".into() };
            self.piece("Attempt", Piece::Model(start));
        }
        self.piece("Attempt", Piece::Model(ModelEvent::Text("well".into())));
        self.answer("Attempt", Answer::Finished(Arc::new(Finished::new(Finish::EndTurn))));
    }

    fn prepare(&mut self, approval: bool) {
        let access = machine_core::access::Access::None;
        let plan = Plan { approval, access, ..Plan::default() };
        self.answer("Prepare", Answer::Prepare(Prepared::Ready(Arc::new(plan))));
    }

    fn outcomes(&self) -> Vec<Outcome> {
        let entries = self.engine.history().iter();
        let tools = entries.filter_map(|entry| match &entry.message {
            Message::Tool(tool) => Some(tool.outcome.clone()),
            _ => None,
        });
        tools.collect()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    Handled,
    Synced,
}

fn ok(text: &str) -> Answer {
    Answer::Execute(Executed::Done(Arc::new(ToolResult::text(text))))
}

/// Two prompts, a call with output, a notification, a final answer.
fn whole_session() -> Session {
    let mut session = Session::new();
    session.prompt("a");
    session.respond(&["x", "y"]);
    session.prepare(false);
    session.prepare(false);
    session.piece("Execute", Piece::Output(machine_core::message::text_content("half")));
    session.feed(Command::Notify(Note::text("n", "news")).into());
    session.answer("Execute", ok("one"));
    session.answer("Execute", ok("two"));
    session.respond(&[]);
    session.prompt("b");
    session.respond(&[]);
    session
}

#[test]
fn c_j01_a_replay_equals_the_run() {
    let session = whole_session();
    let mut again = Vec::new();
    let reopened = replay(session.journal.records(), |_, event| again.push(event.clone())).unwrap();
    assert_eq!(reopened.engine, session.engine);
    assert_eq!(again, session.events);
    assert_eq!(reopened.recovered, None, "nothing was open");
    assert_eq!(reopened.writer, session.writer);
    let durable = session.events.iter().filter(|event| event.is_durable()).count();
    assert_eq!(reopened.events, durable as u64);
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
    session.journal.append(session.writer.input(99, Command::Pause.into()));
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

#[test]
fn c_j06_damage_names_its_record() {
    let good = whole_session().journal.records().to_vec();
    let acts = good.iter().position(|record| matches!(record, Record::Act { .. })).unwrap();
    let check = |records: Vec<Record>, expected: fn(&ReplayError) -> bool| {
        let error = reopen(&records).unwrap_err();
        assert!(expected(&error), "{error}");
    };
    check(vec![], |e| matches!(e, ReplayError::NoHeader));
    check(good[1..].to_vec(), |e| matches!(e, ReplayError::NoHeader));

    let mut twice = good.clone();
    twice.insert(1, good[0].clone());
    check(twice, |e| matches!(e, ReplayError::SecondHeader { record: 1 }));

    let mut gap = good.clone();
    gap.remove(1);
    check(gap, |e| matches!(e, ReplayError::Number { record: 1, expected: 0, .. }));

    let mut swapped = good.clone();
    let Record::Act { n, .. } = &good[acts] else { unreachable!() };
    swapped[acts] = Record::Act { n: *n, asks: Arc::from([AskId { branch: 7, serial: 99 }]) };
    check(swapped, |e| matches!(e, ReplayError::Acts { .. }));

    let mut doubled = good.clone();
    doubled.insert(acts, good[acts].clone());
    check(doubled, |e| matches!(e, ReplayError::Acts { .. }));

    let fault = Record::In { n: 0, at: 1, input: Input::Fault { cause: "full".into() } };
    check(vec![good[0].clone(), fault], |e| matches!(e, ReplayError::NeverWritten { record: 1, .. }));

    let steer = Command::Steer(Arc::from(["nobody".into()])).into();
    let refused = Record::In { n: 0, at: 1, input: steer };
    check(vec![good[0].clone(), refused], |e| matches!(e, ReplayError::Refused { record: 1, .. }));

    let mut later = good;
    if let Record::Header { semantics, .. } = &mut later[0] {
        *semantics += 1;
    }
    check(later, |e| matches!(e, ReplayError::Version { what: "semantics", .. }));
}
