//! What was told is what happened: outcomes, ends, tokens.
use std::collections::{BTreeMap, BTreeSet};

use machine_core::event::{AttemptEnd, EndReason, Event, TurnEnd, TurnError};
use machine_core::ids::{CallId, TurnId};
use machine_core::outcome::Outcome;
use machine_core::usage::UsageSum;
use machine_host::Seen;

use super::book::{Book, Span, Told};
use super::job::Does;

/// What ran is never said not to have run (V12), and what was cancelled while it ran saw it (X03).
pub(super) fn honest(seen: &[Seen], book: &Book, wrong: &mut Vec<String>) {
    let spans: BTreeMap<CallId, &Span> = book.spans.iter().map(|span| (span.call, span)).collect();
    for seen in seen {
        let Event::CallSettled { call, outcome, .. } = &*seen.event else { continue };
        let unstarted = match outcome {
            Outcome::NotStarted { .. } | Outcome::Denied { .. } => true,
            Outcome::Cancelled { may_have_run } | Outcome::TimedOut { may_have_run } => !may_have_run,
            Outcome::Ok | Outcome::Error { .. } | Outcome::Unknown => false,
        };
        let Some(span) = spans.get(call) else { continue };
        if unstarted {
            wrong.push(format!("V12: {call} ran, and was answered {outcome:?}"));
        }
        let stopped = matches!(outcome, Outcome::Cancelled { .. } | Outcome::TimedOut { .. });
        let listens = matches!(span.job.does, Does::Obeys | Does::Late | Does::PanicsWhenCancelled);
        // What works first does not listen yet.
        let heard = [span.stopped_at, span.ended_at].into_iter().flatten().min();
        let works = span.began_at + span.job.ms > seen.at;
        if stopped && listens && !works && heard.is_none_or(|heard| heard > seen.at) {
            wrong.push(format!("X03: {call} was answered {outcome:?} and never told to stop"));
        }
    }
}

/// What ran and what was requested had been recorded before: acts leave when they are durable (J02).
pub(super) fn durable(events: &[&Event], book: &Book, wrong: &mut Vec<String>) {
    let (mut calls, mut attempts) = (BTreeSet::new(), BTreeSet::new());
    for event in events {
        match event {
            Event::CallStarted { call, .. } => drop(calls.insert(*call)),
            Event::AttemptStarted { attempt, .. } => drop(attempts.insert(*attempt)),
            _ => {}
        }
    }
    // Children have no journal.
    let recorded = |branch: u32| !book.parents.contains_key(&branch);
    for span in book.spans.iter().filter(|span| recorded(span.call.branch)) {
        if !calls.contains(&span.call) {
            wrong.push(format!("J02: {} ran, and its start is not recorded", span.call));
        }
    }
    for attempt in book.requests.iter().filter(|attempt| recorded(attempt.branch)) {
        if !attempts.contains(attempt) {
            wrong.push(format!("J02: request {attempt} left, and is not recorded"));
        }
    }
}

/// Ends and outcomes that clients were told are those of the record (T18, X11). What was true in memory only, because
/// the journal had failed, is not in it (A22).
pub(super) fn ends(seen: &[Seen], book: &Book, wrong: &mut Vec<String>) {
    let (mut recorded, mut settled) = (BTreeMap::new(), BTreeMap::<TurnId, Vec<_>>::new());
    for seen in seen {
        match &*seen.event {
            Event::TurnEnded(end) => drop(recorded.insert(end.turn, end)),
            Event::CallSettled { call, outcome, .. } => {
                settled.entry(call.step().turn()).or_default().push((*call, outcome.clone(), seen.at));
            }
            _ => {}
        }
    }
    for end in book.ends.iter().filter(|end| !is_in_memory_only(end)) {
        if recorded.get(&end.turn) != Some(&end) {
            wrong.push(format!("T18: told was {end:?}, recorded is {:?}", recorded.get(&end.turn)));
        }
    }
    for Told { turn, calls, opened_at } in &book.outcomes {
        if book.ends.iter().any(|end| end.turn == *turn && is_in_memory_only(end)) {
            continue;
        }
        let mut settled = settled.get(turn).cloned().unwrap_or_default();
        settled.sort_by_key(|(call, ..)| *call);
        // What was settled and folded away before the opening cannot be told.
        let folded = edited_until(seen, *turn, *opened_at);
        let may_be_missing = |(call, _, at): &(CallId, Outcome, u64)| {
            folded && at <= opened_at && !calls.iter().any(|(told, _)| told == call)
        };
        settled.retain(|settled| !may_be_missing(settled));
        let settled: Vec<_> = settled.into_iter().map(|(call, outcome, _)| (call, outcome)).collect();
        if settled != *calls {
            wrong.push(format!("X11: the calls of {turn} were told as {calls:?}, and are {settled:?}"));
        }
    }
}

/// Whether history was edited in this turn before that time.
fn edited_until(seen: &[Seen], turn: TurnId, at: u64) -> bool {
    let begins = |seen: &&Seen| matches!(&*seen.event, Event::TurnStarted { turn: of, .. } if *of == turn);
    let from = seen.iter().position(|seen| begins(&seen)).unwrap_or(seen.len());
    seen[from..].iter().any(|seen| seen.at <= at && matches!(&*seen.event, Event::Edited { .. }))
}

fn is_in_memory_only(end: &TurnEnd) -> bool {
    matches!(&end.reason, EndReason::Failed(error) if matches!(**error, TurnError::Faulted(_)))
}

/// The usage of a turn is the sum over its attempts, and that of an attempt what the model reported (P13).
pub(super) fn usage(events: &[&Event], book: &Book, wrong: &mut Vec<String>) {
    let mut sum = UsageSum::default();
    for event in events {
        match event {
            Event::AttemptEnded { attempt, end, usage, .. } => {
                sum.book(*usage);
                let reported = book.usage.get(attempt).copied();
                if matches!(end, AttemptEnd::Finished { .. }) && *usage != reported {
                    wrong.push(format!("P13: {attempt} cost {usage:?}, reported was {reported:?}"));
                }
            }
            Event::Remedied { usage: Some(usage), .. } => sum.book(Some(*usage)),
            Event::TurnEnded(end) => {
                if end.usage != sum {
                    wrong.push(format!("P13: {} cost {:?}, its attempts {sum:?}", end.turn, end.usage));
                }
                sum = UsageSum::default();
            }
            _ => {}
        }
    }
}
