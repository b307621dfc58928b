//! After every run: what the journal says. Whatever the scenario is about, no property may be broken, and its sessions must
//! open again, wherever they were cut, to what was there (P1 to P12, P14).
use machine_adapter::Engine;
use machine_adapter::asks::Open;
use machine_core::ask::{Ask, Withdrawal};
use machine_core::event::Event;
use machine_core::history::{History, HistoryError};
use machine_journal::{MemoryJournal, Record, replay};

use crate::engine::watch;
use crate::scenario::judge::Missed;
use crate::scenario::played::{Played, Told};
use crate::scenario::simulated::in_agent;
use crate::sim::{Cancelled, Host, Later, Sim};

/// What opening again showed that must not be.
pub(crate) fn check(played: &Played) -> Vec<Missed> {
    let mut missed = Vec::new();
    for told in &played.agents {
        let mut tell = |why: String| {
            let what = in_agent(&told.agent, "looking at its journal");
            missed.push(Missed { what, line: 0, expected: Vec::new(), came: vec![why] });
        };
        told.flaws.iter().cloned().for_each(&mut tell);
        if let Some(why) = brings_back(told).err() {
            tell(why);
        }
        if let Some(why) = watch(&told.journal).err() {
            tell(why);
        }
        if let Some(why) = opens_everywhere(&told.journal).err() {
            tell(why);
        }
    }
    missed
}

/// The replay has the same durable events, and ends in the engine that ran (J01, E01).
fn brings_back(told: &Told) -> Result<(), String> {
    let mut again = Vec::new();
    let replayed = replay(&told.journal, &mut |at, event| again.push((at, event.clone())));
    let replayed = replayed.map_err(|error| error.to_string())?;
    let durable = |events: &[(u64, Event)]| -> Vec<String> {
        let durable = events.iter().filter(|(_, event)| event.is_durable());
        durable.map(|(at, event)| format!("@{at} {}", told.names.event(event))).collect()
    };
    let (ran, again) = (durable(&told.events), durable(&again));
    if let Some(at) = (0..ran.len().max(again.len())).find(|at| ran.get(*at) != again.get(*at)) {
        let line = |lines: &[String]| lines.get(at).cloned().unwrap_or_else(|| "nothing".into());
        return Err(format!("event {at} was `{}`, the replay has `{}`", line(&ran), line(&again)));
    }
    if told.engine.as_ref().is_some_and(|engine| *engine != replayed.engine) {
        return Err("the engine is not the one that ran".into());
    }
    same_history("the events of the run", &told.events, &replayed.engine)
}

/// The most records that are read for the cuts of one journal; a long one is cut in fewer places.
const MOST_READ: usize = 20_000;

/// Cut after any record it opens; what was open is closed once, and nothing runs again (J03, J05).
fn opens_everywhere(journal: &[Record]) -> Result<(), String> {
    let every = journal.len() * journal.len() / MOST_READ + 1;
    for cut in (1..=journal.len()).rev().step_by(every) {
        let closed_once = opens(&journal[..cut]);
        closed_once.map_err(|why| format!("cut after {cut} of {} records: {why}", journal.len()))?;
    }
    Ok(())
}

fn opens(records: &[Record]) -> Result<(), String> {
    let mut events = Vec::new();
    replay(records, &mut |at, event| events.push((at, event.clone()))).map_err(|error| error.to_string())?;
    let once = open(memory(records))?;
    events.extend(once.events.iter().map(|stamped| (stamped.at, stamped.event.clone())));
    let new = inputs(once.journal.records()) - inputs(records);
    if new > 1 {
        return Err(format!("{new} inputs closed it, not one"));
    }
    if let Some(act) = once.engine.outstanding().find(|open| open.ask.question.is_act()) {
        return Err(format!("it is closed, and still there is {}", asked(act)));
    }
    same_history("all events", &events, &once.engine)?;
    once.engine.history().audit().map_err(|error| error.to_string())?;
    let twice = open(once.journal.clone())?;
    if twice.journal != once.journal || !twice.events.is_empty() {
        return Err("opening it a second time adds something".into());
    }
    if twice.engine != once.engine {
        return Err("opening it a second time gives another engine".into());
    }
    Ok(())
}

/// Opened by nobody who would do anything.
fn open(journal: MemoryJournal) -> Result<Sim<Nobody>, String> {
    let sim = Sim::open(journal, Nobody).map_err(|error| error.to_string())?;
    match sim.refused.first() {
        Some((_, why)) => Err(format!("it cannot be closed: {why}")),
        None => Ok(sim),
    }
}

/// Records as they would be on disk.
pub(crate) fn memory(records: &[Record]) -> MemoryJournal {
    let mut journal = MemoryJournal::new();
    records.iter().for_each(|record| journal.append(record.clone()));
    journal.sync();
    journal
}

/// How many inputs a journal has.
pub(crate) fn inputs(records: &[Record]) -> usize {
    records.iter().filter(|record| matches!(record, Record::In { .. })).count()
}

fn asked(open: &Open) -> String {
    format!("{} {}", open.ask.question.kind(), open.ask.id)
}

/// Durable events fold to history, also over several openings (E01, P10).
fn same_history(whose: &str, events: &[(u64, Event)], engine: &Engine) -> Result<(), String> {
    let folded = folded(events).map_err(|error| format!("{whose} do not fold to a history: {error}"))?;
    if folded != *engine.history() {
        return Err(format!("{whose} do not fold to the history of the engine"));
    }
    Ok(())
}

/// History as the durable events tell it (E01).
pub(crate) fn folded(events: &[(u64, Event)]) -> Result<History, HistoryError> {
    let mut history = History::new();
    for (_, event) in events {
        match event {
            Event::Committed { entry, .. } => history.append(entry.clone())?,
            Event::Edited { edit } => history.edit(edit)?,
            _ => {}
        }
    }
    Ok(history)
}

/// Does nothing.
struct Nobody;

impl Host for Nobody {
    fn asked(&mut self, _: &Ask, _: &Engine) -> Vec<Later> {
        Vec::new()
    }

    fn cancelled(&mut self, _: &Withdrawal) -> Cancelled {
        Cancelled::Ignores
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::scenario::Scenario;

    fn played() -> Played {
        let text = "title: x\nmodel: [{calls: [a]}, {text: ok}]\ncalls: {a: {takes: 5}}\n\
                    timeline: [{at: 0, do: {submit: go}}, {at: 3, do: crash}, {at: 9, do: resume}]\nexpect: {}";
        let scenario = Scenario::parse(Path::new("x"), text).expect("it is sound");
        scenario.simulate().expect("it ends").played
    }

    fn wrong(change: impl Fn(&mut Told), right: &str) {
        let mut played = played();
        assert_eq!(check(&played), [], "it is right before it is changed");
        change(&mut played.agents[0]);
        let missed = check(&played);
        assert!(missed.iter().any(|missed| missed.came[0].contains(right)), "{missed:?}\nwithout: {right}");
    }

    #[test]
    fn c_e01_an_event_that_the_journal_does_not_bring_back() {
        wrong(|told| drop(told.events.remove(0)), "event 0 was `@0 turn_started 1 go`");
        wrong(
            |told| told.events.retain(|(_, event)| !matches!(event, Event::TurnEnded(_))),
            "turn_ended 1 interrupted`",
        );
    }

    #[test]
    fn c_j01_an_engine_that_is_not_the_one_that_ran() {
        let other = |told: &mut Told| {
            let config = std::sync::Arc::default();
            told.engine = Some(Engine::new(1, config).expect("a sound configuration"));
        };
        wrong(other, "the engine is not the one that ran");
    }

    #[test]
    fn c_j06_a_record_that_is_missing() {
        wrong(|told| drop(told.journal.remove(1)), "record 1: expected number");
        let last = |told: &mut Told| {
            let input = told.journal.iter().rposition(|record| matches!(record, Record::In { .. }));
            told.journal.truncate(input.expect("an input"));
        };
        wrong(last, "the replay has `nothing`");
    }
}
