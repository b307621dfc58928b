//! The safety monitor: it sees everything that comes out of an engine and knows the properties P1 to P10
//! and P14 (the list is in `docs/architecture.md`). It holds the engine to what it reports, not to what it means.
use std::collections::{BTreeMap, BTreeSet};

use machine_adapter::{Engine, Order, Out};
use machine_core::access::{Access, PathRules, conflict};
use machine_core::ask::{Answer, Ask, Prepared, Question};
use machine_core::config::{Config, InboxLimits};
use machine_core::event::{Event, Receipt};
use machine_core::history::History;
use machine_core::ids::{CallId, InputId, StepId, TurnId};
use machine_core::input::{Command, Input};
use machine_core::message::Origin;
use machine_core::outcome::Outcome;

use crate::explore::Checked;

/// What was seen so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Monitor {
    /// Folded from the durable events (P10).
    folded: History,
    turn: Option<TurnId>,
    step: Option<StepId>,
    /// The running turn was told to stop (P4).
    stopping: bool,
    calls: BTreeMap<CallId, Seen>,
    receipts: BTreeMap<InputId, Pending>,
    /// Keys of reminders.
    reminders: BTreeSet<InputId>,
    told: BTreeSet<CallId>,
    requests: usize,
    /// Ids may be forgotten, and come again (A10).
    forgets: bool,
    max_parallel: usize,
    request_limit: usize,
}

/// What was seen of one call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Seen {
    started: bool,
    executed: bool,
    /// Its work may still go on.
    busy: bool,
    /// It gave its slot back.
    detached: bool,
    /// But not its accesses (B07).
    keeps: bool,
    settled: bool,
    background_ended: bool,
    late: bool,
    access: Option<Access>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Pending {
    Accepted,
    Done,
}

impl Monitor {
    /// A monitor that allows so many calls at once, and so many requests in all (P9).
    pub fn new(max_parallel: usize, request_limit: usize) -> Self {
        Self { max_parallel, request_limit, ..Self::default() }
    }

    /// A monitor of a session with this configuration, for which no number of requests is too many.
    pub fn of_session(config: &Config) -> Self {
        Self { forgets: forgets(config), ..Self::new(config.calls.max_parallel as usize, usize::MAX) }
    }

    /// What is going to be handled, before it is: what it says about calls, and whether it stops the turn.
    pub fn expect(&mut self, engine: &Engine, input: &Input) {
        let about = input.ask().and_then(|ask| engine.ask(ask)).map(|open| &open.ask.question);
        match (input, about) {
            (
                Input::Answer { answer: Answer::Prepare(Prepared::Ready(plan)), .. },
                Some(Question::Prepare { call, .. }),
            ) => {
                let seen = self.calls.entry(*call).or_default();
                seen.access = Some(plan.access.clone());
                seen.keeps = plan.keep_access;
            }
            (Input::Answer { .. } | Input::Lost { .. }, Some(Question::Execute { call, .. })) => {
                self.ended(*call)
            }
            (Input::Recovered { ran }, _) => {
                engine.calls().for_each(|call| self.ended(call.data().id));
                // What was asked and had not left did not run.
                let open = engine.outstanding().filter_map(|open| match open.ask.question {
                    Question::Execute { call, .. } => Some(call),
                    _ => None,
                });
                open.filter(|call| !ran.contains(call))
                    .for_each(|call| self.calls.entry(call).or_default().executed = false);
            }
            (Input::Command(Command::Configure(config)), _) => {
                self.forgets |= forgets(config);
                self.max_parallel = self.max_parallel.max(config.calls.max_parallel as usize);
            }
            (Input::Command(Command::Abort(_) | Command::Close), _) => self.stopping = self.turn.is_some(),
            (Input::Command(Command::Remind(reminder)), _) => {
                self.reminders.insert(reminder.key.clone());
            }
            (Input::Command(Command::Declare(call, access)), _) => {
                self.calls.entry(*call).or_default().access = Some(access.clone());
            }
            _ => {}
        }
    }

    /// The work of a call is over, or was declared gone.
    fn ended(&mut self, call: CallId) {
        self.calls.entry(call).or_default().busy = false;
    }

    /// Everything that one `handle` brought out.
    ///
    /// # Errors
    /// The property that was broken, and how.
    pub fn observe(&mut self, engine: &Engine, out: &Out) -> Checked {
        for event in &out.events {
            self.event(event)?;
        }
        opens_with_its_prompt(&out.events)?;
        let stops = |turn: &machine_turn::State| matches!(turn, machine_turn::State::Aborting(_));
        let attached = |call: &machine_tool::State| matches!(call, machine_tool::State::Attached(_));
        if engine.turn().is_some_and(|turn| stops(turn.state()))
            && let Some(call) = engine.calls().find(|call| attached(call.state()))
        {
            return Err(format!("X03: call {} goes on in a turn that is being stopped", call.data().id));
        }
        for act in &out.acts {
            self.act(engine, act)?;
        }
        for order in &out.now {
            if let Order::Ask(Ask { question: Question::Attempt { .. } | Question::Execute { .. }, .. }) =
                order
            {
                return Err(format!("J02: an act left as a question: {order:?}"));
            }
        }
        leaves_open(engine, out)?;
        match self.folded == *engine.history() {
            true => Ok(()),
            false => Err("P10: the durable events do not fold to history".into()),
        }
    }

    /// Nothing is owed: the engine must be idle, and everything told.
    ///
    /// # Errors
    /// What is missing.
    pub fn at_rest(&self, engine: &Engine) -> Checked {
        if !engine.is_idle() {
            return Err(format!("hang: nothing is owed and the agent is {:?}", engine.state().agent));
        }
        engine.history().audit().map_err(|error| format!("P2: {error}"))?;
        let holds = |id: &InputId| engine.agent().data().inbox.is_pending(id);
        if let Some(turn) = self.turn {
            return Err(format!("P7: turn {turn} never ended"));
        }
        if let Some((call, _)) = self.calls.iter().find(|(_, seen)| !seen.settled) {
            return Err(format!("P3: call {call} was never settled"));
        }
        let mut accepted = self.receipts.iter().filter(|(_, pending)| **pending == Pending::Accepted);
        match accepted.find(|(id, _)| !holds(id)) {
            Some((id, _)) => Err(format!("P5: input {id} was accepted and is lost")),
            None => Ok(()),
        }
    }

    fn event(&mut self, event: &Event) -> Checked {
        match event {
            Event::Receipt { input, receipt } => self.receipt(input, receipt),
            Event::TurnStarted { turn, .. } => self.turn_started(*turn),
            Event::TurnEnded(end) => self.turn_ended(end.turn),
            Event::StepStarted { step } => match self.step.replace(*step) {
                None if self.turn == Some(step.turn()) => Ok(()),
                open => {
                    Err(format!("E06: step {step} starts while {open:?} is open, in turn {:?}", self.turn))
                }
            },
            Event::StepEnded { step, .. } => match self.step.take() {
                Some(open) if open == *step => Ok(()),
                open => Err(format!("E06: step {step} ends while {open:?} is open")),
            },
            Event::Committed { at, entry } => {
                if *at != self.folded.len() {
                    return Err(format!("E01: entry {at} committed at {}", self.folded.len()));
                }
                if let Origin::BackgroundEnd { call } = entry.origin
                    && !self.told.insert(call)
                {
                    return Err(format!("P6: the end of {call} was told twice"));
                }
                self.folded.append(entry.clone()).map_err(|error| format!("P2: {error}"))
            }
            Event::Edited { edit } => self.folded.edit(edit).map_err(|error| format!("A18: {error}")),
            Event::CallAnnounced { call, .. } => match self.calls.insert(*call, Seen::default()) {
                None => Ok(()),
                Some(_) => Err(format!("E06: call {call} announced twice")),
            },
            Event::CallStarted { call, .. } => self.call_started(*call),
            Event::CallDetached { call } => {
                self.seen(*call)?.detached = true;
                Ok(())
            }
            Event::CallSettled { call, outcome, .. } => self.call_settled(*call, outcome),
            Event::BackgroundEnded { call, .. } => {
                let seen = self.seen(*call)?;
                let first = seen.detached && !std::mem::replace(&mut seen.background_ended, true);
                if first { Ok(()) } else { Err(format!("P6: background end of {call} out of place")) }
            }
            Event::LateResult { call, .. } => {
                let seen = self.seen(*call)?;
                let first = seen.settled && !std::mem::replace(&mut seen.late, true);
                if first { Ok(()) } else { Err(format!("X06: late result of {call} out of place")) }
            }
            Event::AttemptStarted { attempt, .. } => {
                self.requests += 1;
                match () {
                    () if self.step != Some(attempt.step()) => {
                        Err(format!("T05: attempt {attempt} outside its step"))
                    }
                    () if self.stopping => Err(format!("P4: attempt {attempt} after an abort")),
                    () if self.requests > self.request_limit => Err(format!("P9: request {}", self.requests)),
                    () => Ok(()),
                }
            }
            Event::Delta { attempt, .. } if self.step != Some(attempt.step()) => {
                Err(format!("P7: a delta of {attempt} outside its step"))
            }
            _ => Ok(()),
        }
    }

    fn act(&mut self, engine: &Engine, act: &Ask) -> Checked {
        match &act.question {
            Question::Attempt { attempt } => {
                let request = engine.request(*attempt).ok_or(format!("T03: {attempt} has no request"))?;
                request.history.ready().map_err(|error| format!("P1: {error}"))
            }
            Question::Execute { call, .. } => {
                let seen = self.seen(*call)?;
                match () {
                    () if !seen.started => Err(format!("C06: {call} runs before it is reported as started")),
                    () if std::mem::replace(&mut seen.executed, true) => {
                        Err(format!("P8: {call} runs twice"))
                    }
                    () => Ok(()),
                }
            }
            _ => Err(format!("J02: a question left as an act: {act:?}")),
        }
    }

    fn receipt(&mut self, input: &InputId, receipt: &Receipt) -> Checked {
        let before = self.receipts.get(input).copied();
        let next = match (before, receipt) {
            (None, Receipt::Accepted) => Pending::Accepted,
            (Some(Pending::Done), Receipt::Accepted) if self.forgets || self.reminders.contains(input) => {
                Pending::Accepted
            }
            (Some(Pending::Accepted), Receipt::Steered | Receipt::Held(_)) => Pending::Accepted,
            (Some(Pending::Accepted), Receipt::Taken(_) | Receipt::Dropped(_) | Receipt::Returned) => {
                Pending::Done
            }
            (Some(Pending::Done), Receipt::TurnEnded(..)) => Pending::Done,
            // Its turn had taken the first that had this id.
            (Some(Pending::Accepted), Receipt::TurnEnded(..)) if self.forgets => Pending::Accepted,
            (before, receipt) => return Err(format!("P5: input {input} has {receipt:?} after {before:?}")),
        };
        self.receipts.insert(input.clone(), next);
        Ok(())
    }

    fn turn_started(&mut self, turn: TurnId) -> Checked {
        self.stopping = false;
        match self.turn.replace(turn) {
            None => Ok(()),
            Some(open) => Err(format!("P7: turn {turn} starts while {open} runs")),
        }
    }

    fn turn_ended(&mut self, turn: TurnId) -> Checked {
        if self.turn.take() != Some(turn) {
            return Err(format!("P7: turn {turn} ends and does not run"));
        }
        if let Some(step) = self.step {
            return Err(format!("E06: turn {turn} ends while step {step} is open"));
        }
        match self.calls.iter().find(|(call, seen)| call.step().turn() == turn && !seen.settled) {
            Some((call, _)) => Err(format!("P3: turn {turn} ends and {call} is not settled")),
            None => Ok(()),
        }
    }

    fn call_started(&mut self, call: CallId) -> Checked {
        if self.stopping {
            return Err(format!("P4: {call} starts after an abort"));
        }
        let mine = self.seen(call)?.access.clone().unwrap_or_default();
        let busy = self.calls.iter().filter(|(_, seen)| seen.busy);
        let rules = PathRules::default();
        if busy.clone().filter(|(_, seen)| !seen.detached).count() >= self.max_parallel {
            return Err(format!("P14: {call} starts beyond the cap"));
        }
        let others = busy.filter(|(_, seen)| !seen.detached || seen.keeps);
        let clash = others.map(|(id, seen)| (id, seen.access.clone().unwrap_or_default()));
        if let Some((other, _)) = clash.into_iter().find(|(_, access)| conflict(&mine, access, &rules)) {
            return Err(format!("P14: {call} starts while {other} runs, and they conflict"));
        }
        let seen = self.seen(call)?;
        if seen.settled || std::mem::replace(&mut seen.started, true) {
            return Err(format!("C06: {call} starts twice, or after it was settled"));
        }
        seen.busy = true;
        Ok(())
    }

    fn call_settled(&mut self, call: CallId, outcome: &Outcome) -> Checked {
        let seen = self.seen(call)?;
        if std::mem::replace(&mut seen.settled, true) {
            return Err(format!("P3: {call} settles twice"));
        }
        let ran = matches!(
            outcome,
            Outcome::TimedOut { .. } | Outcome::Unknown | Outcome::Cancelled { may_have_run: true }
        );
        if ran && !seen.started {
            return Err(format!("V12: {call} settles as {outcome:?} and never started"));
        }
        if matches!(outcome, Outcome::NotStarted { .. } | Outcome::Denied { .. }) && seen.executed {
            return Err(format!("V12: {call} settles as {outcome:?} and was executed"));
        }
        Ok(())
    }

    fn seen(&mut self, call: CallId) -> Result<&mut Seen, String> {
        self.calls.get_mut(&call).ok_or(format!("E06: {call} was never announced"))
    }
}

/// Whether ids may be forgotten, and come again (A10).
fn forgets(config: &Config) -> bool {
    config.inbox.remembered_ids < InboxLimits::default().remembered_ids
}

/// What is asked is open, unless it is taken back in the same breath: else its answer would fit nothing. An act that is
/// taken back then does not leave at all (E07, J02).
fn leaves_open(engine: &Engine, out: &Out) -> Checked {
    let is_open = |ask: &Ask| engine.ask(ask.id).is_some_and(|open| !open.withdrawn);
    let questions = out.now.iter().filter_map(|order| match order {
        Order::Ask(ask) => Some(ask),
        Order::Withdraw(_) => None,
    });
    let is_taken_back = |ask: &Ask| {
        let mut all = out.now.iter();
        all.any(|order| matches!(order, Order::Withdraw(withdrawal) if withdrawal.ask == ask.id))
    };
    let lost = out.acts.iter().find(|act| !is_open(act));
    match lost.or_else(|| questions.into_iter().find(|ask| !is_open(ask) && !is_taken_back(ask))) {
        Some(ask) => Err(format!("E07: ask {} left and is not open: {:?}", ask.id, ask.question)),
        None => Ok(()),
    }
}

/// A turn begins with at most one prompt: the one that it is told to open with (A05).
fn opens_with_its_prompt(events: &[Event]) -> Checked {
    let mut opens = None;
    for event in events {
        match event {
            Event::TurnStarted { prompt, .. } => opens = Some(prompt),
            Event::StepStarted { .. } | Event::TurnEnded(_) => opens = None,
            Event::Committed { entry, .. } => match (&entry.origin, opens) {
                (Origin::Prompt { id }, Some(prompt)) if prompt.as_ref() != Some(id) => {
                    return Err(format!("A05: a turn that {prompt:?} opens begins with {id}"));
                }
                _ => {}
            },
            _ => {}
        }
    }
    Ok(())
}
