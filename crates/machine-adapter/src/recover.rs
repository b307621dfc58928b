//! A dead process (J05), a journal that cannot be written (A22), a check that failed (V06).
use alloc::format;
use alloc::vec::Vec;

use machine_core::Text;
use machine_core::ask::{Withdrawal, WithdrawnBecause};
use machine_core::event::Event as Report;
use machine_core::history::HistoryError;
use machine_core::ids::CallId;
use machine_core::machine::Machine;
use machine_tool::{Call, State};

use crate::deliver::{Fit, Run};
use crate::engine::Told;
use crate::out::{Order, Work};

impl Run<'_> {
    /// Closes what cannot be repeated. A call that waits for an approval stays open, and its turn with it; unless it ran,
    /// under the rules of an earlier version.
    pub(crate) fn recovered(&mut self, ran: &[CallId]) -> Fit {
        self.recovering = true;
        let waits = |call: &Machine<Call>| matches!(call.state(), State::Authorizing(_));
        let waiting = self.engine.calls.iter().any(|(id, call)| waits(call) && !ran.contains(&id));
        self.engine.told = match self.engine.told {
            Told::Nothing => Told::Nothing,
            Told::Reopened | Told::Last { .. } => Told::Reopened,
        };
        self.out.events.push(Report::Recovered);
        let calls: Vec<_> = self.engine.calls.keys().collect();
        self.push(Work::ToAgent(machine_agent::Event::Crash { alive: waiting }));
        self.push(Work::ToTurn(machine_turn::Event::Crash { waiting }));
        for call in calls {
            self.push(Work::ToCall(call, machine_tool::Event::Crash { left: ran.contains(&call) }));
        }
        self.push(Work::AskAgain);
        Fit::Yes
    }

    /// What is still open is asked again, under the same ids.
    pub(crate) fn ask_again(&mut self) {
        let open = self.engine.asks.iter().map(|open| Order::Ask(open.ask.clone()));
        self.out.now.extend(open);
    }

    /// Everything is withdrawn, what is open is closed in memory, nothing is asked any more (A22).
    pub(crate) fn fault(&mut self, why: Text, check: bool) -> Fit {
        for ask in self.engine.asks.drain() {
            if !self.out.retract(ask) {
                let withdrawal = Withdrawal { ask, why: WithdrawnBecause::Faulted, grace_ms: None };
                self.out.now.push(Order::Withdraw(withdrawal));
            }
        }
        self.out.scratch.queue.clear();
        self.push(Work::ToAgent(machine_agent::Event::Fault { why, check }));
        Fit::Yes
    }

    /// An internal check failed. What follows from a fault is not checked again.
    pub(crate) fn check_failed(&mut self, error: &HistoryError) {
        if matches!(self.engine.agent.state(), machine_agent::State::Faulted { .. }) {
            return;
        }
        self.fault(format!("internal check failed: {error}").into(), true);
    }

    /// The turn ends in memory; so do its calls, and those in the background.
    pub(crate) fn fault_work(&mut self, why: Text) {
        let calls: Vec<_> = self.engine.calls.keys().collect();
        let turn = core::iter::once(Work::ToTurn(machine_turn::Event::Fault(why)));
        let calls = calls.into_iter().map(|call| Work::ToCall(call, machine_tool::Event::Fault));
        // Where the check failed before the batch was there, nobody else says that it is over.
        let over = Work::ToTurn(machine_turn::Event::BatchDone { stopped_by: None });
        self.push_first(turn.chain(calls).chain([over]));
    }
}
