//! The life of calls as the engine sees it: opening, starting, answering, ending; and calls that only deaf ones hold
//! up (B07).
use machine_agent::inbox::Waiting;
use machine_core::access::Access;
use machine_core::ask::{Question, Subject, Timer, WithdrawnBecause};
use machine_core::event::Event as Report;
use machine_core::ids::CallId;
use machine_core::machine::{Path, Step};
use machine_core::message::{Content, Part};
use machine_core::outcome::{Settlement, SkipCode};
use machine_tool::{Call, State};

use crate::deliver::Run;
use crate::ledger::{Done, Opening};
use crate::out::Work;
use crate::result;

impl Run<'_> {
    /// A call begins, or is answered as it is announced.
    pub(crate) fn open_call(&mut self, opening: Opening) {
        let Opening { call, answer } = opening;
        let (id, call) = (call.id, Call { id: call.id, tool: call.tool, args: call.args });
        self.with_call(id, "Open", |run, ctx| {
            let machine = match answer {
                None => machine_tool::prepare(call, ctx),
                Some(settlement) => machine_tool::answer(call, settlement, ctx),
            };
            let to = machine.state().path();
            run.engine.calls.insert(id, machine);
            Some((&[], to, Step::Moved))
        });
    }

    pub(crate) fn planned(&mut self, call: CallId, access: Access) {
        let rules = &self.engine.turn_config.calls.paths;
        self.engine.batch.plan(call, access, rules);
    }

    pub(crate) fn enqueue(&mut self, call: CallId) {
        let rules = &self.engine.turn_config.calls.paths;
        self.engine.batch.enqueue(call, rules);
    }

    pub(crate) fn never_runs(&mut self, call: CallId) {
        let rules = &self.engine.turn_config.calls.paths;
        self.engine.batch.end(call, rules);
    }

    /// Starts the next call that may start. Never after an abort was handled: what is unstarted is settled in the
    /// same `handle` (C06).
    pub(crate) fn start_next(&mut self) -> bool {
        let Some(call) = self.engine.batch.start(self.engine.turn_config.calls.max_parallel) else {
            return false;
        };
        self.step_call(call, &machine_tool::Event::Start);
        true
    }

    /// A call is answered, once; results go into history as far as call order allows (V13, B08).
    pub(crate) fn answered_call(&mut self, call: CallId, settlement: &Settlement) {
        if !self.engine.ledger.owes(call) {
            return;
        }
        let settlement = &self.hook_adds(settlement);
        self.engine.ledger.settle(call, settlement, &self.engine.turn_config);
        let outcome = settlement.outcome.clone();
        if self.engine.batch.unbar(call) && outcome.is_ok() {
            self.stop_batch(call);
        }
        self.out.events.push(Report::CallSettled { call, outcome });
        while let Some(entry) = self.engine.ledger.next() {
            self.engine.repeats.note(&entry);
            self.append(entry);
        }
        if let Some(done) = self.engine.ledger.done() {
            self.engine.repeats.close(call.step);
            self.batch_done(done);
        }
    }

    /// A call ended its batch: later ones are answered unstarted, and the turn ends (T17). None of them started.
    fn stop_batch(&mut self, call: CallId) {
        self.engine.ledger.stop(call, &"the call ended its batch".into());
        let later = self.engine.ledger.owed().into_iter().filter(|other| *other > call);
        let skip = |call| Work::ToCall(call, machine_tool::Event::Skip(SkipCode::BatchStopped));
        self.push_first(later.collect::<alloc::vec::Vec<_>>().into_iter().map(skip));
    }

    /// The last result is in history: what results carried waits for the drain, and the turn goes on (B09).
    fn batch_done(&mut self, done: Done) {
        let Done { stopped_by, deliver } = done;
        let own: alloc::vec::Vec<_> =
            deliver.into_iter().map(|(call, content)| Waiting::Deliver { call, content }).collect();
        // Behind what is still to be done about this call, and before everything else.
        let own = (!own.is_empty()).then_some(Work::ToAgent(machine_agent::Event::Own(own)));
        let turn = Work::ToTurn(machine_turn::Event::BatchDone { stopped_by });
        own.into_iter().chain([turn]).for_each(|work| self.push(work));
    }

    pub(crate) fn detached(&mut self, call: CallId, keep_access: bool) {
        self.out.events.push(Report::CallDetached { call });
        let rules = &self.engine.turn_config.calls.paths;
        self.engine.batch.detach(call, keep_access, rules);
        self.lingers(call, true);
    }

    pub(crate) fn deaf(&mut self, call: CallId) {
        self.engine.batch.deafen(call);
        self.lingers(call, false);
    }

    fn lingers(&mut self, call: CallId, detached: bool) {
        let Some(tool) = self.engine.calls.get(&call).map(|call| call.data().tool.clone()) else { return };
        let since = self.at;
        self.step_agent(&machine_agent::Event::Lingers { call, tool, detached, since });
    }

    /// Told once, at the next drain, or waking an idle agent (A20).
    pub(crate) fn background_ended(&mut self, call: CallId, settlement: &Settlement) {
        let outcome = settlement.outcome.clone();
        self.out.events.push(Report::BackgroundEnded { call, outcome });
        let settlement = &self.hook_adds(settlement);
        let content = self.notice(call, settlement);
        let wake = !self.recovering;
        self.step_agent(&machine_agent::Event::BackgroundEnded { call, content, wake });
    }

    fn notice(&self, call: CallId, settlement: &Settlement) -> Content {
        let tool = self.engine.calls.get(&call).map_or("", |call| &call.data().tool);
        let head =
            Part::text(alloc::format!("[Background call {call} of `{tool}` ended: {}]", named(settlement)));
        let body = result::content(settlement, self.engine.turn_config.calls.output_chars);
        core::iter::once(head).chain(body.iter().cloned()).collect()
    }

    /// A call's work is over: slot and accesses are free (B07).
    pub(crate) fn ended(&mut self, call: CallId) {
        self.engine.asks.forget_execution(call);
        let rules = &self.engine.turn_config.calls.paths;
        self.engine.batch.end(call, rules);
        self.engine.calls.remove(&call);
        if self.engine.agent.data().roster.get(&call).is_some() {
            self.step_agent(&machine_agent::Event::CallEnded(call));
        }
    }

    /// An event for every call whose result is owed, in call order.
    pub(crate) fn each_owed(&mut self, event: &machine_tool::Event) {
        let owed = self.engine.ledger.owed();
        self.push_first(owed.into_iter().map(|call| Work::ToCall(call, event.clone())));
    }

    /// An event for every call in the background.
    pub(crate) fn each_lingering(&mut self, event: &machine_tool::Event) {
        let lingering = self.engine.calls.values().filter(|call| State::is_detached(call.state()));
        let lingering: alloc::vec::Vec<_> = lingering.map(|call| call.data().id).collect();
        self.push_first(lingering.into_iter().map(|call| Work::ToCall(call, event.clone())));
    }

    /// Keeps the timer of calls that only deaf ones hold up (B07).
    pub(crate) fn watch_deaf(&mut self) {
        let busy = Subject::Timer(Timer::Busy);
        let armed = self.engine.asks.about(&busy).is_some();
        let needed = !self.held_by_deaf().is_empty();
        match (armed, needed) {
            (false, true) => {
                let ms = self.engine.turn_config.calls.busy_after_ms;
                self.ask(Question::Timer { timer: Timer::Busy, ms });
            }
            (true, false) => self.withdraw(&busy, WithdrawnBecause::Obsolete),
            (true, true) | (false, false) => {}
        }
    }

    pub(crate) fn answer_busy(&mut self) {
        let held = self.held_by_deaf();
        let busy = |call| Work::ToCall(call, machine_tool::Event::Skip(SkipCode::Busy));
        self.push_first(held.into_iter().map(busy));
    }

    fn held_by_deaf(&self) -> alloc::vec::Vec<CallId> {
        let calls = &self.engine.turn_config.calls;
        self.engine.batch.held_by_deaf(calls.max_parallel, &calls.paths)
    }
}

fn named(settlement: &Settlement) -> &'static str {
    use machine_core::outcome::Outcome;
    match settlement.outcome {
        Outcome::Ok => "ok",
        Outcome::Error { .. } => "error",
        Outcome::Denied { .. } => "denied",
        Outcome::NotStarted { .. } => "not started",
        Outcome::Cancelled { .. } => "cancelled",
        Outcome::TimedOut { .. } => "timed out",
        Outcome::Unknown => "unknown",
    }
}
