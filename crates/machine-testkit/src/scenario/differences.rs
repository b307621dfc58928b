//! Where two runs of one scenario differ: the simulator's, and the real host's.
use std::collections::BTreeMap;

use machine_adapter::Request;
use machine_adapter::view::View;

use crate::scenario::judge::Missed;
use crate::scenario::played::{Played, Told};
use crate::scenario::simulated::in_agent;

/// Something of a run, as lines.
type Lines = fn(&Told) -> Vec<String>;

/// Where they differ: in durable events with their times, requests, starts, states, what was refused and is open.
pub(crate) fn differences(one: &Played, other: &Played) -> Vec<Missed> {
    let mut missed = Vec::new();
    let mut differ = |what: String, one: Vec<String>, other: Vec<String>| {
        if one != other {
            let at = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
            let from = at.saturating_sub(2);
            let tail = |lines: Vec<String>| lines.into_iter().skip(from).take(8).collect::<Vec<_>>();
            let what = format!("{what}: the host differs from the simulator, from line {}", at + 1);
            missed.push(Missed { what, line: 0, expected: tail(one), came: tail(other) });
        }
    };
    let names = |played: &Played| played.agents.iter().map(|told| told.agent.clone()).collect::<Vec<_>>();
    differ("agents".into(), names(one), names(other));
    for (one, other) in one.agents.iter().zip(&other.agents) {
        let both: [(&str, Lines); 8] = [
            ("events", durable),
            ("history", Told::history_lines),
            ("what the model reads", texts),
            ("requests", requests),
            ("starts", |told| told.starts.clone()),
            ("states", states),
            ("refused", |told| told.refused.clone()),
            ("open", |told| told.open.iter().map(|kind| (*kind).to_owned()).collect()),
        ];
        for (what, of) in both {
            differ(in_agent(&one.agent, what), of(one), of(other));
        }
        if one.history != other.history {
            differ(in_agent(&one.agent, "history"), vec!["a digest".into()], vec!["another digest".into()]);
        }
    }
    missed
}

fn durable(told: &Told) -> Vec<String> {
    let durable = told.events.iter().filter(|(_, event)| event.is_durable());
    durable.map(|(at, event)| format!("@{at} {}", told.names.event(event))).collect()
}

fn texts(told: &Told) -> Vec<String> {
    told.history.iter().map(|entry| entry.message.text()).collect()
}

fn requests(told: &Told) -> Vec<String> {
    let request = |request: &Request| {
        let tools: Vec<_> = request.tools.iter().map(|tool| &*tool.name).collect();
        format!("{} {:?} {tools:?} {:?}", request.attempt, request.history.digest(), request.settings)
    };
    told.requests.iter().map(request).collect()
}

fn states(told: &Told) -> Vec<String> {
    let state = |view: &View| {
        let turn = view.turn.as_ref().map(|turn| turn.state.join("/"));
        let calls: BTreeMap<_, _> = view.calls.iter().map(|call| (call.id, call.state.join("/"))).collect();
        format!("{} {turn:?} {calls:?}", view.agent.join("/"))
    };
    told.looks
        .iter()
        .map(|(look, view)| format!("@{} {}: {}", look.at, look.order.name(), state(view)))
        .collect()
}
