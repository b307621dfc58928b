//! Which commands fit now. One that does not is refused with the reason: nothing happened, nothing is journaled
//! (E07).
use machine_core::config::Config;
use machine_core::ids::InputId;
use machine_core::input::{Command, Lane, Refused, Submit, Target};
use machine_core::machine::{Machine, Path};
use machine_core::message::{Content, sayable};

use crate::state::{Agent, Back, State};

/// Checks a command against the agent. `Declare`, `CancelCall` and `Configure` are checked by the engine.
pub fn admit(agent: &Machine<Agent>, command: &Command, config: &Config) -> Result<(), Refused> {
    open(agent.state(), command)?;
    let (data, inbox, limits) = (agent.data(), &agent.data().inbox, &config.inbox);
    match command {
        Command::Submit(submit) => {
            fresh(data, &submit.id, &submit.message)?;
            if joins(agent.state(), submit) {
                room("inbox.next_step", inbox.lane.len(), limits.next_step)
            } else {
                room("inbox.prompts", inbox.queue.len(), limits.prompts)
            }
        }
        Command::Notify(note) | Command::Inject(note) => {
            fresh(data, &note.id, &note.message)?;
            room("inbox.next_step", inbox.lane.len(), limits.next_step)
        }
        Command::Remind(reminder) => {
            says_something(&reminder.key, &reminder.message)?;
            if inbox.receipt(&reminder.key).is_some() {
                return Err(duplicate(data, &reminder.key));
            }
            let known = inbox.reminders.iter().any(|old| old.key == reminder.key);
            if known { Ok(()) } else { room("inbox.next_step", inbox.reminders.len(), limits.next_step) }
        }
        Command::Steer(ids) => {
            if !matches!(agent.state(), State::Active(_)) {
                return Err(Refused::NoTurn);
            }
            for id in ids.iter() {
                if !inbox.is_pending(id) {
                    return Err(Refused::UnknownInput(id.clone()));
                }
                if !inbox.is_queued(id) {
                    return Err(Refused::NotAPrompt(id.clone()));
                }
            }
            room("inbox.next_step", inbox.lane.len() + ids.len().saturating_sub(1), limits.next_step)
        }
        Command::Withdraw(id) if inbox.is_pending(id) => Ok(()),
        Command::Withdraw(id) => Err(Refused::UnknownInput(id.clone())),
        Command::Replace(id, message) => match () {
            () if !inbox.is_pending(id) => Err(Refused::UnknownInput(id.clone())),
            () if !inbox.is_prompt(id) => Err(Refused::NotAPrompt(id.clone())),
            () => says_something(id, message),
        },
        Command::Consume(call) => {
            let known = data.roster.get(call).is_some() || data.inbox.has_background_end(*call);
            if known { Ok(()) } else { Err(Refused::UnknownCall(*call)) }
        }
        Command::Abort(abort) => match (&abort.target, agent.state().active()) {
            (None, _) => Ok(()),
            (Some(Target::Prompt(id)), None) if *agent.state() == State::Screening(id.clone()) => Ok(()),
            (Some(Target::Turn(turn)), Some(active)) if active.turn == *turn => Ok(()),
            (Some(Target::Prompt(id)), Some(active)) if active.opener.as_ref() == Some(id) => Ok(()),
            (Some(_), _) => Err(Refused::NotThatTurn),
        },
        Command::Maintain => match agent.state() {
            State::Ready | State::Waiting | State::Held(_) | State::Faulted { .. } => Ok(()),
            other => Err(Refused::Busy(other.leaf())),
        },
        Command::Pause | Command::Resume | Command::Close => Ok(()),
        Command::Configure(_) | Command::Declare(..) | Command::CancelCall(..) => Ok(()),
    }
}

/// Whether a prompt joins the running turn (A03).
pub(crate) fn joins(state: &State, submit: &Submit) -> bool {
    submit.lane == Lane::NextStep && matches!(state, State::Active(_))
}

/// Closing, closed and faulted agents take few commands (A19, A22).
fn open(state: &State, command: &Command) -> Result<(), Refused> {
    match (state, command) {
        (State::Closing(_) | State::Closed, Command::Abort(_) | Command::Close) => Ok(()),
        (State::Closing(_) | State::Closed, _) => Err(Refused::Closed),
        (State::Maintaining(Back::Faulted(_)), Command::Abort(_) | Command::Close) => Ok(()),
        (State::Maintaining(Back::Faulted(why)), _) => Err(Refused::Faulted(why.clone())),
        (State::Faulted { check: true, .. }, Command::Maintain) => Ok(()),
        (State::Faulted { .. }, Command::Close) => Ok(()),
        (State::Faulted { why, .. }, _) => Err(Refused::Faulted(why.clone())),
        _ => Ok(()),
    }
}

fn fresh(agent: &Agent, id: &InputId, message: &Content) -> Result<(), Refused> {
    let inbox = &agent.inbox;
    if inbox.receipt(id).is_some() || inbox.reminders.iter().any(|reminder| reminder.key == *id) {
        return Err(duplicate(agent, id));
    }
    says_something(id, message)
}

/// A message from outside is text and media, and not blank (A03).
fn says_something(id: &InputId, message: &Content) -> Result<(), Refused> {
    match () {
        () if sayable(message).len() < message.len() => Err(Refused::NotSayable(id.clone())),
        () if Agent::is_blank(message) => Err(Refused::Empty(id.clone())),
        () => Ok(()),
    }
}

fn duplicate(agent: &Agent, id: &InputId) -> Refused {
    let first = agent.inbox.receipt(id).cloned().unwrap_or(machine_core::event::Receipt::Accepted);
    Refused::Duplicate { id: id.clone(), first }
}

fn room(what: &'static str, used: usize, limit: usize) -> Result<(), Refused> {
    if used < limit { Ok(()) } else { Err(Refused::Full { what, limit }) }
}
