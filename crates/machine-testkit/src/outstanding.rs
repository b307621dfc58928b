//! What a machine has asked for: the asks that are open around one machine, as an adapter would keep them.
use std::collections::{BTreeMap, BTreeSet};

use machine_core::ask::{Question, Subject, Timer};

/// The open asks of a machine, and which kinds were ever asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Outstanding {
    open: BTreeMap<Subject, Open>,
    /// Kinds of questions that were asked: what a stray answer may name.
    past: BTreeSet<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Open {
    question: Question,
    withdrawn: bool,
}

impl Outstanding {
    /// Something is asked.
    ///
    /// # Errors
    /// The same is asked already: a timer that runs is armed again, a question is asked twice.
    pub fn ask(&mut self, question: &Question) -> Result<(), String> {
        self.past.insert(kind(&question.subject()));
        let open = Open { question: question.clone(), withdrawn: false };
        match self.open.insert(question.subject(), open) {
            None => Ok(()),
            Some(_) => Err(format!("E07: {:?} is asked while it is open", question.subject())),
        }
    }

    /// Something is taken back. An execution may still report, until its call ended.
    pub fn withdraw(&mut self, subject: &Subject) {
        match (subject, self.open.get_mut(subject)) {
            (Subject::Execute(_), Some(open)) => open.withdrawn = true,
            _ => drop(self.open.remove(subject)),
        }
    }

    /// Something is answered, or nobody waits for it any more.
    pub fn close(&mut self, subject: &Subject) {
        self.open.remove(subject);
    }

    /// Everything but what `stays` is gone with its process.
    pub fn retain(&mut self, stays: impl Fn(&Subject) -> bool) {
        self.open.retain(|subject, _| stays(subject));
    }

    /// What is asked about this subject.
    pub fn about(&self, subject: &Subject) -> Option<&Question> {
        self.open.get(subject).map(|open| &open.question)
    }

    /// Whether it was taken back, and may still report.
    pub fn is_withdrawn(&self, subject: &Subject) -> bool {
        self.open.get(subject).is_some_and(|open| open.withdrawn)
    }

    /// Everything that is open.
    pub fn subjects(&self) -> impl Iterator<Item = &Subject> {
        self.open.keys()
    }

    /// Whether a question of this kind was asked, and none is open: its answer would be stray.
    pub fn is_over(&self, like: &Subject) -> bool {
        let like = kind(like);
        self.past.contains(like) && self.open.keys().all(|subject| kind(subject) != like)
    }
}

/// The name of a subject without its id; a timer's with what it is for.
fn kind(subject: &Subject) -> &'static str {
    match subject {
        Subject::Screen(_) => "Screen",
        Subject::Gate(_) => "Gate",
        Subject::Attempt(_) => "Attempt",
        Subject::Recover(_) => "Recover",
        Subject::Prepare(_) => "Prepare",
        Subject::Approve(_) => "Approve",
        Subject::Execute(_) => "Execute",
        Subject::Finalize(_) => "Finalize",
        Subject::Stop(_) => "Stop",
        Subject::Maintain(_) => "Maintain",
        Subject::Timer(Timer::Backoff(_)) => "Backoff",
        Subject::Timer(Timer::StreamIdle(_)) => "StreamIdle",
        Subject::Timer(Timer::CallTimeout(_)) => "CallTimeout",
        Subject::Timer(Timer::Grace(_)) => "Grace",
        Subject::Timer(Timer::Busy) => "Busy",
        Subject::Timer(Timer::TurnWait(_)) => "TurnWait",
    }
}
