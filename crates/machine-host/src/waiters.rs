//! Who waits for what: each is answered once, when it is durable (J02).
use std::collections::BTreeMap;

use machine_adapter::Engine;
use machine_core::Text;
use machine_core::event::{Event, MaintenanceEnd, Receipt, TurnEnd};
use machine_core::ids::{CallId, InputId, TurnId};
use machine_core::message::Message;
use machine_core::outcome::Outcome;
use tokio::sync::oneshot::Sender;
use tracing::Span;

use crate::error::{CommandError, PromptError};
use crate::hooks::EndedTurn;

/// What an abort leads to (X11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aborted {
    /// The end of the turn, with what it cost; none if no turn ran.
    pub end: Option<TurnEnd>,
    /// How each call of the turn was answered, in call order. If the turn began before this opening and a hook folded
    /// results of it away before that, those are not among them.
    pub calls: Vec<(CallId, Outcome)>,
}

/// How a command is answered.
pub(crate) enum Reply {
    /// When it is accepted.
    Accepted(Sender<Result<(), CommandError>>),
    /// When the turn of this prompt ended. The span is where it was asked for.
    TurnEnd(InputId, Span, Sender<Result<EndedTurn, PromptError>>),
    /// When what it stopped has ended.
    Aborted(Sender<Result<Aborted, CommandError>>),
    /// When the maintenance it began is over.
    Maintained(Sender<Result<MaintenanceEnd, CommandError>>),
    /// When the agent is closed.
    Closed(Sender<Result<(), CommandError>>),
}

/// Replies that wait. A client that went away is no reason to stay awake.
#[derive(Default)]
pub(crate) struct Waiters {
    prompts: BTreeMap<InputId, (Span, Sender<Result<EndedTurn, PromptError>>)>,
    aborts: Vec<(TurnId, Sender<Result<Aborted, CommandError>>)>,
    maintenance: Vec<Sender<Result<MaintenanceEnd, CommandError>>>,
    closing: Vec<Sender<Result<(), CommandError>>>,
    idle: Vec<Sender<()>>,
    /// The turn that ended last: the receipts of its prompts come right after it.
    ended: Option<EndedTurn>,
    /// Why nothing more will happen: told to those whose turn did not end with it.
    faulted: Option<Text>,
}

impl Reply {
    /// The command is not carried out.
    pub(crate) fn refuse(self, why: CommandError) {
        match self {
            Self::Accepted(to) | Self::Closed(to) => tell(to, Err(why)),
            Self::TurnEnd(_, _, to) => tell(to, Err(why.into())),
            Self::Aborted(to) => tell(to, Err(why)),
            Self::Maintained(to) => tell(to, Err(why)),
        }
    }
}

impl Waiters {
    /// The command was accepted. `turn` ran before it.
    pub(crate) fn accept(&mut self, reply: Reply, turn: Option<TurnId>) {
        match (reply, turn) {
            (Reply::Accepted(to), _) => tell(to, Ok(())),
            (Reply::TurnEnd(id, span, to), _) => drop(self.prompts.insert(id, (span, to))),
            (Reply::Aborted(to), Some(turn)) => self.aborts.push((turn, to)),
            (Reply::Aborted(to), None) => tell(to, Ok(Aborted { end: None, calls: Vec::new() })),
            (Reply::Maintained(to), _) => self.maintenance.push(to),
            (Reply::Closed(to), _) => self.closing.push(to),
        }
    }

    /// Where somebody waits for the turn of this prompt.
    pub(crate) fn asked_in(&self, prompt: &InputId) -> Option<&Span> {
        self.prompts.get(prompt).map(|(span, _)| span)
    }

    /// Somebody waits for the agent to be idle (H08).
    pub(crate) fn until_idle(&mut self, to: Sender<()>) {
        self.idle.push(to);
    }

    /// Something happened. `seen`: how calls of the running turn were answered, as this opening saw it.
    pub(crate) fn see(&mut self, event: &Event, engine: &Engine, seen: &BTreeMap<CallId, Outcome>) {
        match event {
            Event::TurnEnded(end) => {
                self.turn_ended(end, engine, seen);
                self.ended = Some(EndedTurn { end: end.clone(), history: engine.history().clone() });
            }
            Event::Receipt { input, receipt } => self.receipt(input, receipt),
            Event::MaintenanceEnded { end, .. } => {
                self.maintenance.drain(..).for_each(|to| tell(to, Ok(end.clone())));
            }
            Event::Faulted { cause } => {
                self.faulted = Some(cause.clone());
                let refused = || machine_core::input::Refused::Faulted(cause.clone());
                self.maintenance.drain(..).for_each(|to| tell(to, Err(refused().into())));
            }
            _ => {}
        }
    }

    /// Everything that happened was seen.
    pub(crate) fn look(&mut self, engine: &Engine) {
        self.ended = None;
        if engine.is_idle() {
            self.idle.drain(..).for_each(|to| tell(to, ()));
        }
        if let Some(cause) = self.faulted.take() {
            for (_, (_, to)) in std::mem::take(&mut self.prompts) {
                tell(to, Err(PromptError::Faulted(cause.clone())));
            }
            for (_, to) in self.aborts.drain(..) {
                tell(to, Err(machine_core::input::Refused::Faulted(cause.clone()).into()));
            }
        }
    }

    /// The agent is closed, and its driver is gone.
    pub(crate) fn closed(self) {
        self.closing.into_iter().for_each(|to| tell(to, Ok(())));
    }

    /// Whether somebody waits for the end of this opening.
    pub(crate) fn is_closing(&self) -> bool {
        !self.closing.is_empty()
    }

    /// Whether nobody waits.
    pub(crate) fn is_empty(&mut self) -> bool {
        let Self { prompts, aborts, maintenance, closing, idle, ended: _, faulted: _ } = self;
        prompts.retain(|_, (_, to)| !to.is_closed());
        aborts.retain(|(_, to)| !to.is_closed());
        maintenance.retain(|to| !to.is_closed());
        closing.retain(|to| !to.is_closed());
        idle.retain(|to| !to.is_closed());
        prompts.is_empty()
            && aborts.is_empty()
            && maintenance.is_empty()
            && closing.is_empty()
            && idle.is_empty()
    }

    fn turn_ended(&mut self, end: &TurnEnd, engine: &Engine, seen: &BTreeMap<CallId, Outcome>) {
        let (done, waiting) =
            std::mem::take(&mut self.aborts).into_iter().partition(|(turn, _)| *turn == end.turn);
        self.aborts = waiting;
        let done: Vec<_> = done;
        for (turn, to) in done {
            // What was answered before this opening went into history since, if it was not there then.
            let mut calls = answered(engine, turn);
            calls.extend(seen.clone());
            let calls = calls.into_iter().collect();
            tell(to, Ok(Aborted { end: Some(end.clone()), calls }));
        }
    }

    fn receipt(&mut self, input: &InputId, receipt: &Receipt) {
        let answer = match receipt {
            Receipt::Accepted | Receipt::Steered | Receipt::Held(_) | Receipt::Taken(_) => return,
            Receipt::TurnEnded(turn, _) => {
                match self.ended.as_ref().filter(|ended| ended.end.turn == *turn) {
                    Some(ended) => Ok(ended.clone()),
                    None => return,
                }
            }
            Receipt::Dropped(why) => Err(PromptError::Dropped(why.clone())),
            Receipt::Returned => Err(PromptError::Returned),
        };
        if let Some((_, to)) = self.prompts.remove(input) {
            tell(to, answer);
        }
    }
}

/// How the calls of this turn were answered, as history has it.
pub(crate) fn answered(engine: &Engine, turn: TurnId) -> BTreeMap<CallId, Outcome> {
    let results = engine.history().of_turn(turn).filter_map(|entry| match &entry.message {
        Message::Tool(tool) => Some((tool.call, tool.outcome.clone())),
        _ => None,
    });
    results.collect()
}

/// Answers. Whoever asked may have gone away meanwhile; that is their right.
pub(crate) fn tell<T>(to: Sender<T>, answer: T) {
    let _ = to.send(answer);
}
