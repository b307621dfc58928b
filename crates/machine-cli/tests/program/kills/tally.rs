//! Where the kills of a run hit.
use std::collections::BTreeMap;
use std::fmt;

use machine_core::ask::{Question, Timer};
use machine_core::input::{Command, Input};
use machine_core::outcome::{Outcome, SkipCode};

use crate::kills::effects::Effects;
use crate::kills::truth::{Opened, Truth};

/// Counts what kills found. One kill may count under several heads.
#[derive(Default)]
pub struct Tally {
    /// Kills of a program that ran.
    pub kills: u64,
    /// Runs that were over before their moment came.
    pub ended: u64,
    /// Journals.
    pub sessions: u64,
    /// How many kills found this.
    found: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// One more kill, and what the journal said before and after its run.
    pub fn killed(&mut self, before: &Truth, after: &Truth, effects: &Effects) {
        self.kills += 1;
        let new = &after.inputs[before.inputs.len()..];
        let mut found: Vec<_> = match &after.session {
            None => vec!["before there was a header"],
            Some(_) if new.iter().all(is_of_opening) => vec![while_opening(before, new)],
            Some(session) => at_work(session),
        };
        found.extend(after.closed().into_iter().filter_map(|call| told(call, effects)));
        found.extend(after.torn.then_some("the end of the file was torn"));
        found.sort_unstable();
        found.dedup();
        for head in found {
            *self.found.entry(head).or_default() += 1;
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} kills in {} sessions ({} runs ended first); kills hit",
            self.kills, self.sessions, self.ended
        )?;
        self.found.iter().try_for_each(|(head, times)| writeln!(f, "{times:>6}  {head}"))
    }
}

/// What an opening writes by itself.
fn is_of_opening(input: &Input) -> bool {
    matches!(input, Input::Recovered { .. } | Input::Command(Command::Configure(_)))
}

fn while_opening(before: &Truth, new: &[Input]) -> &'static str {
    match &before.session {
        None => "opening: a header and nothing else",
        Some(Opened { recovered: None, .. }) => "opening: nothing was to be closed",
        Some(_) if new.is_empty() => "opening: before what was open was closed",
        Some(_) => "opening: after what was open was closed",
    }
}

/// What was going on.
fn at_work(session: &Opened) -> Vec<&'static str> {
    let Some(Input::Recovered { ran }) = &session.recovered else {
        let waits = session.left.outstanding().next().is_some();
        return vec![if waits {
            "at work: calls that waited to be allowed, only"
        } else {
            "at work: nothing"
        }];
    };
    let open = session.left.outstanding().filter_map(|open| match &open.ask.question {
        Question::Execute { call, .. } if !ran.contains(call) => Some("at work: between input and act"),
        Question::Attempt { .. } => Some("at work: a request, or its stream"),
        Question::Execute { .. } => Some("at work: a call"),
        Question::Approve { .. } => Some("at work: a call that waited to be allowed, and others"),
        Question::Timer { timer: Timer::Backoff(_), .. } => {
            Some("at work: the wait before a request is repeated")
        }
        // It runs beside what it watches.
        Question::Timer { .. } => None,
        _ => Some("at work: another question"),
    });
    let closed = session.left.is_idle().then_some("at work: the end of the program");
    open.chain(closed).collect()
}

/// How a call is told that was open.
fn told((mark, outcome): (&str, &Outcome), effects: &Effects) -> Option<&'static str> {
    match outcome {
        Outcome::Unknown if effects.has(mark) => Some("told: unknown, and it had its effect"),
        Outcome::Unknown => Some("told: unknown, and it had none"),
        Outcome::NotStarted { code: SkipCode::Crash } => Some("told: not started"),
        _ => None,
    }
}
