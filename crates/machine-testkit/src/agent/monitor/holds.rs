//! What holds between any two events.
use machine_agent::inbox::{Screen, Waiting};
use machine_agent::state::Back;
use machine_agent::{Agent, State, admit};
use machine_core::ask::Subject;
use machine_core::config::Config;
use machine_core::ids::InputId;
use machine_core::input::{Command, Note, Submit};
use machine_core::machine::{Machine, Path};

use crate::explore::{Checked, broken};
use crate::outstanding::Outstanding;

use super::Monitor;

impl Monitor {
    /// What holds between any two events. `background`: whether a call works in the background.
    pub fn holds(
        &self,
        machine: &Machine<Agent>,
        asks: &Outstanding,
        config: &Config,
        background: bool,
    ) -> Checked {
        let (agent, state) = (machine.data(), machine.state());
        self.inputs.holds(agent, config.ask.screen)?;
        self.background.holds(agent)?;
        let idle = matches!(state, State::Ready | State::Waiting);
        let wakes = self.inputs.wakes()
            || agent
                .inbox
                .lane
                .iter()
                .any(|waiting| matches!(waiting, Waiting::BackgroundEnd { wake: true, .. }));
        let screens =
            agent.inbox.queue.iter().filter(|prompt| prompt.screen == Screen::Asked).map(|prompt| &prompt.id);
        let lane = agent.inbox.lane.iter().filter_map(|waiting| match waiting {
            Waiting::Prompt(prompt) if prompt.screen == Screen::Asked => Some(&prompt.id),
            Waiting::Note { note, screen: Screen::Asked, .. } => Some(&note.id),
            _ => None,
        });
        let mut due: Vec<_> = screens.chain(lane).cloned().map(Subject::Screen).collect();
        if matches!(state, State::Maintaining(_)) {
            due.push(Subject::Maintain(agent.maintenance));
        }
        due.sort();
        match () {
            () if state.active().map(|active| active.turn) != self.turn => {
                broken("A21", "another turn runs than was told")
            }
            () if agent.paused != self.paused => broken("A12", "whether it is paused"),
            () if matches!(state, State::Held(_)) && !self.held => {
                broken("A14", "it holds what waits, and nobody was told")
            }
            () if matches!(state, State::Closed) != self.closed && !self.faulted => {
                broken("A19", "whether it is closed")
            }
            () if *state == State::Closed && (background || self.turn.is_some()) && !self.faulted => {
                broken("A19", "it is closed, and something works on")
            }
            () if self.editing != matches!(state, State::Maintaining(_)) => {
                broken("A17", "whether it is maintained")
            }
            () if idle && !self.paused && wakes => {
                broken("A04", "something that wakes waits, and the agent is idle")
            }
            () if idle && background != matches!(state, State::Waiting) => {
                broken("A01", "whether it waits for background calls")
            }
            () if !asks.subjects().eq(due.iter()) => {
                let open: Vec<_> = asks.subjects().collect();
                Err(format!("X02: in {} {due:?} is waited for, and {open:?} is open", state.leaf()))
            }
            () => self.admits(machine, config),
        }
    }

    /// Which commands are let through (A10, A19, A22).
    fn admits(&self, machine: &Machine<Agent>, config: &Config) -> Checked {
        let shut = matches!(
            machine.state(),
            State::Closing(_) | State::Closed | State::Faulted { .. } | State::Maintaining(Back::Faulted(_))
        );
        let takes = |command: Command| admit(machine, &command, config).is_ok();
        let again = |id: &&InputId| takes(Command::Submit(Submit::text((*id).clone(), "again")));
        match () {
            () if takes(Command::Notify(Note::text("fresh", "news"))) == shut => {
                broken("A19", "which inputs are accepted")
            }
            () if self.inputs.known().any(|id| again(&id)) => broken("A10", "an id is accepted twice"),
            () => Ok(()),
        }
    }
}
