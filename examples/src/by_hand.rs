//! A host without a runtime: the engine is a value, and this loop carries out what it asks for.
//!
//! `cargo run -p machine-examples --bin by-hand`
#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::sync::Arc;

use agent_machine::core::ask::{Answer, Ask, Executed, Piece, Question};
use agent_machine::core::config::Config;
use agent_machine::core::event::Event;
use agent_machine::core::input::{Command, Input, Submit};
use agent_machine::core::outcome::ToolResult;
use agent_machine::core::response::{Finish, Finished, ModelEvent};
use agent_machine::engine::{Engine, Order, Out, default_answer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut engine = Engine::new(1, Arc::new(Config::default()))?;
    let mut inputs: VecDeque<Input> = [Command::Submit(Submit::text("p1", "What time is it?")).into()].into();
    let mut out = Out::default();
    let mut tick = 0;
    while let Some(input) = inputs.pop_front() {
        tick += 1;
        out.clear();
        // A command that does not fit is refused here, and nothing has happened.
        engine.feed(tick, &input, &mut out)?;
        for event in &out.events {
            show(event);
        }
        // Questions leave at once. With a journal, acts would wait until it is durable.
        for order in &out.now {
            if let Order::Ask(ask) = order {
                inputs.extend(default_answer(ask));
            }
        }
        for act in &out.acts {
            inputs.extend(carry_out(&engine, act));
        }
    }
    println!("history: {} entries, agent {:?}", engine.history().len(), engine.state().agent);
    Ok(())
}

/// A model that calls one tool, then answers; and that tool.
fn carry_out(engine: &Engine, act: &Ask) -> Vec<Input> {
    let ask = act.id;
    let piece = |event| Input::Piece { ask, piece: Piece::Model(event) };
    let finish = |finish| Input::Answer { ask, answer: Answer::Finished(Arc::new(Finished::new(finish))) };
    match &act.question {
        Question::Attempt { attempt } => {
            match engine.request(*attempt).map(|request| request.history.len()) {
                Some(1) => {
                    let start = ModelEvent::CallStart { index: 0, id: "c1".into(), tool: "clock".into() };
                    vec![piece(start), finish(Finish::ToolUse)]
                }
                _ => vec![piece(ModelEvent::Text("It is noon.".into())), finish(Finish::EndTurn)],
            }
        }
        Question::Execute { .. } => {
            let answer = Answer::Execute(Executed::Done(Arc::new(ToolResult::text("12:00"))));
            vec![Input::Answer { ask, answer }]
        }
        _ => Vec::new(),
    }
}

fn show(event: &Event) {
    match event {
        Event::CallStarted { call, .. } => println!("call {call} starts"),
        Event::CallSettled { call, outcome, .. } => println!("call {call}: {outcome:?}"),
        Event::Committed { entry, .. } => println!("{:?}: {}", entry.message.role(), entry.message.text()),
        Event::TurnEnded(end) => println!("turn {} {}", end.turn, end.reason),
        _ => {}
    }
}
