//! What the end of a turn means for calls that work in the background (C15), and a prompt for those that run (C14).
use machine_core::ask::{By, Cause, Prepared, Question, Timer};
use machine_core::drain::Pending;
use machine_core::event::Event as Report;
use machine_core::ids::CallId;
use machine_tool::{Event, State};
use machine_turn::State as Turn;

use crate::deliver::Run;
use crate::out::Work;

impl Run<'_> {
    /// What waits, and how long the turn may wait for background calls.
    pub(crate) fn pending(&self) -> Pending {
        let calls = self.engine.calls.values();
        let wait_ms = calls.map(|call| call.state().wait_ms(self.at)).max().unwrap_or(0);
        Pending { wait_ms, ..self.engine.agent.data().pending() }
    }

    /// The turn waits for them, and that is told.
    pub(crate) fn wait(&mut self, ms: u64) {
        let Some(turn) = self.engine.turn.as_ref().map(|turn| turn.data().id) else { return };
        let calls = self.those(|state, at| state.wait_ms(at) > 0);
        self.out.events.push(Report::TurnWaits { turn, calls: calls.clone().into(), ms });
        self.ask(Question::Timer { timer: Timer::TurnWait(turn), ms });
        for call in calls {
            self.step_call(call, &Event::Awaited { now: self.at });
        }
    }

    /// A turn that waits looks again when something came for it, or when there is nothing left to wait for.
    pub(crate) fn stir(&mut self) -> bool {
        let turn = self.engine.turn.as_ref();
        if !turn.is_some_and(|turn| matches!(turn.state(), Turn::Waiting { .. })) {
            return false;
        }
        let Pending { paused, steered, outside, inside, wait_ms } = self.pending();
        let stirred = paused || steered || outside || inside || wait_ms == 0;
        if stirred {
            self.step_turn(&machine_turn::Event::Stirred);
        }
        stirred
    }

    /// Calls that end with their turn are cancelled. One whose process is gone, or whose engine is faulted, is closed
    /// by that.
    pub(crate) fn cancel_with_turn(&mut self) {
        let faulted = matches!(self.engine.agent.state(), machine_agent::State::Faulted { .. });
        if self.recovering || faulted {
            return;
        }
        let calls = self.those(|state, _| state.ends_with_turn());
        let cause = Cause::by(By::TurnEnd);
        self.push_first(calls.into_iter().map(|call| Work::ToCall(call, Event::Cancel(cause.clone()))));
    }

    /// Whether this is the preparation of a call that is cut: a prompt joined the turn before it could start.
    pub(crate) fn is_cut(&self, event: &Event) -> bool {
        let cuttable = matches!(event, Event::Prepared(Prepared::Ready(plan)) if plan.cut_by_steer);
        cuttable && self.engine.agent.data().pending().steered
    }

    fn those(&self, like: impl Fn(&State, u64) -> bool) -> alloc::vec::Vec<CallId> {
        let calls = self.engine.calls.values();
        calls.filter(|call| like(call.state(), self.at)).map(|call| call.data().id).collect()
    }
}
