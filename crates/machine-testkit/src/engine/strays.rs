//! What fits nothing must change nothing (E07, P17): it is tried after every input, so no state that is reached is
//! left out, and none is added.
use std::sync::Arc;

use machine_adapter::{Engine, Out};
use machine_core::ask::{Answer, Ask, By, Cause, Piece, Question};
use machine_core::event::Event;
use machine_core::ids::{AskId, CallId, TurnId};
use machine_core::input::{Abort, Command, Input, Target};
use machine_core::response::ModelEvent;

/// The last input once more, if its ask is closed; with `all`, also answers of another kind to everything that is open,
/// answers to nobody, and commands about what there is not.
///
/// # Errors
/// One of them does something.
pub(crate) fn fit_nothing(engine: &mut Engine, last: &Input, all: bool) -> Result<(), String> {
    let mut strays: Vec<Input> = Vec::new();
    if last.ask().is_some_and(|ask| engine.ask(ask).is_none()) {
        strays.push(last.clone());
    }
    if all {
        strays.extend(engine.outstanding().map(|open| misfit(&open.ask)));
        strays.extend(to_nobody(last));
        refused(engine)?;
    }
    if strays.is_empty() {
        return Ok(());
    }
    let before = engine.clone();
    for stray in &strays {
        let mut out = Out::default();
        engine.feed(9, stray, &mut out).map_err(|error| format!("E07: {stray:?} is refused: {error}"))?;
        match (out.events.as_slice(), out.now.is_empty() && out.acts.is_empty()) {
            ([Event::Stray { ask }], true) if stray.ask() == Some(*ask) => {}
            _ => return Err(format!("E07: {stray:?} fits nothing and does something: {:?}", out.events)),
        }
    }
    match before == *engine {
        true => Ok(()),
        false => Err(format!("P17: what fits nothing changes something: {strays:?}")),
    }
}

/// An answer to another kind of question.
fn misfit(ask: &Ask) -> Input {
    let answer = match ask.question {
        Question::Maintain { .. } => Answer::Fired,
        _ => Answer::Maintained,
    };
    Input::Answer { ask: ask.id, answer }
}

/// Answers to asks that there are not; and a late piece where the last input closed its ask.
fn to_nobody(last: &Input) -> Vec<Input> {
    let ask = AskId { branch: 7, serial: 1 };
    let mut all = vec![Input::Answer { ask, answer: Answer::Fired }, Input::Lost { ask }];
    if let Input::Answer { ask, answer } = last {
        let piece = match answer {
            Answer::Finished(_) | Answer::AttemptFailed(_) => Piece::Model(ModelEvent::Text("late".into())),
            Answer::Execute(_) => Piece::Progress("late".into()),
            _ => return all,
        };
        all.push(Input::Piece { ask: *ask, piece });
    }
    all
}

/// Commands that fit nothing are refused, and so nothing is handled.
fn refused(engine: &Engine) -> Result<(), String> {
    let by = Cause::by(By::User);
    let call = CallId { branch: 7, turn: 1, step: 1, index: 0 };
    let target = Some(Target::Turn(TurnId { branch: 7, turn: 1 }));
    let commands = [
        Command::CancelCall(call, by.clone()),
        Command::Consume(call),
        Command::Withdraw("nobody".into()),
        Command::Steer(Arc::from(["nobody".into()])),
        Command::Abort(Arc::new(Abort { cause: by, target })),
    ];
    for command in commands {
        let kind = command.kind();
        if engine.admit(&command.into()).is_ok() {
            return Err(format!("E07: {kind} of what there is not is admitted"));
        }
    }
    Ok(())
}
