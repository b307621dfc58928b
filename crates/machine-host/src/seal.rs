//! Inputs are mapped before they are written; what is written is what is handled (J11).
use std::panic::{AssertUnwindSafe, catch_unwind};

use machine_core::Text;
use machine_core::ids::{AskId, InputId};
use machine_core::input::{Command, Input};

use crate::chain::Chain;
use crate::unwind::message;

/// What a seal must leave alone: which input it is.
#[derive(Debug, PartialEq, Eq)]
struct Which {
    kind: &'static str,
    ask: Option<AskId>,
    id: Option<InputId>,
}

impl Chain {
    /// Hook by hook. An error says whose fault it is: then the input is not to be written or handled.
    pub(crate) fn seal(&self, input: &mut Input) -> Result<(), Text> {
        for placed in self.hooks().iter().filter(|placed| placed.wants.seal) {
            let (before, name) = (which(input), &placed.name);
            let sealed = catch_unwind(AssertUnwindSafe(|| placed.hook.seal(input)));
            if let Err(panic) = sealed {
                let why = message(&*panic);
                return Err(format!("the hook `{name}` panicked when it sealed an input: {why}").into());
            }
            if which(input) != before {
                return Err(format!("the hook `{name}` made another input of one that it sealed").into());
            }
        }
        Ok(())
    }
}

fn which(input: &Input) -> Which {
    let (ask, id) = match input {
        Input::Answer { ask, .. } | Input::Piece { ask, .. } | Input::Lost { ask } => (Some(*ask), None),
        Input::Command(command) => (None, id(command)),
        Input::Recovered { .. } | Input::Fault { .. } => (None, None),
    };
    Which { kind: input.kind(), ask, id: id.cloned() }
}

fn id(command: &Command) -> Option<&InputId> {
    match command {
        Command::Submit(submit) => Some(&submit.id),
        Command::Notify(note) | Command::Inject(note) => Some(&note.id),
        Command::Remind(reminder) => Some(&reminder.key),
        Command::Withdraw(id) | Command::Replace(id, _) => Some(id),
        Command::Steer(_) | Command::Declare(..) | Command::CancelCall(..) | Command::Consume(_) => None,
        Command::Abort(_) | Command::Pause | Command::Resume | Command::Maintain => None,
        Command::Configure(_) | Command::Close => None,
    }
}
