//! What holds between any two events.

use machine_core::ask::{Subject, Timer};
use machine_core::config::Config;
use machine_core::ids::{AttemptId, StepId, TurnId};
use machine_core::machine::{Machine, Path};
use machine_turn::{State, Turn};

use crate::explore::{Checked, broken};
use crate::outstanding::Outstanding;

use super::Monitor;

impl Monitor {
    /// What holds between any two events: each state waits for just its asks (X02, M07, M13).
    pub fn holds(
        &self,
        machine: &Machine<Turn>,
        asks: &Outstanding,
        looks: bool,
        config: &Config,
    ) -> Checked {
        let data = machine.data();
        let (turn, step, attempt): (TurnId, StepId, AttemptId) = (data.id, data.step_id(), data.attempt_id());
        let idle = (config.turn.stream_idle_ms > 0).then_some(Subject::Timer(Timer::StreamIdle(attempt)));
        let mut due = match machine.state() {
            State::Gating => vec![Subject::Gate(step)],
            State::Requesting(_) | State::Receiving(_) => {
                [Some(Subject::Attempt(attempt)), idle].into_iter().flatten().collect()
            }
            State::Recovering { .. } => vec![Subject::Recover(attempt)],
            State::Backoff(_) => vec![Subject::Timer(Timer::Backoff(step))],
            State::Waiting { .. } => vec![Subject::Timer(Timer::TurnWait(turn))],
            State::Stopping => vec![Subject::Stop(turn)],
            State::Running(_) | State::Aborting(_) | State::Draining { .. } | State::Ended(_) => Vec::new(),
        };
        due.sort();
        let acts = matches!(machine.state(), State::Running(_) | State::Aborting(_));
        let leaf = machine.state().leaf();
        match () {
            () if !asks.subjects().eq(due.iter()) => {
                let open: Vec<_> = asks.subjects().collect();
                Err(format!("X02: in {leaf} {due:?} is waited for, and {open:?} is open"))
            }
            () if acts != self.batch => {
                broken("B09", "calls are open where none are waited for, or none where they are")
            }
            () if looks != matches!(machine.state(), State::Draining { .. }) => {
                broken("T13", "it waits for an answer that nobody owes")
            }
            () if self.ended != matches!(machine.state(), State::Ended(_)) => {
                broken("T18", "its end is not told")
            }
            () => Ok(()),
        }
    }
}
