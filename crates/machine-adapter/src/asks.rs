//! The table of open asks: it is `outstanding()`, the stray test (E07), recovery and hand-over in one.
//!
//! Architecture invariant: nothing is matched by position or by "the latest"; an id is never used again.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use machine_core::ask::{Answer, Ask, Question, Subject, Timer};
use machine_core::config::Questions;
use machine_core::ids::{AskId, CallId};
use serde::{Deserialize, Serialize};

use crate::recent::Recent;

/// The open asks of a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct Asks {
    branch: u32,
    last: u32,
    open: Recent<AskId, Open>,
    #[serde(skip)]
    by_subject: BySubject,
}

/// Which ask is open about what: about calls, by call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct BySubject {
    of_calls: Recent<CallId, [Option<AskId>; PLACES]>,
    others: BTreeMap<Subject, AskId>,
}

/// One open ask (H07).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Open {
    /// What was asked.
    pub ask: Ask,
    /// Since when; milliseconds, wall time.
    pub since: u64,
    /// Taken back, but its outcome still counts: an execution that is being stopped, or is deaf.
    pub withdrawn: bool,
}

impl Asks {
    /// No asks yet.
    pub fn new(branch: u32) -> Self {
        Self { branch, last: 0, open: Recent::new(), by_subject: BySubject::default() }
    }

    /// All of them, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Open> {
        self.open.values()
    }

    /// One of them.
    pub fn get(&self, ask: AskId) -> Option<&Open> {
        self.open.get(ask)
    }

    /// Whether none is open.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The open ask about this subject.
    pub fn about(&self, subject: &Subject) -> Option<AskId> {
        self.by_subject.get(subject)
    }

    /// Hashes what is open, without its numbers.
    pub(crate) fn hash_unnumbered<H: Hasher>(&self, state: &mut H) {
        for Open { ask, since, withdrawn } in self.by_subject.iter().filter_map(|id| self.open.get(id)) {
            let Ask { id: _, timeout_ms, question } = ask;
            (timeout_ms, question, since, withdrawn).hash(state);
        }
    }

    pub(crate) fn ask(&mut self, question: Question, timeouts: &Questions, now: u64) -> Ask {
        self.last += 1;
        let id = AskId { branch: self.branch, serial: self.last };
        let subject = question.subject();
        let ask = Ask { id, timeout_ms: timeout(&question, timeouts), question };
        self.open.insert(id, Open { ask: ask.clone(), since: now, withdrawn: false });
        let before = self.by_subject.insert(subject, id);
        debug_assert!(before.is_none(), "E07: two open asks about one subject: {:?}", ask.question);
        ask
    }

    /// Forgets an ask: it is answered, or nobody waits for it.
    pub(crate) fn close(&mut self, ask: AskId) -> Option<Open> {
        let open = self.open.remove(ask)?;
        self.by_subject.remove(&open.ask.question.subject());
        Some(open)
    }

    /// Takes an ask back. An execution stays in the table until it ends: its outcome still counts.
    pub(crate) fn withdraw(&mut self, subject: &Subject) -> Option<AskId> {
        let id = self.about(subject)?;
        if !matches!(subject, Subject::Execute(_)) {
            self.close(id);
            return Some(id);
        }
        let open = self.open.get_mut(id)?;
        let first = !core::mem::replace(&mut open.withdrawn, true);
        first.then_some(id)
    }

    /// The execution of a call that is over for all purposes.
    pub(crate) fn forget_execution(&mut self, call: CallId) {
        if let Some(id) = self.about(&Subject::Execute(call)) {
            self.close(id);
        }
    }

    pub(crate) fn drain(&mut self) -> Vec<AskId> {
        self.by_subject = BySubject::default();
        core::mem::take(&mut self.open).keys().collect()
    }
}

/// What may be asked about a call.
const PLACES: usize = 6;

/// The call that a subject is of, and the place of its ask among those of the call.
fn of_call(subject: &Subject) -> Option<(CallId, usize)> {
    match subject {
        Subject::Prepare(call) => Some((*call, 0)),
        Subject::Approve(call) => Some((*call, 1)),
        Subject::Execute(call) => Some((*call, 2)),
        Subject::Finalize(call) => Some((*call, 3)),
        Subject::Timer(Timer::CallTimeout(call)) => Some((*call, 4)),
        Subject::Timer(Timer::Grace(call)) => Some((*call, 5)),
        Subject::Timer(Timer::Backoff(_) | Timer::StreamIdle(_) | Timer::Busy | Timer::TurnWait(_)) => None,
        Subject::Screen(_) | Subject::Gate(_) | Subject::Attempt(_) | Subject::Recover(_) => None,
        Subject::Stop(_) | Subject::Maintain(_) => None,
    }
}

impl BySubject {
    fn get(&self, subject: &Subject) -> Option<AskId> {
        match of_call(subject) {
            Some((call, place)) => self.of_calls.get(call)?[place],
            None => self.others.get(subject).copied(),
        }
    }

    /// Gives what stood there.
    fn insert(&mut self, subject: Subject, ask: AskId) -> Option<AskId> {
        let Some((call, place)) = of_call(&subject) else { return self.others.insert(subject, ask) };
        match self.of_calls.get_mut(call) {
            Some(asks) => asks[place].replace(ask),
            None => {
                let mut asks = [None; PLACES];
                asks[place] = Some(ask);
                self.of_calls.insert(call, asks);
                None
            }
        }
    }

    fn remove(&mut self, subject: &Subject) {
        let Some((call, place)) = of_call(subject) else {
            self.others.remove(subject);
            return;
        };
        let Some(asks) = self.of_calls.get_mut(call) else { return };
        asks[place] = None;
        if *asks == [None; PLACES] {
            self.of_calls.remove(call);
        }
    }

    /// In an order that the subjects alone make.
    fn iter(&self) -> impl Iterator<Item = AskId> {
        self.others.values().copied().chain(self.of_calls.values().flatten().flatten().copied())
    }
}

/// What is written of the table: the index by subject is derived.
#[derive(Deserialize)]
struct Written {
    branch: u32,
    last: u32,
    open: Recent<AskId, Open>,
}

impl From<Written> for Asks {
    fn from(Written { branch, last, open }: Written) -> Self {
        let mut by_subject = BySubject::default();
        for (id, open) in open.iter() {
            by_subject.insert(open.ask.question.subject(), id);
        }
        Self { branch, last, open, by_subject }
    }
}

/// Hooks have a bound; people, maintenance, acts and timers have none of this kind (H02).
fn timeout(question: &Question, questions: &Questions) -> Option<u64> {
    let hook = match question {
        Question::Screen { .. }
        | Question::Gate { .. }
        | Question::Recover { .. }
        | Question::Stop { .. } => true,
        Question::Prepare { .. } | Question::Finalize { .. } => true,
        Question::Approve { .. } | Question::Maintain { .. } | Question::Timer { .. } => false,
        Question::Attempt { .. } | Question::Execute { .. } => false,
    };
    (hook && questions.timeout_ms > 0).then_some(questions.timeout_ms)
}

/// Whether an answer is one to this question (E07).
pub(crate) fn fits(question: &Question, answer: &Answer) -> bool {
    match (question, answer) {
        (Question::Screen { .. }, Answer::Screen(_) | Answer::Failed(_)) => true,
        (Question::Gate { .. }, Answer::Gate(_) | Answer::Failed(_)) => true,
        (Question::Attempt { .. }, Answer::Finished(_) | Answer::AttemptFailed(_)) => true,
        (Question::Recover { .. }, Answer::Recover(_) | Answer::Failed(_)) => true,
        (Question::Prepare { .. }, Answer::Prepare(_) | Answer::Failed(_)) => true,
        (Question::Approve { digest, .. }, Answer::Approve(approved)) => approved.digest == *digest,
        (Question::Approve { .. }, Answer::Failed(_)) => true,
        (Question::Execute { .. }, Answer::Execute(_)) => true,
        (Question::Finalize { .. }, Answer::Finalize(_) | Answer::Failed(_)) => true,
        (Question::Stop { .. }, Answer::Stop(_) | Answer::Failed(_)) => true,
        (Question::Maintain { .. }, Answer::Maintained | Answer::Failed(_)) => true,
        (Question::Timer { .. }, Answer::Fired) => true,
        _ => false,
    }
}
