//! Whatever a provider, a tool or a client sends: history stays whole, and the engine does not fault (V01 to V13).
mod common;

use std::sync::Arc;

use common::Host;
use machine_core::ask::{Answer, Ask, Executed, Gated, Plan, Prepared, Proceed, Question, Screened, Timer};
use machine_core::config::{Config, Questions, TurnLimits};
use machine_core::event::Event;
use machine_core::history::is_legal;
use machine_core::input::{Command, Input, Note, Submit};
use machine_core::message::{Body, Content, Part, ToolCall};
use machine_core::outcome::{ErrorCode, Outcome, SkipCode, ToolResult};
use machine_core::response::{Finish, ModelEvent};
use proptest::prelude::*;

fn run_all(host: &mut Host, n: u32) {
    let calls: Vec<_> = (0..n).map(|i| host.call(i)).collect();
    calls.iter().for_each(|call| host.prepare(*call, Plan::default()));
    calls.iter().for_each(|call| host.done(*call));
}

#[test]
fn c_v04_a_provider_that_starts_to_count_again_loses_nothing() {
    let mut host = Host::new(Config::default());
    for _ in 0..2 {
        host.submit();
        host.respond(&[("call_0", "t", "{}"), ("call_1", "t", "{}")]);
        run_all(&mut host, 2);
        host.respond(&[("call_0", "t", "{}"), ("call_0", "t", "{}")]);
        run_all(&mut host, 2);
        host.say("done");
    }
    let wires: Vec<_> = host.results().into_iter().map(|(wire, ..)| wire).collect();
    let want =
        ["call_0", "call_1", "call_0__2", "call_0__3", "call_0__4", "call_1__2", "call_0__5", "call_0__6"];
    assert_eq!(wires, want);
    let texts: Vec<_> = host.results().into_iter().map(|(.., text)| text).collect();
    let want = ["1.1.1.0", "1.1.1.1", "1.1.2.0", "1.1.2.1", "1.2.1.0", "1.2.1.1", "1.2.2.0", "1.2.2.1"];
    assert_eq!(texts, want.map(|call| format!("result {call}")), "each has its own");
}

#[test]
fn c_v03_ids_of_a_discarded_attempt_are_free_again() {
    let mut host = Host::new(Config::default());
    host.submit();
    host.model(ModelEvent::CallStart { index: 0, id: "x".into(), tool: "t".into() });
    let attempt = host.find(|question| matches!(question, Question::Attempt { .. }));
    let error = machine_core::response::ModelError::new(machine_core::response::Failure::StreamCut, "cut");
    host.answer(attempt, Answer::AttemptFailed(Arc::new(error)));
    let wait = host.find(|question| matches!(question, Question::Timer { .. }));
    host.answer(wait, Answer::Fired);
    host.respond(&[("x", "t", "{}")]);
    run_all(&mut host, 1);
    assert_eq!(host.results()[0].0, "x");
}

#[test]
fn c_v09_and_v10_what_is_not_sound_is_answered_and_the_others_run() {
    let mut host = Host::new(Config::default());
    host.submit();
    host.respond(&[("a", "t", "[1]"), ("b", "t", "{\"x\":1}"), ("c", "no good", "{}"), ("d", "t", "")]);
    let prepared: Vec<_> = host.prepared.iter().map(|call| call.index).collect();
    assert_eq!(prepared, [1, 3], "only these are asked about");
    [1, 3].map(|i| host.call(i)).into_iter().for_each(|call| host.prepare(call, Plan::default()));
    [1, 3].map(|i| host.call(i)).into_iter().for_each(|call| host.done(call));
    let outcomes: Vec<_> = host.results().into_iter().map(|(_, outcome, _)| outcome).collect();
    let bad = [Outcome::error(ErrorCode::BadJson), Outcome::error(ErrorCode::IllegalName)];
    assert_eq!(outcomes, [bad[0].clone(), Outcome::Ok, bad[1].clone(), Outcome::Ok]);
    // What is told is what the provider sent; what stands on the wire is legal.
    let announced = host.events.iter().filter_map(|event| match event {
        Event::CallAnnounced { args, .. } => Some(&**args),
        _ => None,
    });
    assert_eq!(announced.collect::<Vec<_>>(), ["[1]", "{\"x\":1}", "{}", "{}"], "E06: original arguments");
    let entries: Vec<_> = host.engine.history().iter().flat_map(|entry| entry.message.calls()).collect();
    let args: Vec<_> = entries.iter().map(|call| &*call.args).collect();
    assert_eq!(args, ["{}", "{\"x\":1}", "{}", "{}"]);
    assert!(entries.iter().all(|call| is_legal(&call.tool)));
}

#[test]
fn c_a24_calls_and_arguments_over_the_limit_are_answered() {
    let turn = TurnLimits { calls: 2, argument_bytes: 10, ..TurnLimits::default() };
    let mut host = Host::new(Config { turn, ..Config::default() });
    host.submit();
    host.respond(&[("a", "t", "{\"x\":\"0123456789\"}"), ("b", "t", "{}"), ("c", "t", "{}")]);
    run_one(&mut host, 1);
    let limit = Outcome::skipped(SkipCode::Limit);
    let outcomes: Vec<_> = host.results().into_iter().map(|(_, outcome, _)| outcome).collect();
    assert_eq!(outcomes, [limit.clone(), Outcome::Ok, limit]);
}

fn run_one(host: &mut Host, index: u32) {
    let call = host.call(index);
    host.prepare(call, Plan::default());
    host.done(call);
}

#[test]
fn c_v13_a_second_answer_is_stray_and_changes_nothing() {
    let mut host = Host::new(Config::default());
    host.submit();
    host.respond(&[("a", "t", "{}"), ("b", "t", "{}")]);
    let call = host.call(0);
    host.prepare(call, Plan::default());
    let ask = host.execution(call);
    host.done(call);
    let before = host.engine.clone();
    let answer = Answer::Execute(Executed::Done(Arc::new(ToolResult::text("again"))));
    host.feed(&Input::Answer { ask, answer });
    assert_eq!(host.events.last(), Some(&Event::Stray { ask }));
    assert_eq!(host.engine, before);
}

/// A call part, as a careless or hostile sender would slip it in.
fn call_part() -> Part {
    let id = machine_core::ids::TurnId { branch: 1, turn: 1 }.step(1).call(7);
    let call = ToolCall { id, wire: "w".into(), tool: "t".into(), args: "{}".into(), raw: None };
    Body::Call(call).into()
}

fn with_call() -> Content {
    Arc::from([Part::text("hello"), call_part()])
}

fn faulted(host: &Host) -> Option<&Event> {
    host.events.iter().find(|event| matches!(event, Event::Faulted { .. }))
}

fn unanswered(host: &Host) -> Vec<String> {
    let answered: Vec<_> = host.results().into_iter().map(|(wire, ..)| wire).collect();
    let calls = host.engine.history().iter().flat_map(|entry| entry.message.calls());
    calls.map(|call| call.wire.to_string()).filter(|wire| !answered.contains(wire)).collect()
}

#[test]
fn c_v05_a_call_in_a_tools_output_stays_out_of_history() {
    let mut host = Host::new(Config::default());
    host.submit();
    host.respond(&[("a", "t", "{}")]);
    let call = host.call(0);
    host.prepare(call, Plan::default());
    host.done_with(call, ToolResult { output: vec![Part::text("x"), call_part()], ..ToolResult::default() });
    assert_eq!(faulted(&host), None);
    assert_eq!(unanswered(&host), [""; 0]);
}

#[test]
fn c_e07_a_prompt_with_a_call_is_refused() {
    let submit = Submit { message: with_call(), ..(*Submit::text("p", "")).clone() };
    let note = Note { message: with_call(), ..(*Note::text("n", "")).clone() };
    for command in [Command::Submit(Arc::new(submit)), Command::Notify(Arc::new(note))] {
        let mut host = Host::new(Config::default());
        let input = Input::Command(command);
        if host.engine.admit(&input).is_ok() {
            host.feed(&input);
            assert_eq!(faulted(&host), None, "it was admitted, so it may not fault");
        }
    }
}

#[test]
fn c_v06_a_hooks_message_with_a_call_does_not_fault() {
    let ask = Questions { gate: true, screen: true, ..Questions::default() };
    let mut faults = vec![];
    for by in ["screen", "gate", "deliver"] {
        let mut host = Host::new(Config { ask, ..Config::default() });
        host.submit();
        let screen = host.find(|question| matches!(question, Question::Screen { .. }));
        let verdict = if by == "screen" { Screened::Rewrite(with_call()) } else { Screened::Admit };
        host.answer(screen, Answer::Screen(verdict));
        if by != "screen" {
            let gate = host.find(|question| matches!(question, Question::Gate { .. }));
            let messages = if by == "gate" { vec![with_call().into()] } else { vec![] };
            host.answer(
                gate,
                Answer::Gate(Gated::Proceed(Arc::new(Proceed { messages, ..Proceed::default() }))),
            );
        }
        if by == "deliver" {
            host.respond(&[("a", "t", "{}")]);
            let result = ToolResult { deliver: Some(with_call()), ..ToolResult::text("x") };
            host.prepare_as(host.call(0), Prepared::Answered(Arc::new(result)));
        }
        faults.extend(faulted(&host).map(|_| by));
    }
    assert_eq!(faults, [""; 0]);
}

fn piece() -> impl Strategy<Value = ModelEvent> {
    let text = || "[a \u{e9}]{0,3}".prop_map(machine_core::Text::from);
    let id = || prop_oneof![Just("".into()), Just("x".into()), Just("y y".into()), text()];
    let tool = || prop_oneof![4 => Just("t".into()), 1 => text()];
    let args = prop::sample::select(vec!["{}", "{\"a\":", "1}", "[", "", "5"]);
    prop_oneof![
        2 => text().prop_map(ModelEvent::Text),
        1 => (text(), prop::option::of(text())).prop_map(|(text, signature)| ModelEvent::Thinking { text, signature }),
        3 => (0..4u32, id(), tool()).prop_map(|(index, id, tool)| ModelEvent::CallStart { index, id, tool }),
        3 => (prop::option::of(0..5u32), args).prop_map(|(index, piece)| ModelEvent::CallArgs { index, piece: piece.into() }),
        1 => Just(ModelEvent::Media { kind: "image/png".into(), at: "sha:1".into() }),
        1 => text().prop_map(ModelEvent::MessageId),
    ]
}

/// What the host owes an answer to, besides the model's.
fn owed(host: &Host) -> Option<Ask> {
    let model = |question: &Question| {
        matches!(question, Question::Attempt { .. } | Question::Timer { timer: Timer::StreamIdle(_), .. })
    };
    host.open.values().find(|ask| !model(&ask.question)).cloned()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever a provider streams, in turns one after the other: no fault, every call has its one result, and at the
    /// end nothing is open.
    #[test]
    fn c_v05_whatever_a_provider_streams(
        responses in prop::collection::vec((prop::collection::vec(piece(), 0..12), 0..5u8), 1..6),
    ) {
        let finishes = [Finish::EndTurn, Finish::ToolUse, Finish::MaxTokens, Finish::Suspended, Finish::Filtered];
        let mut host = Host::new(Config::default());
        for (pieces, finish) in responses {
            if host.engine.turn().is_none() {
                prop_assert!(host.engine.is_idle());
                if host.engine.admit(&Command::Resume.into()).is_ok() {
                    host.command(Command::Resume);
                }
                if host.engine.turn().is_none() {
                    host.submit();
                }
            }
            pieces.into_iter().for_each(|piece| host.model(piece));
            host.finish(finishes[finish as usize]);
            // Everything that is asked is answered.
            while let Some(ask) = owed(&host) {
                let id = ask.id;
                match ask.question {
                    Question::Prepare { .. } => host.answer(id, Answer::Prepare(Prepared::Ready(Arc::default()))),
                    Question::Execute { .. } => host.answer(id, Answer::Execute(Executed::Done(Arc::new(ToolResult::text("x"))))),
                    Question::Timer { .. } => host.answer(id, Answer::Fired),
                    other => panic!("{other:?}"),
                }
            }
        }
        prop_assert_eq!(faulted(&host), None);
        prop_assert_eq!(unanswered(&host), Vec::<String>::new());
        prop_assert_eq!(host.engine.history().awaited(), None);
        // E06: announced once, settled once.
        let count = |like: &dyn Fn(&Event) -> bool| host.events.iter().filter(|event| like(event)).count();
        let announced = count(&|event| matches!(event, Event::CallAnnounced { .. }));
        prop_assert_eq!(announced, count(&|event| matches!(event, Event::CallSettled { .. })));
        prop_assert_eq!(announced, host.results().len());
    }
}

#[test]
fn c_v11_no_result_is_empty_on_the_wire() {
    let mut host = Host::new(Config::default());
    host.submit();
    host.respond(&[("a", "t", "{}"), ("b", "t", "{}"), ("c", "t", "{}")]);
    let outputs =
        [vec![], vec![Part::text("")], vec![Body::Media { kind: "image/png".into(), at: "x".into() }.into()]];
    for (output, index) in outputs.into_iter().zip(0..) {
        let call = host.call(index);
        host.prepare(call, Plan { access: machine_core::access::Access::None, ..Plan::default() });
        host.done_with(call, ToolResult { output, ..ToolResult::default() });
    }
    let texts: Vec<_> = host.results().into_iter().map(|(.., text)| text).collect();
    assert_eq!(
        texts,
        [
            "The tool ran and returned no output.",
            "The tool ran and returned no output.",
            "The tool returned media."
        ]
    );
}
