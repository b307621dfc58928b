//! What was seen from outside the agent: what really ran, what was really asked, what was answered to whom.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machine_core::access::Access;
use machine_core::event::{Event, TurnEnd};
use machine_core::ids::{AttemptId, CallId, InputId, StepId, TurnId};
use machine_core::outcome::Outcome;
use machine_core::usage::Usage;

use super::job::Job;
use super::tally::Tally;
use super::trace::Trace;

/// The book of one run. The checks at the end hold it against the record.
#[derive(Default)]
pub(super) struct Book {
    pub(super) tally: Tally,
    pub(super) trace: Trace,
    pub(super) violations: Vec<String>,
    /// Counts what tools see.
    places: u64,
    /// What the model asked for; the arguments of a call name it by its place here.
    pub(super) jobs: Vec<Arc<Job>>,
    /// Executions in the order of their starts.
    pub(super) spans: Vec<Span>,
    /// Accesses that were declared again, as accepted.
    pub(super) declared: BTreeMap<CallId, Access>,
    /// Turns whose abort was answered, and when.
    pub(super) aborted: BTreeMap<TurnId, u64>,
    /// In which call a child agent works, by its branch.
    pub(super) parents: BTreeMap<u32, CallId>,
    /// Requests that left.
    pub(super) requests: BTreeSet<AttemptId>,
    /// The most requests that one step may make under any configuration so far (P9).
    pub(super) requests_of_step: u32,
    /// Model requests at this moment, over all agents.
    pub(super) streaming: u32,
    /// What each attempt reported last.
    pub(super) usage: BTreeMap<AttemptId, Usage>,
    /// The highest cap so far, of this agent and of its children (P14).
    pub(super) most_parallel: u32,
    /// The longest grace so far, in milliseconds (P15).
    pub(super) longest_grace: u64,
    /// Durable events that watchers were told, by number.
    pub(super) told: BTreeMap<u64, Arc<Event>>,
    /// Inputs that were acknowledged.
    pub(super) acknowledged: BTreeSet<InputId>,
    /// Ends of turns that clients were told.
    pub(super) ends: Vec<TurnEnd>,
    /// How the calls of a turn ended, as clients were told when they aborted it.
    pub(super) outcomes: Vec<Told>,
    /// When the agent was opened last: virtual milliseconds.
    pub(super) opened_at: u64,
}

/// What a client was told of the calls of a turn.
pub(super) struct Told {
    pub(super) turn: TurnId,
    pub(super) calls: Vec<(CallId, Outcome)>,
    /// When the opening began that told it.
    pub(super) opened_at: u64,
}

/// One execution as its tool saw it.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) call: CallId,
    pub(super) job: Arc<Job>,
    /// The highest cap so far when it began (P14).
    pub(super) cap: u32,
    /// Places in the order of everything that tools saw.
    pub(super) from: u64,
    /// When it began: virtual milliseconds.
    pub(super) began_at: u64,
    pub(super) gives_back_slot: Option<u64>,
    pub(super) gives_back_access: Option<u64>,
    /// When it was over: virtual milliseconds.
    pub(super) ended_at: Option<u64>,
    /// When it saw that it must stop.
    pub(super) stopped_at: Option<u64>,
}

impl Book {
    pub(super) fn new(keep_lines: bool) -> Self {
        Self { trace: Trace::new(keep_lines), ..Self::default() }
    }

    /// When the abort of this turn was answered.
    pub(super) fn aborted_at(&self, turn: TurnId) -> Option<u64> {
        self.aborted.get(&turn).copied()
    }

    /// When the abort of the turn of one of the calls was answered in which this agent works, however deep.
    pub(super) fn parent_aborted_at(&self, mut branch: u32) -> Option<u64> {
        while let Some(call) = self.parents.get(&branch) {
            if let Some(at) = self.aborted_at(call.step().turn()) {
                return Some(at);
            }
            branch = call.branch;
        }
        None
    }

    /// The next place in the order of everything that tools see.
    pub(super) fn next_place(&mut self) -> u64 {
        self.places += 1;
        self.places
    }

    /// How many requests of this step left.
    pub(super) fn requests_of(&self, step: StepId) -> usize {
        self.requests.range(step.attempt(0)..=step.attempt(u32::MAX)).count()
    }

    pub(super) fn ran(&self, call: CallId) -> bool {
        self.spans.iter().any(|span| span.call == call)
    }

    /// Executions that are not over.
    pub(super) fn running(&self) -> usize {
        self.spans.iter().filter(|span| span.ended_at.is_none()).count()
    }
}
