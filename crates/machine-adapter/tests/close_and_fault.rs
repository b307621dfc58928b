//! How an opening ends: closed, or faulted (A19, A22); and inputs that fit nothing (E07).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
mod story;

use std::sync::Arc;

use machine_adapter::{Engine, Snapshot};
use machine_core::ask::{Answer, By, Cause, Gated, Piece, Proceed};
use machine_core::event::{EndReason, Event, TurnError};
use machine_core::history::Edit;
use machine_core::ids::AskId;
use machine_core::input::{Command, Input, Refused};
use machine_core::message::{Entry, Origin, text_content};
use machine_core::response::{Failure, ModelEvent};
use machine_testkit::script::{Behaviour, Reply, Response};
use story::*;

fn short_grace() -> machine_core::config::Config {
    with(|config| config.calls.grace_ms = 10)
}

fn closed(world: &World) -> Vec<u64> {
    when(world, |event| matches!(event, Event::Closed))
}

fn fault() -> Input {
    Input::Fault { cause: "disk full".into() }
}

/// Runs on after a fault: what was closed in memory is not part of the record.
fn faulted(world: &mut World) -> String {
    world.run().unwrap();
    assert_eq!(world.engine.history().audit(), Ok(()));
    assert_eq!(world.engine.state().agent, ["Shut", "Faulted"]);
    assert_eq!(world.engine.outstanding().count(), 0);
    told(world)
}

#[test]
fn c_a19_close_ends_an_opening_and_not_the_session() {
    let script = model([calls(&["a"]), text("1"), text("2")]).tool("a", Behaviour::hang());
    let mut world = go(with(|_| {}), script);
    world.arrange(3, submit("x"));
    world.arrange(5, Command::Close);
    world.arrange(5, Command::Close);
    assert_eq!(rest(&mut world), "go | [a] | a cancelled(may have run)");
    assert_eq!(world.ends()[0].reason, EndReason::Aborted(Cause::by(By::Shutdown)));
    assert_eq!((closed(&world), requests(&world)), (vec![5], 1), "nothing calls the model after it");
    for command in [submit("y"), Command::Resume, Command::Maintain, Command::Pause, notify("n")] {
        assert_eq!(world.send(command), Err(Refused::Closed));
    }
    let before = world.engine.clone();
    world.send(Command::Close).unwrap();
    world.send(abort()).unwrap();
    assert!(world.engine == before, "idempotent");
    // Pending input stays; the next opening holds it.
    world.crash().unwrap();
    assert_eq!(world.engine.state().agent, ["Open", "Idle", "Held"]);
    world.send(Command::Resume).unwrap();
    assert_eq!(rest(&mut world), "go | [a] | a cancelled(may have run) | x | 1");
}

#[test]
fn c_a19_answers_are_taken_while_closing() {
    let script = || {
        model([calls(&["a", "job"])])
            .tool("a", Behaviour::ok("A", 8).deaf())
            .tool("job", Behaviour::ok("J", 12).deaf().detaches(1))
    };
    let mut world = go(short_grace(), script());
    world.arrange(8, Command::Close);
    assert_eq!(rest(&mut world), "go | [a job] | a ok | job ok");
    assert_eq!(closed(&world), [15], "the last one ended within its grace");
    // Deaf to the end: after the grace, or at once at an abort.
    let hang = || {
        model([calls(&["a", "job"])])
            .tool("a", Behaviour::hang().deaf())
            .tool("job", Behaviour::hang().deaf().detaches(1))
    };
    for (hurry, at) in [(false, 18), (true, 12)] {
        let mut world = go(short_grace(), hang());
        world.arrange(8, Command::Close);
        if hurry {
            world.arrange(12, abort());
        }
        assert_eq!(rest(&mut world), "go | [a job] | a cancelled(may have run) | job ok");
        assert_eq!(closed(&world), [at]);
        assert_eq!(count(&world, |event| matches!(event, Event::BackgroundEnded { .. })), 1);
    }
}

#[test]
fn c_a19_close_in_every_other_state() {
    let idle = |world: &mut World| {
        world.arrange(20, Command::Close);
        rest(world);
        assert_eq!(world.engine.state().agent, ["Shut", "Closed"]);
        assert_eq!(closed(world), [20]);
        assert_eq!(world.engine.outstanding().count(), 0);
    };
    idle(&mut go(with(|_| {}), model([text("1")])));
    idle(&mut go(with(|_| {}), model([Response::failure(Failure::Auth)])));
    let mut screened = go(with(|config| config.ask.screen = true), model([]).hook("Screen", Reply::never()));
    idle(&mut screened);
    assert_eq!(receipts(&screened, "go"), ["accepted"], "it stays pending");
    let mut maintained = world(with(|_| {}), model([]).hook("Maintain", Reply::never()));
    maintained.arrange(10, Command::Maintain);
    idle(&mut maintained);
    let mut streaming = go(with(|_| {}), model([text("half").silent()]));
    idle(&mut streaming);
    assert_eq!(told(&streaming), "go | salvaged half", "no marker: no user stopped it");
}

#[test]
fn c_a22_a_journal_that_cannot_be_written() {
    let gating = |config: &mut machine_core::config::Config| config.ask.gate = true;
    for (script, config, right) in [
        (model([calls(&["a", "b"])]), with(|_| {}), "go | [a b] | a cancelled(may have run) | b ok"),
        (model([text("half").silent()]), with(|_| {}), "go"),
        (model([Response::failure(Failure::Overloaded)]), with(|_| {}), "go"),
        (model([]).hook("Gate", Reply::never()), with(gating), "go"),
    ] {
        let script = script.tool("a", Behaviour::hang()).tool("b", Behaviour::ok("B", 1));
        let mut world = go(config, script);
        world.arrange(2, submit("x"));
        world.arrange(20, fault());
        assert_eq!(faulted(&mut world), right);
        let EndReason::Failed(error) = last_end(&world).1 else { panic!("{:?}", last_end(&world)) };
        assert_eq!(*error, TurnError::Faulted("disk full".into()));
        assert_eq!((ends(&world).as_str(), last_end(&world).0), ("failed", 20));
        let acts = world
            .orders
            .iter()
            .filter(|(at, order)| *at >= 20 && matches!(order, machine_adapter::Order::Ask(_)));
        assert_eq!(acts.count(), 0, "nothing is asked any more");
        for command in [submit("y"), Command::Resume, abort(), Command::Maintain] {
            assert_eq!(world.send(command), Err(Refused::Faulted("disk full".into())));
        }
        world.send(Command::Close).unwrap();
        assert_eq!(closed(&world), [20]);
        // What was closed in memory is not part of the record.
        world.crash().unwrap();
        world.arrange(30, Command::Resume);
        world.run_until(30).unwrap();
        assert!(told(&world).contains("x") || world.engine.state().queued_prompts == 1);
    }
}

#[test]
fn c_a22_withdrawals_still_leave() {
    let script = model([calls(&["a", "job", "g"])])
        .tool("a", Behaviour::hang())
        .tool("job", Behaviour::hang().detaches(1))
        .tool("g", Behaviour::hang().plan(machine_core::ask::Plan { approval: true, ..Default::default() }));
    let mut world = go(with(|_| {}), script);
    world.arrange(20, fault());
    let right = "go | [a job g] | a cancelled(may have run) | job ok | g not started(abort)";
    assert_eq!(faulted(&mut world), right);
    for (_, ask) in asked(&world, "Execute").into_iter().chain(asked(&world, "Approve")) {
        assert_eq!(taken_back(&world, ask.id), [20], "{ask:?}");
    }
    let before = world.engine.clone();
    world.arrange(21, fault());
    world.run().unwrap();
    assert!(world.engine == before || count(&world, |event| matches!(event, Event::Faulted { .. })) == 1);
}

/// The engine with an empty history, as no input can make it.
fn planted(engine: &Engine) -> Engine {
    let mut saved = serde_json::to_value(engine.snapshot()).unwrap();
    saved["engine"]["history"] = serde_json::json!([]);
    let saved: Snapshot = serde_json::from_value(saved).unwrap();
    Engine::restore(saved).unwrap()
}

/// V06.
#[test]
fn c_a22_a_check_that_failed_is_repaired_by_a_replace() {
    let proceed = Answer::Gate(Gated::Proceed(Arc::new(Proceed::default())));
    let whole = Edit::Replace { with: vec![Entry::user(Origin::Summary, None, text_content("S"))] };
    let script = model([text("1")])
        .hook("Gate", Reply::after(5, proceed))
        .hook("Maintain", Reply::after(5, Answer::Maintained))
        .hook("Maintain", Reply::after(5, Answer::Maintained).edit(whole));
    let mut world = go(with(|config| config.ask.gate = true), script);
    world.arrange(0, submit("x"));
    world.run_until(1).unwrap();
    world.engine = planted(&world.engine);
    world.run_until(9).unwrap();
    assert_eq!((world.engine.state().agent, requests(&world)), (&["Shut", "Faulted"][..], 0));
    assert_eq!(ends(&world), "failed");
    assert!(matches!(world.send(Command::Resume), Err(Refused::Faulted(_))));
    // Without a `Replace` it stays as it is.
    world.arrange(10, Command::Maintain);
    world.run_until(19).unwrap();
    assert_eq!(world.engine.state().agent, ["Shut", "Faulted"]);
    world.arrange(20, Command::Maintain);
    world.run_until(30).unwrap();
    assert_eq!(world.engine.state().agent, ["Open", "Idle", "Held"]);
    world.send(Command::Resume).unwrap();
    world.run().unwrap();
    assert_eq!(told(&world), "summary S | x | 1");
}

#[test]
fn c_e07_an_input_that_fits_nothing_changes_nothing() {
    let script = model([calls(&["a"]), text("1")]).tool("a", Behaviour::hang());
    let mut world = go(with(|_| {}), script);
    world.run_until(9).unwrap();
    let (before, written) = (world.engine.clone(), world.journal.records().len());
    let attempt = asked(&world, "Attempt")[0].1.id;
    let execution = asked(&world, "Execute")[0].1.id;
    let unknown = AskId { branch: 1, serial: 999 };
    let foreign = AskId { branch: 2, ..execution };
    let inputs = [
        // Answered before; never asked; of another session.
        Input::Answer { ask: attempt, answer: Answer::Fired },
        Input::Answer { ask: unknown, answer: Answer::Maintained },
        Input::Answer { ask: foreign, answer: Answer::Execute(machine_core::ask::Executed::Nothing) },
        Input::Lost { ask: foreign },
        Input::Lost { ask: unknown },
        // Open, and no answer or piece of its kind.
        Input::Answer { ask: execution, answer: Answer::Fired },
        Input::Answer { ask: execution, answer: hook_failed() },
        Input::Piece { ask: execution, piece: Piece::Model(ModelEvent::Text("x".into())) },
        Input::Piece { ask: execution, piece: Piece::Edit(Arc::new(Edit::Replace { with: vec![] })) },
    ];
    for (n, input) in (1..).zip(inputs) {
        world.arrange(10, input.clone());
        world.run_until(10).unwrap();
        assert!(world.engine == before, "{input:?}");
        assert_eq!(count(&world, |event| matches!(event, Event::Stray { .. })), n, "{input:?}");
    }
    let written = (written, world.journal.records().len());
    for command in [
        steer(&["x"]),
        Command::Withdraw("x".into()),
        cancel(call(1, 1, 7)),
        Command::Consume(call(1, 1, 0)),
        Command::Maintain,
        submit("go"),
        Command::Declare(call(1, 1, 0), machine_core::access::Access::None),
    ] {
        assert!(world.send(command.clone()).is_err(), "{command:?}");
    }
    assert_eq!(world.journal.records().len(), written.1, "a refused command is not journaled");
    assert!(world.engine == before);
    world.send(abort()).unwrap();
    rest(&mut world);
}

#[test]
fn c_c09_nobody_carries_it_out_any_more() {
    let script =
        model([calls(&["a", "b"]), text("ok")]).tool("a", Behaviour::hang()).tool("b", Behaviour::ok("B", 1));
    let mut world = go(with(|_| {}), script);
    world.run_until(5).unwrap();
    let ask = asked(&world, "Execute")[0].1.id;
    world.arrange(9, Input::Lost { ask });
    assert_eq!(rest(&mut world), "go | [a b] | a unknown | b ok | ok");
    // An attempt is cut, a hook has failed.
    let mut world = go(with(|config| config.ask.gate = true), model([text("so").silent(), text("ok")]));
    world.run_until(5).unwrap();
    let ask = asked(&world, "Attempt")[0].1.id;
    world.arrange(9, Input::Lost { ask });
    assert_eq!(rest(&mut world), "go | ok");
    let mut world =
        go(with(|config| config.ask.gate = true), model([]).hook("Gate", Reply::after(99, hook_failed())));
    world.run_until(5).unwrap();
    let ask = asked(&world, "Gate")[0].1.id;
    world.arrange(9, Input::Lost { ask });
    rest(&mut world);
    assert_eq!((ends(&world).as_str(), last_end(&world).0), ("failed", 9));
}

/// X01.
#[test]
fn c_a19_close_while_a_user_stops_the_turn() {
    let script = model([calls(&["a"]), text("1")]).tool("a", Behaviour::hang().deaf());
    let mut world = go(short_grace(), script);
    world.arrange(5, abort());
    world.arrange(9, Command::Close);
    assert_eq!(rest(&mut world), "go | [a] | a cancelled(may have run) | marker");
    assert_eq!(last_end(&world), (15, EndReason::Aborted(Cause::by(By::User))), "the first one counts");
    assert_eq!(closed(&world), [15]);
}

/// A20.
#[test]
fn c_a19_what_close_cancelled_is_told_in_the_next_opening() {
    let script = model([calls(&["job"]), text("1"), text("2")]).tool("job", Behaviour::hang().detaches(1));
    let mut world = go(with(|_| {}), script);
    world.arrange(20, notify("n"));
    world.arrange(20, Command::Close);
    rest(&mut world);
    assert_eq!(closed(&world), [20]);
    world.crash().unwrap();
    let before = rest(&mut world);
    world.host.responses = [text("3")].into();
    world.arrange(30, submit("x"));
    let right = format!("{before} | end of 1.1.1.0 | x | 3");
    assert_eq!(rest(&mut world), right);
    assert_eq!(count(&world, |event| matches!(event, Event::BackgroundEnded { .. })), 1);
}
