//! How a turn starts, and what its end means for what waits.
use alloc::sync::Arc;
use alloc::vec::Vec;

use machine_core::Text;
use machine_core::ask::{Cause, Question, Subject};
use machine_core::canary::Canary;
use machine_core::config::{AfterAbort, AfterFailure, InboxLimits};
use machine_core::drain::Drained;
use machine_core::event::{EndReason, Event as Report, HeldBecause, MaintenanceEnd, Receipt, TurnEnd};
use machine_core::ids::{CallId, InputId, TurnId};
use machine_core::message::{Content, Origin};
use statig::Outcome::{self, Transition};

use crate::event::{Ctx, Signal};
use crate::inbox::{Prompt, Waiting};
use crate::roster::Lingering;
use crate::screening::screen;
use crate::state::{Active, Agent, Back, State};

impl Agent {
    /// What an agent without a turn does next: a turn, the screening of its prompt, or nothing (A04).
    pub(crate) fn next(&mut self, ctx: &mut Ctx<'_>) -> Outcome<State> {
        if self.paused || !self.inbox.wants_turn() {
            return Transition(self.idle());
        }
        self.begin(ctx)
    }

    /// Idle, with or without background calls.
    pub(crate) fn idle(&self) -> State {
        if self.roster.has_background() { State::Waiting } else { State::Ready }
    }

    /// A turn, or first the screening of the prompt that would open it.
    pub(crate) fn begin(&mut self, ctx: &mut Ctx<'_>) -> Outcome<State> {
        let opener = match self.inbox.queue.front_mut() {
            Some(prompt) => screen(ctx, prompt.screening()),
            None => self.screen_note(ctx),
        };
        match opener {
            Some(id) => Transition(State::Screening(id)),
            None => self.start_turn(ctx),
        }
    }

    /// Takes what waits for the next step, the reminders, and at most one prompt, in this order (A05).
    fn start_turn(&mut self, ctx: &mut Ctx<'_>) -> Outcome<State> {
        self.turns += 1;
        let turn = TurnId { branch: self.branch, turn: self.turns };
        let prompt = self.inbox.queue.pop_front();
        let opener = prompt.as_ref().map(|prompt| prompt.id.clone());
        let mut active =
            Active { turn, prompts: Vec::new(), opener: opener.clone(), hold: false, returned: Vec::new() };
        ctx.report(Report::TurnStarted { turn, prompt: opener });
        // First, as it also lets through what nobody is asked about any more.
        self.screen_lane(ctx);
        self.drain(ctx, &mut active);
        if let Some(prompt) = prompt {
            self.commit(ctx, &mut active, Waiting::Prompt(prompt));
        }
        ctx.send(Signal::StartTurn(turn));
        Transition(State::Active(active))
    }

    /// Everything for the nearest drain, taken as a whole (A02, A06); then the reminders (A07).
    pub(crate) fn drain(&mut self, ctx: &mut Ctx<'_>, active: &mut Active) {
        let (ready, later): (Vec<_>, Vec<_>) =
            core::mem::take(&mut self.inbox.lane).into_iter().partition(Waiting::is_ready);
        self.inbox.lane = later;
        for waiting in ready {
            self.commit(ctx, active, waiting);
        }
        for reminder in self.inbox.take_reminders(ctx) {
            let origin = Origin::Reminder { key: reminder.key.clone() };
            ctx.send(Signal::Commit(Drained { origin, content: reminder.message, meta: None }));
            self.inbox.settle(ctx, &reminder.key, Receipt::Taken(active.turn));
        }
    }

    fn commit(&mut self, ctx: &mut Ctx<'_>, active: &mut Active, waiting: Waiting) {
        let (origin, content, meta) = waiting.into_parts();
        let id = match &origin {
            Origin::Prompt { id } => {
                active.prompts.push(id.clone());
                Some(id.clone())
            }
            Origin::Notification { id } => Some(id.clone()),
            _ => None,
        };
        ctx.send(Signal::Commit(Drained { origin, content, meta }));
        if let Some(id) = id.filter(|_| !Canary::DrainSkipsReceipts.is_planted()) {
            self.inbox.settle(ctx, &id, Receipt::Taken(active.turn));
        }
    }

    /// Takes pending input back, and the question about it (A23).
    pub(crate) fn take_back(&mut self, ctx: &mut Ctx<'_>, id: &InputId, receipt: Receipt) {
        ctx.send(Signal::Withdraw(Subject::Screen(id.clone())));
        self.inbox.withdraw(ctx, id, receipt);
    }

    /// The end of a turn is told, to its prompts too (E08); prompts steered too late go back (A08).
    pub(crate) fn close_turn(&mut self, ctx: &mut Ctx<'_>, active: &Active, end: &TurnEnd) {
        if Canary::LateSteerIsLost.is_planted() {
            self.inbox.lane.retain(|waiting| !matches!(waiting, Waiting::Prompt(_)));
        }
        self.inbox.unsteer();
        ctx.report(Report::TurnEnded(TurnEnd { returned: active.returned.clone(), ..end.clone() }));
        for id in &active.prompts {
            let receipt = Receipt::TurnEnded(end.turn, end.reason.clone());
            ctx.report(Report::Receipt { input: id.clone(), receipt });
        }
    }

    /// What the end of a turn means for what waits: one rule for every end (A14, A15).
    pub(crate) fn after_turn(&mut self, ctx: &mut Ctx<'_>, active: &Active, end: &TurnEnd) -> Outcome<State> {
        self.close_turn(ctx, active, end);
        let InboxLimits { after_failure, after_abort, .. } = ctx.config.inbox;
        match &end.reason {
            _ if active.hold => self.hold(ctx, HeldBecause::Reopened),
            EndReason::Failed(_) if after_failure == AfterFailure::Hold => {
                self.hold(ctx, HeldBecause::Failed)
            }
            EndReason::Aborted(_) if after_abort == AfterAbort::Hold => self.hold(ctx, HeldBecause::Aborted),
            EndReason::Aborted(_) if Canary::AbortStrandsTheQueue.is_planted() => Transition(self.idle()),
            _ => self.next(ctx),
        }
    }

    /// A turn is to be stopped (X01). After a user's abort next-step input does not start one; by policy, all that
    /// waits goes back (A15).
    pub(crate) fn stop(
        &mut self,
        ctx: &mut Ctx<'_>,
        mut active: Active,
        cause: &Arc<Cause>,
    ) -> Outcome<State> {
        if cause.is_by_user() {
            self.inbox.hush();
        }
        if ctx.config.inbox.after_abort == AfterAbort::GiveBack {
            active.returned = self.inbox.pending_ids();
        }
        for id in &active.returned {
            self.take_back(ctx, id, Receipt::Returned);
        }
        ctx.send(Signal::AbortTurn(cause.clone()));
        Transition(State::Aborting(active))
    }

    /// The last turn of an opening ended: nothing follows.
    pub(crate) fn turn_closed(&mut self, ctx: &mut Ctx<'_>, active: Option<&Active>, end: &TurnEnd) {
        if let Some(active) = active {
            self.close_turn(ctx, active, end);
        }
    }

    /// A background call's end: told once, unless it was told otherwise (A20).
    pub(crate) fn background_ended(&mut self, call: CallId, content: &Content, wake: bool) {
        if self.roster.background_ended(call) {
            self.inbox.lane.push(Waiting::BackgroundEnd { call, content: content.clone(), wake });
        }
    }

    /// A call outlives its turn (A25).
    pub(crate) fn linger(&mut self, call: CallId, tool: &Text, detached: bool, since: u64, told: &Content) {
        let (tool, told) = (tool.clone(), told.clone());
        self.roster.add(call, Lingering { tool, since, detached, consumed: false, told });
    }

    /// What came after a call was answered: it goes in with what comes next, and wakes nobody (X06).
    pub(crate) fn late_result(&mut self, call: CallId, content: &Content) {
        self.inbox.lane.push(Waiting::LateResult { call, content: content.clone() });
    }

    /// A background call's end was told otherwise, before or after it came (C13).
    pub(crate) fn consume(&mut self, call: CallId) {
        self.roster.consume(call);
        self.inbox
            .lane
            .retain(|waiting| !matches!(waiting, Waiting::BackgroundEnd { call: of, .. } if *of == call));
    }

    /// The process died while closing: what is left of its turn ends, then the agent is held (J05).
    pub(crate) fn reopen(&mut self, ctx: &mut Ctx<'_>, active: Option<Active>) -> Outcome<State> {
        match active {
            Some(active) => Transition(State::Aborting(Active { hold: true, ..active })),
            None => self.reopened(ctx),
        }
    }

    /// The process died: what waits is held, and questions about it are due again (J05).
    pub(crate) fn reopened(&mut self, ctx: &mut Ctx<'_>) -> Outcome<State> {
        self.forget_screens(ctx);
        self.hold(ctx, HeldBecause::Reopened)
    }

    /// What waits is kept, and that is told (A14, E08).
    fn hold(&mut self, ctx: &mut Ctx<'_>, why: HeldBecause) -> Outcome<State> {
        ctx.report(Report::Held { why });
        self.inbox.held(ctx, why);
        Transition(State::Held(why))
    }

    /// Held input is released (A14).
    pub(crate) fn release(&mut self, ctx: &mut Ctx<'_>) -> &mut Self {
        ctx.report(Report::Released);
        self
    }

    pub(crate) fn pause(&mut self, ctx: &mut Ctx<'_>) -> &mut Self {
        if !self.paused {
            self.paused = true;
            ctx.report(Report::Paused);
        }
        self
    }

    pub(crate) fn unpause(&mut self, ctx: &mut Ctx<'_>) -> &mut Self {
        if self.paused {
            self.paused = false;
            ctx.report(Report::Resumed);
        }
        self
    }

    /// Whatever waits starts a turn; else what the model has not answered does (A12).
    pub(crate) fn resume(&mut self, ctx: &mut Ctx<'_>, unanswered: bool) -> Outcome<State> {
        self.unpause(ctx);
        if self.inbox.is_empty() && !unanswered {
            return Transition(self.idle());
        }
        self.begin(ctx)
    }

    pub(crate) fn maintain(&mut self, ctx: &mut Ctx<'_>, back: Back) -> Outcome<State> {
        self.maintenance += 1;
        ctx.report(Report::MaintenanceStarted { n: self.maintenance });
        ctx.send(Signal::BeginEdits);
        ctx.send(Signal::Ask(Question::Maintain { n: self.maintenance }));
        Transition(State::Maintaining(back))
    }

    /// Maintenance is over; what waited meanwhile goes on (A17).
    pub(crate) fn maintained(
        &mut self,
        ctx: &mut Ctx<'_>,
        back: &Back,
        end: MaintenanceEnd,
        edited: bool,
    ) -> Outcome<State> {
        self.end_maintenance(ctx, end);
        match back {
            Back::Idle if Canary::MaintenanceStrandsTheQueue.is_planted() => Transition(self.idle()),
            Back::Idle => self.next(ctx),
            Back::Resume(unanswered) => self.resume(ctx, *unanswered),
            Back::Held(why) => Transition(State::Held(*why)),
            Back::Faulted(_) if edited => self.hold(ctx, HeldBecause::Failed),
            Back::Faulted(why) => Transition(State::Faulted { why: why.clone(), check: true, active: None }),
        }
    }

    pub(crate) fn end_maintenance(&mut self, ctx: &mut Ctx<'_>, end: MaintenanceEnd) {
        let n = self.maintenance;
        ctx.send(Signal::Withdraw(Subject::Maintain(n)));
        ctx.send(Signal::EndEdits { keep: end == MaintenanceEnd::Done });
        ctx.report(Report::MaintenanceEnded { n, end });
    }

    /// Stops what works on; closed when nothing is left (A19).
    pub(crate) fn close(&mut self, ctx: &mut Ctx<'_>, active: Option<Active>) -> Outcome<State> {
        let cause = Cause::by(machine_core::ask::By::Shutdown);
        self.forget_screens(ctx);
        ctx.send(Signal::CancelLingering(cause.clone()));
        if active.is_some() {
            ctx.send(Signal::AbortTurn(cause));
        }
        self.closed(ctx, active)
    }

    /// Closed, unless something is left to wait for.
    pub(crate) fn closed(&mut self, ctx: &mut Ctx<'_>, active: Option<Active>) -> Outcome<State> {
        if active.is_some() || self.roster.has_background() {
            return Transition(State::Closing(active));
        }
        ctx.report(Report::Closed);
        Transition(State::Closed)
    }

    pub(crate) fn fault(
        &mut self,
        ctx: &mut Ctx<'_>,
        why: &Text,
        check: bool,
        active: Option<Active>,
    ) -> Outcome<State> {
        self.forget_screens(ctx);
        self.told_fault(ctx, why);
        ctx.send(Signal::FaultWork(why.clone()));
        Transition(State::Faulted { why: why.clone(), check, active })
    }

    pub(crate) fn told_fault(&mut self, ctx: &mut Ctx<'_>, why: &Text) {
        ctx.report(Report::Faulted { cause: why.clone() });
    }

    /// A prompt that waits for a turn.
    pub(crate) fn enqueue(&mut self, ctx: &mut Ctx<'_>, submit: &machine_core::input::Submit) -> &mut Self {
        let prompt = Prompt::of(submit, ctx.config.ask.screen);
        self.inbox.queue_prompt(ctx, prompt);
        self
    }

    /// A prompt that joins the running turn.
    pub(crate) fn join(&mut self, ctx: &mut Ctx<'_>, submit: &machine_core::input::Submit) -> Outcome<State> {
        let prompt = Prompt::of(submit, ctx.config.ask.screen);
        self.inbox.lane_prompt(ctx, prompt);
        self.screen_lane(ctx);
        self.cut(ctx)
    }

    /// The running turn's own messages: those of results go first, directly after the results (A05).
    pub(crate) fn own(&mut self, messages: &[Waiting]) {
        let delivered = messages.iter().filter(|waiting| matches!(waiting, Waiting::Deliver { .. }));
        let others = messages.iter().filter(|waiting| !matches!(waiting, Waiting::Deliver { .. }));
        let lane = core::mem::take(&mut self.inbox.lane);
        self.inbox.lane = delivered.cloned().chain(lane).chain(others.cloned()).collect();
    }
}
