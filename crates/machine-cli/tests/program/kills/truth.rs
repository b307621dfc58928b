//! What a journal says, opened through the library.
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use machine_adapter::{Engine, Out};
use machine_core::ask::{Question, Subject};
use machine_core::event::Event;
use machine_core::ids::CallId;
use machine_core::input::Input;
use machine_core::message::{Message, Origin};
use machine_core::outcome::Outcome;
use machine_host::{FileJournal, Recorded};
use machine_journal::{Closing, Record, Reopened, reopen, replay};
use serde_json::Value;

use crate::kills::effects::mark_in;

/// What a journal says.
#[derive(Default)]
pub struct Truth {
    /// The inputs of its records.
    pub inputs: Vec<Input>,
    /// Whether its end is torn.
    pub torn: bool,
    /// The durable events of the session so far.
    events: Vec<Value>,
    /// None before there is a header.
    pub session: Option<Opened>,
}

/// A session, before and after it is opened again.
pub struct Opened {
    /// As the last record left it.
    pub left: Engine,
    /// What the next opening must write.
    pub recovered: Option<Input>,
    /// As the next opening makes it.
    pub engine: Engine,
    /// How calls ended. Where an earlier call of their step waits to be allowed, that is not in history yet.
    settled: BTreeMap<CallId, Outcome>,
    /// Those of them that the next opening ends.
    closed: BTreeSet<CallId>,
}

impl Truth {
    /// Reads a journal that nobody has open.
    pub fn read(path: &Path) -> Self {
        if !path.exists() {
            return Self::default();
        }
        let read = FileJournal::read(path);
        let Recorded { records, torn } = read.expect("a journal that was not damaged by a kill");
        let inputs = records.iter().filter_map(|record| match record {
            Record::In { input, .. } => Some(input.clone()),
            _ => None,
        });
        let mut events = Vec::new();
        let session = (!records.is_empty()).then(|| Opened::of(&records, &mut events));
        Self { inputs: inputs.collect(), torn: torn.is_some(), events, session }
    }

    /// It has everything that it had, and the program closed what was to be closed, once, before anything else (J05).
    #[track_caller]
    pub fn goes_on_from(&self, last: &Self) {
        let (before, new) = self.inputs.split_at(last.inputs.len());
        assert_eq!(before, last.inputs);
        assert_eq!(self.events[..last.events.len()], last.events);
        let due = last.session.as_ref().and_then(|session| session.recovered.as_ref());
        let first = new.first().filter(|input| is_recovered(input));
        assert_eq!(first, due.filter(|_| !new.is_empty()), "what was open is closed first, or nothing was");
        assert!(!new.iter().skip(1).any(is_recovered), "closed twice: {new:?}");
    }

    /// What the program told was durable (J02).
    #[track_caller]
    pub fn has_all_that_was_told(&self, told: &[Value]) {
        for event in told.iter().filter(|event| event["n"].is_u64()) {
            let at = usize::try_from(event["n"].as_u64().expect("a number")).expect("a position");
            let mut event = event.clone();
            event.as_object_mut().expect("an event").remove("n");
            assert_eq!(self.events.get(at), Some(&event), "event {at} was told");
        }
    }

    /// Whether a prompt is in history, or waits to be.
    pub fn has_prompt(&self, id: &str) -> bool {
        let Some(Opened { engine, .. }) = &self.session else { return false };
        let prompt = Origin::Prompt { id: id.into() };
        engine.agent().data().inbox.is_pending(&id.into())
            || engine.history().iter().any(|entry| entry.origin == prompt)
    }

    /// Every call by its mark, with how it ended once the session is opened again; none for one that waits to be allowed.
    #[track_caller]
    pub fn calls(&self) -> BTreeMap<String, Option<Outcome>> {
        let mut calls = BTreeMap::new();
        let Some(session) = &self.session else { return calls };
        for (call, mark) in session.marks() {
            let before = calls.insert(mark.to_owned(), session.settled.get(&call).cloned());
            assert_eq!(before, None, "{mark} has two calls");
        }
        calls
    }

    /// The calls that the next opening ends, by their marks, and how.
    pub fn closed(&self) -> Vec<(&str, &Outcome)> {
        let Some(session) = &self.session else { return Vec::new() };
        let closed = session.marks().filter(|(call, _)| session.closed.contains(call));
        closed.map(|(call, mark)| (mark, &session.settled[&call])).collect()
    }

    /// Calls without an end.
    pub fn open_calls(&self) -> usize {
        self.calls().values().filter(|outcome| outcome.is_none()).count()
    }
}

impl Opened {
    /// Opens the session as the program would, and once more.
    fn of(records: &[Record], events: &mut Vec<Value>) -> Self {
        let mut settled = BTreeMap::new();
        let mut tell = |_, event: &Event| {
            settled.extend(end_of_call(event));
            events.extend(event.is_durable().then(|| serde_json::to_value(event).expect("JSON")));
        };
        let Reopened { engine: left, closing, mut writer, .. } =
            replay(records, &mut tell).expect("a session");
        let closes = recovered(closing);
        let (mut engine, mut out) = (left.clone(), Out::default());
        let mut records = records.to_vec();
        if let Some(recovered) = &closes {
            writer.input(&engine, 0, recovered, &mut records);
            engine.feed(0, recovered, &mut out).expect("it is closed");
        }
        let ends: Vec<_> = out.events.iter().filter_map(end_of_call).collect();
        let closed = ends.iter().map(|(call, _)| *call).collect();
        settled.extend(ends);
        assert!(out.acts.is_empty(), "nothing runs until somebody speaks: {:?}", out.acts);
        engine.history().audit().expect("a history that is sound");
        let only_people =
            engine.outstanding().all(|open| matches!(open.ask.question, Question::Approve { .. }));
        assert!(
            only_people,
            "nothing but people is waited for: {:?}",
            engine.outstanding().collect::<Vec<_>>()
        );
        let again = reopen(&records).expect("a session");
        assert_eq!((recovered(again.closing), &again.engine), (None, &engine), "opening again adds nothing");
        let opened = Self { left, recovered: closes, engine, settled, closed };
        opened.has_results();
        opened
    }

    /// Results are in history; where one is missing, the first call without one waits to be allowed, and others for their turn.
    #[track_caller]
    fn has_results(&self) {
        for entry in self.engine.history().iter() {
            if let Message::Tool(tool) = &entry.message {
                assert_eq!(self.settled.get(&tool.call), Some(&tool.outcome));
            }
        }
        let asked =
            |of| self.engine.outstanding().any(|open| open.ask.question.subject() == Subject::Approve(of));
        assert!(
            self.engine.history().awaited().is_none_or(asked),
            "a call without a result, and nobody is asked"
        );
    }

    /// Every call with the mark that it leaves.
    fn marks(&self) -> impl Iterator<Item = (CallId, &str)> {
        let calls = self.engine.history().iter().flat_map(|entry| entry.message.calls());
        calls.map(|call| (call.id, mark_in(&call.args).expect("every call has a mark")))
    }
}

fn recovered(closing: Closing) -> Option<Input> {
    match closing {
        Closing::Recovered(input) => Some(input),
        Closing::AskAgain(_) => None,
    }
}

fn is_recovered(input: &Input) -> bool {
    matches!(input, Input::Recovered { .. })
}

fn end_of_call(event: &Event) -> Option<(CallId, Outcome)> {
    match event {
        Event::CallSettled { call, outcome, .. } => Some((*call, outcome.clone())),
        _ => None,
    }
}
