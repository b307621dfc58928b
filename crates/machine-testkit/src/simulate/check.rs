//! Holds the record against itself, against history, and against the book.
use std::collections::BTreeMap;

use machine_core::event::{EndReason, TurnEnd};
use machine_core::event::{Event, TurnError};
use machine_core::history::History;
use machine_core::message::Message;
use machine_host::{Place, Seen};

use super::account;
use super::book::Book;
use super::brackets;
use super::hooks::SECRET;
use super::life::Life;
use super::overlap;
use super::receipts;
use super::tool::RAW;
use super::world::World;

/// Everything that must hold of a run that came to rest.
pub(super) async fn check(life: &Life) {
    let (history, seen) = (life.agent.history().await, life.agent.recorded(0).await);
    let (history, seen) = match (history, seen) {
        (Ok(history), Ok(seen)) => (history, seen),
        (history, seen) => {
            let wrong = (history.err(), seen.err());
            return life.world.violated(format!("E04: it cannot be read: {wrong:?}"));
        }
    };
    let mut wrong = Vec::new();
    let events: Vec<&Event> = seen.iter().map(|seen| &*seen.event).collect();
    {
        let book = life.world.book();
        numbers(&seen, &book, &mut wrong);
        folds(&events, &history, &mut wrong);
        brackets::check(&events, &mut wrong);
        receipts::check(&events, &book, &mut wrong);
        account::honest(&seen, &book, &mut wrong);
        account::durable(&events, &book, &mut wrong);
        account::ends(&seen, &book, &mut wrong);
        account::usage(&events, &book, &mut wrong);
        overlap::check(&book, &mut wrong);
    }
    hidden(life, &history, &mut wrong);
    wrong.into_iter().for_each(|wrong| life.world.violated(wrong));
    ends_of_turns(&life.world, &events);
}

/// Numbers have no gap, and what watchers were told is what is recorded (E01, E03, P11).
fn numbers(seen: &[Seen], book: &Book, wrong: &mut Vec<String>) {
    for (n, seen) in (0..).zip(seen) {
        if seen.place != Place::Durable(n) {
            wrong.push(format!("E01: {:?} stands where number {n} should", seen.place));
        }
    }
    for (n, told) in &book.told {
        let recorded = usize::try_from(*n).ok().and_then(|n| seen.get(n));
        if recorded.is_none_or(|recorded| recorded.event != *told) {
            let recorded = recorded.map(|recorded| &recorded.event);
            wrong.push(format!("P11: number {n} was told as {told:?}, recorded is {recorded:?}"));
        }
    }
}

/// Folding the durable events gives history (P10).
fn folds(events: &[&Event], history: &History, wrong: &mut Vec<String>) {
    let mut folded = History::new();
    for event in events {
        let done = match event {
            Event::Committed { at, entry } => {
                if *at != folded.len() {
                    wrong.push(format!("P10: entry {at} comes after {}", folded.len()));
                }
                folded.append(entry.clone())
            }
            Event::Edited { edit } => folded.edit(edit),
            _ => Ok(()),
        };
        if let Err(error) = done {
            wrong.push(format!("P10: the events do not fold: {error}"));
        }
    }
    if folded != *history {
        wrong.push("P10: folding the events does not give history".into());
    }
    if let Err(error) = history.audit() {
        wrong.push(format!("V06: history is not sound: {error}"));
    }
}

/// What a finalizer or a seal takes out is nowhere (C11, J11).
fn hidden(life: &Life, history: &History, wrong: &mut Vec<String>) {
    for entry in history.iter() {
        let text = entry.message.text();
        let tool = matches!(entry.message, Message::Tool(_));
        if life.stage().has(|wants| wants.finalize) && tool && text.contains(RAW) {
            wrong.push(format!("C11: not finalized: {text}"));
        }
        if life.stage().has(|wants| wants.seal) && text.contains(SECRET) {
            wrong.push(format!("J11: not sealed: {text}"));
        }
    }
}

/// Counts how turns ended.
fn ends_of_turns(world: &World, events: &[&Event]) {
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    for event in events {
        if let Event::TurnEnded(TurnEnd { reason, .. }) = event {
            *counts.entry(named(reason)).or_default() += 1;
        }
    }
    let mut book = world.book();
    for (name, count) in counts {
        (0..count).for_each(|_| book.tally.count(name));
    }
}

fn named(reason: &EndReason) -> &'static str {
    match reason {
        EndReason::Completed { stopped_by: None } => "turn completed",
        EndReason::Completed { stopped_by: Some(_) } => "turn stopped by a result",
        EndReason::MaxTokens => "turn max_tokens",
        EndReason::Suspended => "turn suspended",
        EndReason::Other => "turn other",
        EndReason::Filtered => "turn filtered",
        EndReason::Paused => "turn paused",
        EndReason::Blocked(_) => "turn blocked",
        EndReason::StepLimit => "turn step_limit",
        EndReason::RepeatLimit => "turn repeat_limit",
        EndReason::BudgetLimit => "turn budget_limit",
        EndReason::Aborted(_) => "turn aborted",
        EndReason::Interrupted => "turn interrupted",
        EndReason::Failed(error) => match &**error {
            TurnError::Model { .. } => "turn failed: model",
            TurnError::RateLimited { .. } => "turn failed: rate limited",
            TurnError::EmptyResponse { .. } => "turn failed: empty response",
            TurnError::ContextOverflow { .. } => "turn failed: context overflow",
            TurnError::Gate(_) => "turn failed: gate",
            TurnError::FatalCall { .. } => "turn failed: fatal call",
            TurnError::Faulted(_) => "turn failed: faulted",
        },
    }
}
