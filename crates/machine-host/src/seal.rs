//! Inputs are mapped before they are written; what is written is what is handled (J11).
use std::mem::Discriminant;
use std::panic::{AssertUnwindSafe, catch_unwind};

use machine_core::Text;
use machine_core::ask::Answer;
use machine_core::ids::{AskId, CallId, InputId};
use machine_core::input::{Command, Input, Target};

use crate::chain::Chain;
use crate::unwind::message;

/// What a seal must leave alone: which input it is, and what it is about.
#[derive(Debug, PartialEq, Eq)]
enum Which {
    /// An answer of this kind, or a piece.
    Of(AskId, Option<Discriminant<Answer>>),
    /// A command with content, by its id.
    Says(&'static str, InputId),
    /// A command with a cause or a configuration, and what it is about.
    Wants(&'static str, Option<CallId>, Option<Target>),
    /// Nothing in it may change.
    All(Input),
}

impl Chain {
    /// Hook by hook. An error says whose fault it is: then the input is not to be written or handled.
    pub(crate) fn seal(&self, input: &mut Input) -> Result<(), Text> {
        for placed in self.hooks().iter().filter(|placed| placed.wants.seal) {
            let (before, name) = (which(input), &placed.name);
            let sealed = catch_unwind(AssertUnwindSafe(|| placed.hook.seal(input)));
            if let Err(panic) = sealed {
                let why = message(&*panic);
                return Err(format!("hook {name} panicked when it sealed an input: {why}").into());
            }
            if which(input) != before {
                return Err(format!("hook {name} made another input of one that it sealed").into());
            }
        }
        Ok(())
    }
}

fn which(input: &Input) -> Which {
    match input {
        Input::Answer { ask, answer } => Which::Of(*ask, Some(std::mem::discriminant(answer))),
        Input::Piece { ask, .. } => Which::Of(*ask, None),
        Input::Command(command) => which_command(command),
        Input::Lost { .. } | Input::Recovered { .. } | Input::Fault { .. } => Which::All(input.clone()),
    }
}

fn which_command(command: &Command) -> Which {
    let kind = command.kind();
    match command {
        Command::Submit(submit) => Which::Says(kind, submit.id.clone()),
        Command::Notify(note) | Command::Inject(note) => Which::Says(kind, note.id.clone()),
        Command::Remind(reminder) => Which::Says(kind, reminder.key.clone()),
        Command::Replace(id, _) => Which::Says(kind, id.clone()),
        Command::CancelCall(call, _) => Which::Wants(kind, Some(*call), None),
        Command::Abort(abort) => Which::Wants(kind, None, abort.target.clone()),
        Command::Configure(_) => Which::Wants(kind, None, None),
        Command::Steer(_) | Command::Withdraw(_) | Command::Declare(..) | Command::Consume(_) => {
            Which::All(command.clone().into())
        }
        Command::Pause | Command::Resume | Command::Maintain | Command::Close => {
            Which::All(command.clone().into())
        }
    }
}
