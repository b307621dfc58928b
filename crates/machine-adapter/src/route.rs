//! A signal becomes what it asks for: one match, one line a signal, no `if`.
use machine_agent::Signal as A;
use machine_core::ask::WithdrawnBecause::Obsolete;
use machine_tool::Signal as C;
use machine_turn::Signal as T;

use crate::deliver::Run;
use crate::out::Work;

impl Run<'_> {
    /// Does one thing.
    pub(crate) fn work(&mut self, work: Work) {
        match work {
            Work::ToAgent(event) => drop(self.step_agent(&event)),
            Work::ToTurn(event) => drop(self.step_turn(&event)),
            Work::ToCall(call, event) => drop(self.step_call(call, &event)),
            Work::Open(opening) => self.open_call(opening),
            Work::AskAgain => self.ask_again(),
            Work::FromAgent(signal) => self.agent_signal(signal),
            Work::FromTurn(signal) => self.turn_signal(signal),
            Work::FromCall(call, signal) => self.call_signal(call, signal),
        }
    }

    fn agent_signal(&mut self, signal: A) {
        match signal {
            A::Ask(question) => self.ask(question),
            A::Withdraw(subject) => self.withdraw(&subject, Obsolete),
            A::Commit(drained) => self.commit_drained(drained),
            A::StartTurn(turn) => self.start_turn(turn),
            A::AbortTurn(cause) => drop(self.step_turn(&machine_turn::Event::Abort(cause))),
            A::CutCalls => self.each_owed(&machine_tool::Event::Steered),
            A::HurryTurn => drop(self.step_turn(&machine_turn::Event::Hurry)),
            A::FaultWork(why) => self.fault_work(why),
            A::CancelLingering(cause) => self.each_lingering(&machine_tool::Event::Cancel(cause)),
            A::HurryLingering => self.each_lingering(&machine_tool::Event::Hurry),
            A::BeginEdits => self.begin_edits(),
            A::EndEdits { keep } => self.end_edits(keep),
            A::Report(event) => self.out.events.push(event),
        }
    }

    fn turn_signal(&mut self, signal: T) {
        match signal {
            T::Ask(question) => self.ask(question),
            T::Withdraw(subject) => self.withdraw(&subject, Obsolete),
            T::Request(attempt) => self.request(attempt),
            T::Gate(messages) => self.commit_gate(messages),
            T::Respond(response) => self.respond(response),
            T::Salvage(content) => self.commit_salvage(content),
            T::Marker => self.commit_marker(),
            T::Look => self.look(),
            T::Drain => drop(self.step_agent(&machine_agent::Event::Drain)),
            T::Wait { ms } => self.wait(ms),
            T::Continue(messages) => self.continue_with(&messages),
            T::AbortCalls(cause) => self.each_owed(&machine_tool::Event::Abort(cause)),
            T::HurryCalls => self.each_owed(&machine_tool::Event::Hurry),
            T::Ended(end) => self.turn_ended(end),
            T::Report(event) => self.out.events.push(event),
        }
    }

    fn call_signal(&mut self, call: machine_core::ids::CallId, signal: C) {
        match signal {
            C::Ask(question) => self.ask(question),
            C::Withdraw(subject, why) => self.withdraw(&subject, why),
            C::Planned(access) => self.planned(call, access),
            C::MayStopBatch => self.engine.batch.bar(call),
            C::NeverRuns => self.never_runs(call),
            C::Enqueue => self.enqueue(call),
            C::Answered { settlement, background } => self.answered_call(call, &settlement, background),
            C::Fatal => self.fatal(),
            C::Detached { keep_access, told } => self.detached(call, keep_access, &told),
            C::Deaf { told } => self.deaf(call, &told),
            C::BackgroundEnded(settlement) => self.background_ended(call, &settlement),
            C::Late(settlement) => self.late(call, &settlement),
            C::Ended => self.ended(call),
            C::Report(event) => self.out.events.push(event),
        }
    }
}
