//! What a step costs, counted in allocations: the same on every machine, and it shows a copied history or a batch that
//! is walked twice. Time is measured by `cargo run --release -p machine-adapter --example engine_cost`.
use allocation_counter::measure;
use machine_adapter::Out;
use machine_core::ask::{Answer, Piece, Question};
use machine_core::config::Config;
use machine_core::ids::AskId;
use machine_core::input::{Command, Input, Submit};
use machine_core::response::ModelEvent;
use machine_testkit::script::{Behaviour, Response, Script};
use machine_testkit::sim::Sim;

fn sim(turns: usize) -> Sim<Script> {
    let responses = (0..turns).flat_map(|_| [Response::calls(&["tool", "tool"]), Response::text("done")]);
    let script = Script::new(responses).tool("tool", Behaviour::ok("ok", 5));
    Sim::new(Config::default(), script).expect("a sound configuration")
}

#[test]
fn c_e07_an_input_that_fits_nothing_allocates_nothing() {
    let mut sim = sim(1);
    sim.send(Command::Submit(Submit::text("p", "go"))).expect("a first prompt");
    let foreign = AskId { branch: 7, serial: 7 };
    let open = sim.engine.outstanding().next().expect("a request").ask.id;
    let strays = [
        Input::Answer { ask: foreign, answer: Answer::Fired },
        Input::Answer { ask: open, answer: Answer::Maintained },
        Input::Piece { ask: foreign, piece: Piece::Progress("…".into()) },
        Input::Piece { ask: open, piece: Piece::Progress("…".into()) },
        Input::Lost { ask: foreign },
    ];
    let mut out = Out::default();
    out.events.reserve(100);
    for input in &strays {
        let before = sim.engine.clone();
        let spent = measure(|| sim.engine.feed(1, input, &mut out).expect("answers are never refused"));
        assert_eq!(spent.count_total, 0, "{input:?}");
        assert_eq!(sim.engine, before, "{input:?}");
    }
    assert_eq!(out.events.len(), strays.len());
}

#[test]
fn a_text_delta_allocates_only_for_the_text() {
    let mut sim = sim(1);
    sim.send(Command::Submit(Submit::text("p", "go"))).expect("a first prompt");
    let is_attempt = |question: &Question| matches!(question, Question::Attempt { .. });
    let ask = sim.engine.outstanding().find(|open| is_attempt(&open.ask.question)).expect("a request").ask.id;
    let delta = Input::Piece { ask, piece: Piece::Model(ModelEvent::Text("four".into())) };
    let mut out = Out::default();
    let mut feed = || {
        out.clear();
        sim.engine.feed(1, &delta, &mut out).expect("a piece is never refused");
    };
    feed();
    let spent = measure(|| (0..10_000).for_each(|_| feed()));
    // The text doubles its room a few times; nothing else is allocated.
    assert!(spent.count_total < 40, "{spent:?}");
}

#[test]
fn c_v08_a_turn_costs_the_same_after_a_long_history() {
    let mut sim = sim(2_000);
    let mut n = 0;
    let mut turn = |sim: &mut Sim<Script>| {
        n += 1;
        sim.send(Command::Submit(Submit::text(format!("p{n}"), "go"))).expect("a prompt");
        sim.run().expect("a turn ends");
        sim.events.clear();
    };
    let spent = |sim: &mut Sim<Script>, turn: &mut dyn FnMut(&mut Sim<Script>)| {
        measure(|| (0..50).for_each(|_| turn(sim))).count_total
    };
    (0..10).for_each(|_| turn(&mut sim));
    let early = spent(&mut sim, &mut turn);
    (0..1_800).for_each(|_| turn(&mut sim));
    let late = spent(&mut sim, &mut turn);
    assert!(sim.engine.history().len() > 9_000);
    // A hundred times the history may add the logarithm of a tree, and no more.
    assert!(late < early + early / 3, "50 turns allocate {early} times at first and {late} times later");
}
