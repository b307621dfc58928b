//! The trace of a run: inputs, transitions, events, asks, one line each.
use machine_adapter::Order;
use machine_adapter::trace::{Transition, Who};
use machine_core::ask::{Answer, Piece, Question};
use machine_core::ids::AskId;
use machine_core::input::Input;
use machine_core::machine::Step;

use crate::scenario::verb::Verb;
use crate::scenario::words::{Names, attempt, step, turn};
use crate::sim::Traced;

/// Lines for what happened in one agent.
pub(crate) fn lines(agent: &str, names: &Names, lines: &[(u64, Traced)]) -> Vec<String> {
    let agent = if agent.is_empty() { String::new() } else { format!(" {agent}") };
    let line = |(at, traced): &(u64, Traced)| format!("@{at}{agent} {}", line(names, traced));
    lines.iter().map(line).collect()
}

fn line(names: &Names, traced: &Traced) -> String {
    match traced {
        Traced::In(what) => format!("in     {}", input(what)),
        Traced::Moved(what) => format!("move   {}", moved(names, what)),
        Traced::Event(event) => format!("event  {}", names.event(event)),
        Traced::Order(Order::Ask(ask)) => {
            format!("ask    {} {}", number(ask.id), question(names, &ask.question))
        }
        Traced::Order(Order::Withdraw(withdrawal)) => format!("recall {}", number(withdrawal.ask)),
        Traced::Refused(command, why) => format!("refuse {}: {why}", command.kind()),
    }
}

fn input(input: &Input) -> String {
    match input {
        Input::Answer { ask, answer } => format!("{} {}", number(*ask), answered(answer)),
        Input::Piece { ask, piece } => format!("{} piece {}", number(*ask), pieced(piece)),
        Input::Lost { ask } => format!("{} lost", number(*ask)),
        Input::Command(command) => command.kind().to_owned(),
        Input::Recovered { .. } => "recovered".to_owned(),
        Input::Fault { cause } => format!("fault {cause}"),
    }
}

fn answered(answer: &Answer) -> String {
    match serde_json::to_string(answer) {
        Ok(json) => cut(&json, 100),
        Err(_) => format!("{answer:?}"),
    }
}

fn pieced(piece: &Piece) -> String {
    match serde_json::to_string(piece) {
        Ok(json) => cut(&json, 100),
        Err(_) => format!("{piece:?}"),
    }
}

fn moved(names: &Names, transition: &Transition) -> String {
    let Transition { machine, event, from, to, step: how } = transition;
    let who = match machine {
        Who::Agent => "agent".to_owned(),
        Who::Turn(id) => format!("turn {}", turn(*id)),
        Who::Call(id) => format!("call {}", names.call(*id)),
    };
    match how {
        Step::Moved => format!("{who}: {} --{event}--> {}", from.join("/"), to.join("/")),
        Step::Handled => format!("{who}: {} --{event}", from.join("/")),
        Step::Ignored => format!("{who}: {} --{event} (ignored)", from.join("/")),
    }
}

fn question(names: &Names, question: &Question) -> String {
    let about = match question {
        Question::Screen { prompt, .. } => prompt.0.to_string(),
        Question::Gate { step: id } => step(*id),
        Question::Attempt { attempt: id } | Question::Recover { attempt: id, .. } => attempt(*id),
        Question::Prepare { call, .. } | Question::Approve { call, .. } => names.call(*call),
        Question::Execute { call, .. } | Question::Finalize { call, .. } => names.call(*call),
        Question::Stop { turn: id, .. } => turn(*id),
        Question::Maintain { n } => n.to_string(),
        Question::Timer { timer, ms } => format!("{timer:?} in {ms}"),
    };
    format!("{} {about}", question.kind())
}

fn number(ask: AskId) -> String {
    format!("#{}", ask.serial)
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A verb as it stands in a message.
#[rustfmt::skip] // one row per verb
pub(crate) fn verb(verb: &Verb) -> String {
    match verb {
        Verb::Submit(says) => format!("submit {}", says.0.id),
        Verb::Join(says) => format!("join {}", says.0.id),
        Verb::Steer(ids) => format!("steer {}", ids.0.join(" ")),
        Verb::Notify(says) => format!("notify {}", says.0.id),
        Verb::Inject(says) => format!("inject {}", says.0.id),
        Verb::Remind(reminds) => format!("remind {}", reminds.key),
        Verb::Withdraw(id) => format!("withdraw {id}"),
        Verb::Replace(replaces) => format!("replace {}", replaces.id),
        Verb::Declare(declares) => format!("declare {}", declares.call),
        Verb::Cancel(cancels) => format!("cancel {}", cancels.0.call),
        Verb::Consume(call) => format!("consume {call}"),
        Verb::Approve(approves) => format!("approve {}", approves.0.call),
        Verb::Deny(denies) => format!("deny {}", denies.call),
        Verb::Expire(call) => format!("expire {call}"),
        Verb::Abort(_) => "abort".to_owned(),
        Verb::Pause => "pause".to_owned(),
        Verb::Resume => "resume".to_owned(),
        Verb::Maintain => "maintain".to_owned(),
        Verb::Configure(_) => "configure".to_owned(),
        Verb::Close => "close".to_owned(),
        Verb::Crash => "crash".to_owned(),
        Verb::CrashUnsaved => "crash_unsaved".to_owned(),
        Verb::Die => "die".to_owned(),
        Verb::Reopen => "reopen".to_owned(),
        Verb::Park => "park".to_owned(),
    }
}
