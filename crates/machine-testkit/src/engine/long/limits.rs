//! What the drawn limits bound (P9, P13, P15, P16), and that ends of turns say what happened (T10, T18, U02). It is held
//! against what the host said and what the engine reports, not against what the machines count.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machine_adapter::{Engine, Out};
use machine_core::ask::{Answer, Piece, Question, Timer};
use machine_core::config::{AtStepLimit, BudgetReset, Config};
use machine_core::event::{AttemptEnd, EndReason, Event, TurnEnd};
use machine_core::ids::{AttemptId, CallId, StepId, TurnId};
use machine_core::input::Input;
use machine_core::message::{Entry, Origin, Part};
use machine_core::response::{Finish, ModelEvent};
use machine_core::usage::{Usage, UsageSum};

use crate::explore::Checked;

/// How what is said about text that was cut ends; it does not count.
const MARKER: &str = "hooks said too much in this turn.]";

/// What was seen of the running turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Limits {
    /// The configuration that the turn began with.
    config: Arc<Config>,
    /// What the host reported of open attempts.
    reported: BTreeMap<AttemptId, Usage>,
    spent: UsageSum,
    responses: u32,
    /// Responses when the budget of steps began again.
    budget_from: u32,
    truncated: bool,
    cut: Option<Finish>,
    cut_in_row: u32,
    attempts: BTreeMap<StepId, u32>,
    recoveries: BTreeMap<StepId, u32>,
    prepared: BTreeMap<StepId, BTreeSet<CallId>>,
    /// Continuations of the stop hook since something came from outside.
    continued: u32,
    /// Whether one waits for the next step, and whether something from outside does.
    continues: bool,
    outside: bool,
    hook_chars: usize,
    /// The most that any configuration of the run let wait.
    prompts: usize,
    next_step: usize,
}

impl Limits {
    /// What is going to be handled: what it says about tokens.
    pub(super) fn expect(&mut self, engine: &Engine, input: &Input) {
        let about = input.ask().and_then(|ask| engine.ask(ask)).map(|open| &open.ask.question);
        let Some(Question::Attempt { attempt }) = about else { return };
        let usage = match input {
            Input::Piece { piece: Piece::Model(ModelEvent::Usage(usage)), .. } => Some(*usage),
            Input::Answer { answer: Answer::Finished(end), .. } => end.usage,
            Input::Answer { answer: Answer::AttemptFailed(error), .. } => error.usage,
            _ => None,
        };
        if let Some(usage) = usage {
            self.reported.insert(*attempt, usage);
        }
    }

    /// What came out of it.
    pub(super) fn observe(&mut self, engine: &Engine, out: &Out) -> Checked {
        for event in &out.events {
            self.event(engine, event)?;
        }
        self.sizes(engine)?;
        abort_ends(engine)
    }

    fn event(&mut self, engine: &Engine, event: &Event) -> Checked {
        match event {
            Event::TurnStarted { .. } => {
                let (prompts, next_step) = (self.prompts, self.next_step);
                *self = Self { config: engine.config().clone(), prompts, next_step, ..Self::default() };
                Ok(())
            }
            Event::StepStarted { step } => self.step(*step),
            Event::AttemptStarted { attempt, .. } => self.attempt(*attempt),
            Event::AttemptEnded { attempt, end, usage, .. } => self.attempt_ended(*attempt, end, *usage),
            Event::Remedied { attempt, usage, .. } => self.remedied(attempt.step(), *usage),
            Event::Committed { entry, .. } => self.committed(entry),
            Event::CallStarted { call, .. } => self.call_started(*call),
            Event::TurnEnded(end) => self.turn_ended(end),
            _ => Ok(()),
        }
    }

    fn step(&mut self, step: StepId) -> Checked {
        let turn = &self.config.turn;
        let closing = u32::from(turn.at_step_limit == AtStepLimit::ClosingStep);
        if let Some(most) = turn.max_steps
            && self.responses - self.budget_from >= most + closing
        {
            return Err(format!("P9: step {step} after {} responses of {most}", self.responses));
        }
        if self.cut_in_row >= turn.truncated {
            return Err(format!("T09: step {step} after {} cut responses in a row", self.cut_in_row));
        }
        // What came from outside in the same drain counts.
        match (std::mem::take(&mut self.outside), std::mem::take(&mut self.continues)) {
            (true, _) => self.continued = 0,
            (false, continues) => self.continued += u32::from(continues),
        }
        if self.continued > turn.stop_hook {
            return Err(format!("T16: step {step} is continuation {} of the stop hook", self.continued));
        }
        Ok(())
    }

    fn attempt(&mut self, attempt: AttemptId) -> Checked {
        let Config { turn, retry, ask, .. } = &*self.config;
        let recoveries = if ask.recover { turn.recoveries } else { 0 };
        let most = (recoveries + 1) * retry.attempts + turn.empty;
        let count = self.attempts.entry(attempt.step()).or_default();
        *count += 1;
        match *count > most {
            true => Err(format!("P9: {attempt} is request {count} of its step, of {most}")),
            false => Ok(()),
        }
    }

    fn remedied(&mut self, step: StepId, usage: Option<Usage>) -> Checked {
        if usage.is_some() {
            self.spent.book(usage);
        }
        let (count, most) = (self.recoveries.entry(step).or_default(), self.config.turn.recoveries);
        *count += 1;
        match *count > most {
            true => Err(format!("M08: step {step} recovers {count} times, of {most}")),
            false => Ok(()),
        }
    }

    fn attempt_ended(&mut self, attempt: AttemptId, end: &AttemptEnd, usage: Option<Usage>) -> Checked {
        self.spent.book(usage);
        let reported = self.reported.remove(&attempt);
        if reported != usage {
            return Err(format!("P13: {attempt} reported {reported:?}, and ended with {usage:?}"));
        }
        self.cut = None;
        if let AttemptEnd::Finished { finish, .. } = end {
            self.responses += 1;
            self.truncated |= *finish == Finish::MaxTokens;
            let cuts = match finish {
                Finish::MaxTokens | Finish::Suspended => true,
                Finish::Other => !self.config.turn.run_calls_of_other,
                Finish::EndTurn | Finish::ToolUse | Finish::Filtered => false,
            };
            self.cut = cuts.then_some(*finish);
        }
        Ok(())
    }

    fn committed(&mut self, entry: &Entry) -> Checked {
        let config = self.config.clone();
        let turn = &config.turn;
        match &entry.origin {
            Origin::Model => {
                let calls = entry.message.calls().next().is_some();
                self.cut_in_row = if calls && self.cut.is_some() { self.cut_in_row + 1 } else { 0 };
            }
            Origin::Prompt { .. } => {
                self.outside = true;
                if turn.budget_reset != BudgetReset::Nothing {
                    self.budget_from = self.responses;
                }
            }
            Origin::Notification { .. } | Origin::BackgroundEnd { .. } | Origin::LateResult { .. } => {
                self.outside = true;
                if turn.budget_reset == BudgetReset::Notifications {
                    self.budget_from = self.responses;
                }
            }
            Origin::StopHook { .. } => {
                // What opens a turn does not go on with it: the turn before was paused, and somebody resumed.
                self.continues = !self.attempts.is_empty();
                self.hook_said(entry);
            }
            Origin::Gate { .. } => self.hook_said(entry),
            _ => {}
        }
        match self.hook_chars > turn.hook_chars {
            true => Err(format!("H09: hooks said {} characters of {}", self.hook_chars, turn.hook_chars)),
            false => Ok(()),
        }
    }

    fn hook_said(&mut self, entry: &Entry) {
        let is_said = |part: &&Part| !part.as_text().is_some_and(|text| text.ends_with(MARKER));
        self.hook_chars += entry.message.content().iter().filter(is_said).map(Part::chars).sum::<usize>();
    }

    fn call_started(&mut self, call: CallId) -> Checked {
        match self.config.turn.max_tokens {
            Some(most) if self.spent.total() > most => {
                Err(format!("U04: {call} starts after {} tokens of {most}", self.spent.total()))
            }
            _ => Ok(()),
        }
    }

    fn turn_ended(&mut self, end: &TurnEnd) -> Checked {
        let TurnEnd { turn, reason, steps, usage, truncated, returned: _ } = end;
        if *usage != self.spent {
            return Err(format!("P13: turn {turn} cost {usage:?}, its attempts {:?}", self.spent));
        }
        if *steps != self.responses {
            return Err(format!("T18: turn {turn} says {steps} steps, there were {}", self.responses));
        }
        if *truncated != self.truncated {
            return Err(format!("T10: turn {turn} says truncated: {truncated}"));
        }
        match reason {
            EndReason::Completed { .. } if *truncated => {
                Err(format!("T10: turn {turn} was cut and is {}", reason.name()))
            }
            _ => Ok(()),
        }
    }

    /// What waits is bounded (A24, P16).
    fn sizes(&mut self, engine: &Engine) -> Checked {
        let (limits, inbox) = (&engine.config().inbox, &engine.agent().data().inbox);
        // Another configuration may allow less than there is.
        self.prompts = self.prompts.max(limits.prompts);
        self.next_step = self.next_step.max(limits.next_step);
        let (queue, lane) = (inbox.queue.len(), inbox.lane.iter().filter(|waiting| is_sent(waiting)).count());
        // What was steered comes back to the queue when its turn ends.
        if queue > self.prompts + self.next_step {
            return Err(format!("A24: {queue} prompts wait, of {}", self.prompts));
        }
        if lane > self.next_step {
            return Err(format!("A24: {lane} inputs wait for the next step, of {}", self.next_step));
        }
        let (mut hooks, mut calls) = (0, BTreeSet::new());
        for open in engine.outstanding() {
            match &open.ask.question {
                Question::Prepare { call, .. } => {
                    self.prepared.entry(call.step()).or_default().insert(*call);
                }
                Question::Execute { call, .. }
                | Question::Approve { call, .. }
                | Question::Finalize { call, .. } => drop(calls.insert(*call)),
                Question::Timer { timer: Timer::Grace(_) | Timer::CallTimeout(_), .. } => {}
                _ => hooks += 1,
            }
        }
        let alive = engine.calls().count();
        if calls.len() > alive || hooks > 6 + queue + lane {
            return Err(format!("P16: {} calls and {hooks} other questions are open", calls.len()));
        }
        let most = self.config.turn.calls as usize;
        match self.prepared.iter().find(|(_, calls)| calls.len() > most) {
            Some((step, calls)) => Err(format!("A24: step {step} prepares {} calls of {most}", calls.len())),
            None => Ok(()),
        }
    }
}

fn is_sent(waiting: &machine_agent::inbox::Waiting) -> bool {
    matches!(waiting, machine_agent::inbox::Waiting::Prompt(_) | machine_agent::inbox::Waiting::Note { .. })
}

/// A turn that is being aborted ends when the time of its calls is up, whatever they do (P15).
fn abort_ends(engine: &Engine) -> Checked {
    let aborting = |engine: &Engine| -> Option<TurnId> {
        let turn = engine.turn()?;
        matches!(turn.state(), machine_turn::State::Aborting(_)).then(|| turn.data().id)
    };
    let Some(turn) = aborting(engine) else { return Ok(()) };
    let mut later = engine.clone();
    let graces: Vec<_> = later
        .outstanding()
        .filter(|open| matches!(open.ask.question, Question::Timer { timer: Timer::Grace(_), .. }))
        .map(|open| open.ask.id)
        .collect();
    let mut out = Out::default();
    for ask in graces {
        let fired = Input::Answer { ask, answer: Answer::Fired };
        later.feed(0, &fired, &mut out).map_err(|error| format!("P15: {error}"))?;
    }
    match aborting(&later) {
        Some(still) if still == turn => Err(format!("P15: turn {turn} does not end when the grace is over")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use machine_core::message::text_content;

    use super::*;

    #[test]
    fn c_t16_a_turn_has_its_own_continuations() {
        let mut config = Config::default();
        config.turn.stop_hook = 1;
        let mut limits = Limits { config: Arc::new(config), ..Limits::default() };
        let turn = TurnId { branch: 1, turn: 1 };
        let says = Entry::user(Origin::StopHook { hook: "h".into() }, Some(turn), text_content("more"));
        let mut goes_on = |step: u32| {
            limits.committed(&says)?;
            let step = turn.step(step);
            limits.step(step)?;
            limits.attempt(step.attempt(1))
        };
        assert_eq!(goes_on(1), Ok(()), "it opens the turn");
        assert_eq!(goes_on(2), Ok(()));
        assert!(goes_on(3).is_err_and(|why| why.starts_with("T16: ")));
    }
}
