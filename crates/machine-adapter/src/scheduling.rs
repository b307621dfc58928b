//! The life of calls as the engine sees it: opening, starting, answering, ending; and calls that only deaf ones hold
//! up (B07).
use alloc::sync::Arc;

use machine_agent::inbox::Waiting;
use machine_core::access::Access;
use machine_core::ask::{By, Question, Subject, Timer, Withdrawal, WithdrawnBecause};
use machine_core::config::{Config, Fatal, LateResults};
use machine_core::event::{Event as Report, TurnError};
use machine_core::ids::CallId;
use machine_core::machine::{Path, Step};
use machine_core::message::{Content, Part};
use machine_core::outcome::{Settlement, SkipCode};
use machine_tool::{Call, State};

use crate::deliver::Run;
use crate::ledger::{Done, Opening};
use crate::out::{Order, Work};
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
    pub(crate) fn answered_call(&mut self, call: CallId, settlement: &Settlement, background: bool) {
        if !self.engine.ledger.owes(call) {
            return;
        }
        let settlement = &self.hook_adds(settlement);
        self.engine.ledger.settle(call, settlement, background, &self.engine.turn_config);
        let outcome = settlement.outcome.clone();
        if self.engine.batch.unbar(call) && outcome.is_ok() {
            self.stop_batch(call);
        }
        self.out.events.push(Report::CallSettled { call, outcome, background });
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
        let Done { stopped_by, deliver, fatal } = done;
        let own: alloc::vec::Vec<_> =
            deliver.into_iter().map(|(call, content)| Waiting::Deliver { call, content }).collect();
        // Behind what is still to be done about this call, and before everything else.
        let own = (!own.is_empty()).then_some(Work::ToAgent(machine_agent::Event::Own(own)));
        let failed = |(call, text)| Arc::new(TurnError::FatalCall { call, text });
        let fatal = fatal.map(|fatal| Work::ToTurn(machine_turn::Event::FatalCall(failed(fatal))));
        let turn = Work::ToTurn(machine_turn::Event::BatchDone { stopped_by });
        own.into_iter().chain(fatal).chain([turn]).for_each(|work| self.push(work));
    }

    /// A call failed fatally: by policy, siblings that have not started do not start (C09).
    pub(crate) fn fatal(&mut self) {
        if self.engine.turn_config.calls.fatal == Fatal::Stop {
            self.each_owed(&machine_tool::Event::Skip(SkipCode::SiblingFatal));
        }
    }

    pub(crate) fn detached(&mut self, call: CallId, keep_access: bool, told: &Settlement) {
        self.out.events.push(Report::CallDetached { call });
        let rules = &self.engine.turn_config.calls.paths;
        self.engine.batch.detach(call, keep_access, rules);
        self.lingers(call, true, told);
    }

    pub(crate) fn deaf(&mut self, call: CallId, told: &Settlement) {
        self.engine.batch.deafen(call);
        self.insist(call);
        self.lingers(call, false, told);
    }

    /// A call that was told to stop is answered without its outcome: whoever still works on it has no time left (X04).
    fn insist(&mut self, call: CallId) {
        if let Some(open) = self.engine.asks.about(&Subject::Execute(call)) {
            let why = WithdrawnBecause::Obsolete;
            self.out.now.push(Order::Withdraw(Withdrawal { ask: open, why, grace_ms: Some(0) }));
        }
    }

    fn lingers(&mut self, call: CallId, detached: bool, told: &Settlement) {
        let Some(tool) = self.engine.calls.get(call).map(|call| call.data().tool.clone()) else { return };
        let since = self.at;
        let told = result::content(told, self.engine.turn_config.calls.output_chars);
        self.step_agent(&machine_agent::Event::Lingers { call, tool, detached, since, told });
    }

    /// Told once, at the next drain, or waking an idle agent (A20). That a call ended with its turn is no news: the
    /// model was told before (C15).
    pub(crate) fn background_ended(&mut self, call: CallId, settlement: &Settlement) {
        let outcome = settlement.outcome.clone();
        self.out.events.push(Report::BackgroundEnded { call, outcome });
        let settlement = &self.hook_adds(settlement);
        let content = self.notice(call, settlement);
        let expected = settlement.cause.as_ref().is_some_and(|cause| cause.by == By::TurnEnd);
        let wake = !self.recovering && !expected;
        self.step_agent(&machine_agent::Event::BackgroundEnded { call, content, wake });
    }

    /// It ended after the engine had answered it: an event; by policy, the model reads it too (X06).
    pub(crate) fn late(&mut self, call: CallId, settlement: &Settlement) {
        let outcome = settlement.outcome.clone();
        self.out.events.push(Report::LateResult { call, outcome });
        if self.engine.turn_config.calls.late_results == LateResults::Notify {
            let content = self.late_notice(call, settlement);
            self.step_agent(&machine_agent::Event::LateResult { call, content });
        }
    }

    /// With a finalizer nobody rewrote its output: it is withheld (C11).
    fn late_notice(&self, call: CallId, settlement: &Settlement) -> Content {
        let Config { ask, calls, .. } = &*self.engine.turn_config;
        let tool = self.engine.calls.get(call).map_or("", |call| &call.data().tool);
        let (how, output) = (named(settlement), if ask.finalize { " Its output is withheld." } else { "" });
        let head = alloc::format!(
            "[Call {call} of `{tool}` was answered before it ended. It ended after all: {how}.{output}]"
        );
        let body = (!ask.finalize).then(|| result::content(settlement, calls.output_chars));
        let body = body.iter().flat_map(|body| body.iter().cloned());
        core::iter::once(Part::text(head)).chain(body).collect()
    }

    fn notice(&self, call: CallId, settlement: &Settlement) -> Content {
        let tool = self.engine.calls.get(call).map_or("", |call| &call.data().tool);
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
        self.engine.calls.remove(call);
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
