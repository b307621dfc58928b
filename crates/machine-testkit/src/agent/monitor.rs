//! The safety monitor of an agent: it sees every event that the machine took and every signal that came of it.
use machine_agent::inbox::Waiting;
use machine_agent::state::Back;
use machine_agent::{Agent, Event, Signal, State};
use machine_core::ask::{Question, Screened};
use machine_core::config::{AfterAbort, Config};
use machine_core::drain::Drained;
use machine_core::event::{DroppedBecause, Event as Report, MaintenanceEnd, Receipt};
use machine_core::ids::{InputId, TurnId};
use machine_core::machine::Machine;
use machine_core::message::Origin;

use super::background::Background;
use super::inputs::{Input, Inputs};
use super::words::command;
use crate::explore::{Checked, broken};

mod follows;
mod holds;

/// What was seen of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Monitor {
    inputs: Inputs,
    background: Background,
    turns: u32,
    /// The running turn, and whether it was stopped.
    turn: Option<TurnId>,
    stopped: bool,
    paused: bool,
    held: bool,
    editing: bool,
    closing: bool,
    closed: bool,
    faulted: bool,
    /// When the turn ends, its process is gone.
    reopened: bool,
}

/// One step of the machine, as the monitor looks at it.
pub(super) struct Taken<'t> {
    pub event: &'t Event,
    pub before: &'t Machine<Agent>,
    pub after: &'t Machine<Agent>,
    pub signals: &'t [Signal],
    pub config: &'t Config,
}

impl Taken<'_> {
    fn has(&self, like: impl Fn(&Signal) -> bool) -> bool {
        self.signals.iter().any(like)
    }

    fn was(&self, like: fn(&State) -> bool) -> bool {
        like(self.before.state())
    }

    fn is_idle(&self) -> bool {
        self.was(|state| matches!(state, State::Ready | State::Waiting | State::Held(_)))
    }

    /// Whether the screening of what would open a turn begins.
    fn screens(&self) -> bool {
        let screens = |machine: &Machine<Agent>| matches!(machine.state(), State::Screening(_));
        screens(self.after) && !screens(self.before)
    }

    fn starts(&self) -> bool {
        self.screens() || self.has(|signal| matches!(signal, Signal::StartTurn(_)))
    }

    /// Whether an agent without a turn goes on as `resume` says, and whether history ends in something unanswered (A12).
    fn resumes(&self) -> Option<bool> {
        match (self.before.state(), self.event) {
            (_, Event::Resume { unanswered }) if self.is_idle() => Some(*unanswered),
            (State::Maintaining(Back::Resume(unanswered)), event) if ends_maintenance(event) => {
                Some(*unanswered)
            }
            _ => None,
        }
    }

    /// Whether the screening of what would open a turn is left, and it has no verdict (A11).
    fn leaves_screening(&self) -> bool {
        let State::Screening(id) = self.before.state() else { return false };
        let ends = match self.event {
            Event::Screened(of, _) | Event::ScreenFailed(of, _) => of == id,
            Event::Withdraw(of) | Event::Replace(of, _) => of == id,
            Event::Abort(_) | Event::Close | Event::Crash { .. } | Event::Fault { .. } => true,
            _ => false,
        };
        !ends && self.after.state() != self.before.state()
    }

    fn receipt(&self, of: &InputId, like: fn(&Receipt) -> bool) -> bool {
        self.has(|signal| {
            matches!(signal, Signal::Report(Report::Receipt { input, receipt }) if input == of && like(receipt))
        })
    }
}

/// Whether it ends maintenance, and what waits goes on (A17).
fn ends_maintenance(event: &Event) -> bool {
    matches!(event, Event::Maintained { .. } | Event::MaintainFailed(_) | Event::Abort(_))
}

impl Monitor {
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// An event that the machine ignored. What must follow from it still must: it is looked at as one that was taken, too.
    pub fn ignored(&self, step: &Taken<'_>) -> Checked {
        match step.event {
            // It was said before.
            Event::Resume { .. } if matches!(step.before.state(), State::Maintaining(Back::Resume(_))) => {
                Ok(())
            }
            event if command(event).is_some() => broken("E07", "a command is accepted and does nothing"),
            _ => Ok(()),
        }
    }

    /// What an event led to.
    pub fn taken(&mut self, step: &Taken<'_>) -> Checked {
        self.note(step);
        let (mut rank, mut committed) = (0, 0);
        for signal in step.signals {
            if let Signal::Commit(drained) = signal {
                let next = self.committed(step, drained)?;
                committed += 1;
                if next < rank {
                    return broken("A05", "what goes in goes in out of order");
                }
                rank = next;
            }
            self.signal(step, signal)?;
        }
        if committed > 0
            && *step.event != Event::Drain
            && !step.has(|signal| matches!(signal, Signal::StartTurn(_)))
        {
            return broken("A05", "something goes in between drains");
        }
        self.prompt(step)?;
        self.answers(step)
    }

    /// From now on nobody is asked about what comes in; what is asked already is waited for.
    pub fn nobody_screens(&mut self) {
        self.inputs.let_through();
    }

    fn note(&mut self, step: &Taken<'_>) {
        let ask = step.config.ask.screen;
        let joins = step.was(|state| matches!(state, State::Active(_)));
        self.inputs.came(step.event, joins, ask, ask && step.config.inbox.screen_notifications);
        self.background.note(step.event);
        match step.event {
            Event::Steer(ids) => self.inputs.steer(ids),
            Event::Screened(id, Screened::Admit) => self.inputs.admitted(id, None),
            Event::Screened(id, Screened::Rewrite(message)) => self.inputs.admitted(id, Some(message)),
            Event::Replace(id, message) => self.inputs.replaced(id, message, ask),
            Event::Pause => self.paused = true,
            Event::Resume { .. } => self.paused = false,
            Event::Abort(cause) if joins && cause.is_by_user() => self.inputs.hush(),
            Event::TurnEnded(_) => self.inputs.unsteer(),
            Event::Close => {
                self.inputs.forget_screens(ask);
                self.closing = true;
            }
            Event::Crash { alive: true } => {}
            Event::Crash { alive: false } => {
                self.inputs.forget_screens(ask);
                (self.closing, self.closed) = (false, false);
                self.reopened = self.turn.is_some();
            }
            Event::Fault { .. } if *step.before.state() != State::Closed => {
                self.inputs.forget_screens(ask);
                self.faulted = true;
            }
            _ => {}
        }
    }

    fn signal(&mut self, step: &Taken<'_>, signal: &Signal) -> Checked {
        let over = self.closing || self.faulted;
        match signal {
            Signal::Ask(Question::Screen { .. }) | Signal::StartTurn(_) | Signal::CutCalls if over => {
                broken("A19", "something starts after the close or a fault")
            }
            Signal::Ask(Question::Screen { prompt, .. }) => self.inputs.asked(prompt),
            Signal::Ask(Question::Maintain { n }) if *n == step.after.data().maintenance && self.editing => {
                Ok(())
            }
            Signal::Ask(other) => Err(format!("A01: an agent asks {}", other.kind())),
            Signal::Withdraw(_) | Signal::Commit(_) => Ok(()),
            Signal::StartTurn(turn) if self.turn == Some(*turn) => Ok(()),
            Signal::StartTurn(_) => broken("A21", "a turn starts that was not told"),
            Signal::AbortTurn(_) => match step.event {
                Event::Abort(_) | Event::Close if self.turn.is_some() => {
                    self.stopped = true;
                    Ok(())
                }
                _ => broken("X01", "a turn is stopped by nobody"),
            },
            Signal::CutCalls if self.inputs.has_joined() => Ok(()),
            Signal::CutCalls => broken("C14", "calls are cut, and no prompt has joined"),
            Signal::HurryTurn | Signal::HurryLingering => match step.event {
                Event::Abort(_) if self.stopped || self.closing => Ok(()),
                _ => broken("X04", "something is hurried that is not being stopped"),
            },
            Signal::FaultWork(_) if matches!(step.event, Event::Fault { .. }) => Ok(()),
            Signal::FaultWork(_) => broken("A22", "work is faulted without a fault"),
            Signal::CancelLingering(_) if *step.event == Event::Close => Ok(()),
            Signal::CancelLingering(_) => broken("X09", "background calls are cancelled without a close"),
            Signal::BeginEdits => {
                let first = !std::mem::replace(&mut self.editing, true);
                if first && *step.event == Event::Maintain {
                    Ok(())
                } else {
                    broken("A17", "edits begin out of place")
                }
            }
            Signal::EndEdits { keep } => {
                let open = std::mem::take(&mut self.editing);
                let keeps = matches!(step.event, Event::Maintained { .. });
                if open && keeps == *keep {
                    Ok(())
                } else {
                    broken("A17", "edits end out of place, or are kept")
                }
            }
            Signal::Report(report) => self.report(step, report),
        }
    }

    /// Something goes into history; where in the order it belongs (A05).
    fn committed(&mut self, step: &Taken<'_>, drained: &Drained) -> Result<u8, String> {
        let Some(_) = self.turn.filter(|_| !self.stopped) else {
            return Err("A16: something goes in while no turn runs, or while it is stopped".to_owned());
        };
        let opens = |id: &InputId| {
            step.has(|signal| matches!(signal, Signal::Report(Report::TurnStarted { prompt: Some(of), .. }) if of == id))
        };
        match &drained.origin {
            Origin::Prompt { id } => {
                self.inputs.committed(id, &drained.content)?;
                if opens(id) {
                    return Ok(3);
                }
                self.in_lane(id)
            }
            Origin::Notification { id } => {
                self.inputs.committed(id, &drained.content)?;
                self.in_lane(id)
            }
            Origin::Reminder { key } => self.inputs.committed(key, &drained.content).map(|()| 2),
            Origin::Deliver { .. } => self.background.committed(&drained.origin).map(|()| 0),
            other => self.background.committed(other).map(|()| 1),
        }
    }

    /// The first in the lane that may go in (A05).
    fn in_lane(&self, id: &InputId) -> Result<u8, String> {
        let first = self.inputs.lane.iter().find(|id| self.inputs.get(id).is_some_and(Input::is_passed));
        if first == Some(id) { Ok(1) } else { Err(format!("A05: {id} goes in before {first:?}")) }
    }

    fn report(&mut self, step: &Taken<'_>, report: &Report) -> Checked {
        match report {
            Report::Receipt { input, receipt } => self.receipt(step, input, receipt),
            Report::Replaced { input } => match step.event {
                Event::Replace(id, _) if id == input => Ok(()),
                _ => broken("A23", "replaced by nobody"),
            },
            Report::TurnStarted { turn, prompt } => self.turn_started(step, *turn, prompt.as_ref()),
            Report::TurnEnded(end) => {
                let right = matches!(step.event, Event::TurnEnded(ended) if ended.reason == end.reason);
                self.stopped = false;
                if right && self.turn.take() == Some(end.turn) {
                    Ok(())
                } else {
                    broken("T18", "a turn ends that does not run")
                }
            }
            Report::Held { .. } => {
                let anew = match step.before.state() {
                    State::Maintaining(Back::Faulted(_)) => *step.event == Event::Maintained { edited: true },
                    _ => matches!(step.event, Event::Crash { .. } | Event::TurnEnded(_)),
                };
                self.held = true;
                self.faulted = false;
                if anew { Ok(()) } else { broken("A14", "what waits is held without a reason") }
            }
            Report::Released if std::mem::take(&mut self.held) => match step.event {
                Event::Submit(submit) if submit.wake => Ok(()),
                Event::Notify(_) | Event::Resume { .. } => Ok(()),
                _ => broken("A14", "what is held is released by nobody"),
            },
            Report::Released => broken("A14", "nothing is held, and it is released"),
            Report::Paused if *step.event == Event::Pause && !step.before.data().paused => Ok(()),
            Report::Resumed if matches!(step.event, Event::Resume { .. }) && step.before.data().paused => {
                Ok(())
            }
            Report::Paused | Report::Resumed => broken("A12", "a pause is told that is none"),
            Report::MaintenanceStarted { .. } if *step.event == Event::Maintain => Ok(()),
            Report::MaintenanceEnded { end, .. } => match (end, step.event) {
                (MaintenanceEnd::Done, Event::Maintained { .. }) => Ok(()),
                (MaintenanceEnd::Failed(_), Event::MaintainFailed(_)) => Ok(()),
                (
                    MaintenanceEnd::Aborted,
                    Event::Abort(_) | Event::Close | Event::Crash { .. } | Event::Fault { .. },
                ) => Ok(()),
                _ => broken("A17", "maintenance ends otherwise than it did"),
            },
            Report::HookFailed { .. } if matches!(step.event, Event::ScreenFailed(..)) => Ok(()),
            Report::Closed if self.closing && !std::mem::replace(&mut self.closed, true) => Ok(()),
            Report::Closed if *step.event == Event::Close && self.faulted => Ok(()),
            Report::Closed => broken("A19", "it is closed twice, or by nobody"),
            Report::Faulted { .. } if matches!(step.event, Event::Fault { .. }) => Ok(()),
            other => Err(format!("E06: an agent reports {other:?}")),
        }
    }

    fn receipt(&mut self, step: &Taken<'_>, id: &InputId, receipt: &Receipt) -> Checked {
        let right = match (receipt, step.event) {
            (Receipt::Accepted, Event::Submit(submit)) => submit.id == *id,
            (Receipt::Accepted, Event::Notify(note) | Event::Inject(note)) => note.id == *id,
            (Receipt::Accepted, Event::Remind(reminder)) => reminder.key == *id,
            (Receipt::Accepted, _) => false,
            (Receipt::Returned, Event::Withdraw(of)) => of == id,
            (Receipt::Returned, Event::Abort(_)) => step.config.inbox.after_abort == AfterAbort::GiveBack,
            (Receipt::Returned, _) => false,
            (Receipt::Dropped(DroppedBecause::Blocked(_)), Event::Screened(of, verdict)) => {
                of == id && *verdict != Screened::Admit
            }
            (Receipt::Dropped(DroppedBecause::ScreenFailed), Event::ScreenFailed(of, _)) => of == id,
            (Receipt::Dropped(DroppedBecause::Aborted), Event::Abort(_)) => {
                *step.before.state() == State::Screening(id.clone())
            }
            (Receipt::Dropped(DroppedBecause::Superseded), _) => id.0.starts_with('r'),
            (Receipt::Dropped(_), _) => false,
            (Receipt::TurnEnded(turn, reason), Event::TurnEnded(end)) => {
                *turn == end.turn && *reason == end.reason
            }
            (Receipt::TurnEnded(..), _) => false,
            (Receipt::Steered | Receipt::Held(_) | Receipt::Taken(_), _) => true,
        };
        if !right {
            return Err(format!("E08: {id} has {receipt:?}, and nothing says so"));
        }
        // A reminder that comes again replaces the old one: it was noted as a new one already.
        if matches!(receipt, Receipt::Dropped(DroppedBecause::Superseded))
            && matches!(step.event, Event::Remind(_))
        {
            return Ok(());
        }
        self.inputs.receipt(id, receipt, self.turn)
    }

    fn turn_started(&mut self, step: &Taken<'_>, turn: TurnId, prompt: Option<&InputId>) -> Checked {
        if self.turn.is_some() || turn.turn != self.turns + 1 {
            return broken("A21", "a turn starts while one runs, or its number is not the next");
        }
        (self.turn, self.turns) = (Some(turn), turn.turn);
        match () {
            () if self.paused => broken("A12", "a turn starts while it is paused"),
            () if self.held => broken("A14", "a turn starts while what waits is held"),
            () if self.editing => broken("A17", "a turn starts during maintenance"),
            () if prompt != self.inputs.queue.first() => {
                broken("A02", "another prompt opens the turn than the first")
            }
            () if !self.is_due(step) => broken("A03", "a turn starts, and nothing wakes"),
            () if prompt.is_none() && !self.is_admitted(step) => {
                broken("A11", "a turn starts, and what wakes was not admitted")
            }
            () => Ok(()),
        }
    }

    /// Whether something may start.
    fn is_due(&self, step: &Taken<'_>) -> bool {
        self.inputs.wakes() || self.is_admitted(step)
    }

    /// Whether something may start a turn that was admitted, or that nobody is asked about.
    fn is_admitted(&self, step: &Taken<'_>) -> bool {
        let is_waking_end = |waiting: &Waiting| matches!(waiting, Waiting::BackgroundEnd { wake: true, .. });
        let ends = step.before.data().inbox.lane.iter().any(is_waking_end);
        let screened = step.was(|state| matches!(state, State::Screening(_)));
        match step.event {
            Event::Resume { .. } | Event::BackgroundEnded { wake: true, .. } => true,
            _ => ends || screened || step.resumes().is_some() || self.inputs.admitted_wakes(),
        }
    }
}
