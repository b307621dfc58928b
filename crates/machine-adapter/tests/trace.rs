//! Transitions as data (E02): they chain, they are the same when the same inputs come again, and nobody pays who does
//! not look.
use machine_adapter::trace::{Transition, Who};
use machine_adapter::{Engine, Out};
use machine_core::config::Config;
use machine_core::input::{Command, Input, Submit};
use machine_core::machine::Step;
use machine_journal::Record;
use machine_testkit::script::{Behaviour, Response, Script};
use machine_testkit::sim::Sim;
use std::collections::BTreeMap;
use std::sync::Arc;

fn inputs() -> Vec<(u64, Input)> {
    let script = Script::new([Response::calls(&["tool", "tool"]), Response::text("done")]);
    let mut sim =
        Sim::new(Config::default(), script.tool("tool", Behaviour::ok("ok", 3))).expect("a configuration");
    sim.send(Command::Submit(Submit::text("p", "go"))).expect("a prompt");
    sim.run().expect("an end");
    let inputs = sim.journal.records().iter().filter_map(|record| match record {
        Record::In { at, input, .. } => Some((*at, input.clone())),
        Record::Header { .. } | Record::Act { .. } | Record::Point(_) => None,
    });
    inputs.collect()
}

fn traced(inputs: &[(u64, Input)]) -> (Engine, Vec<Transition>) {
    let mut engine = Engine::new(1, Arc::new(Config::default())).expect("a configuration");
    let (mut out, mut seen) = (Out::default(), Vec::new());
    for (at, input) in inputs {
        let admitted = engine.admit(input).expect("it was admitted before");
        engine.handle_traced(*at, admitted, &mut out, &mut |transition| seen.push(transition));
    }
    (engine, seen)
}

#[test]
fn c_e02_transitions_chain_and_come_again() {
    let inputs = inputs();
    let (engine, seen) = traced(&inputs);
    let mut last: BTreeMap<Who, &[&str]> = BTreeMap::new();
    for transition in &seen {
        let from = *last.entry(transition.machine).or_insert(transition.from);
        assert_eq!(from, transition.from, "{transition:?} does not begin where the last one ended");
        assert!(transition.step == Step::Moved || transition.from == transition.to, "{transition:?}");
        last.insert(transition.machine, transition.to);
    }
    let turn = last.iter().find(|(who, _)| matches!(who, Who::Turn(_))).map(|(_, path)| *path);
    assert_eq!(turn, Some(&["Ended"][..]));
    assert_eq!(last.keys().filter(|who| matches!(who, Who::Call(_))).count(), 2);
    assert_eq!(traced(&inputs).1, seen, "the same inputs, the same transitions");

    let mut plain = Engine::new(1, Arc::new(Config::default())).expect("a configuration");
    let mut out = Out::default();
    inputs.iter().for_each(|(at, input)| plain.feed(*at, input, &mut out).expect("it was admitted before"));
    assert_eq!(plain, engine, "looking changes nothing");
}
