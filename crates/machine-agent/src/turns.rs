//! How a turn starts, and what its end means for what waits.
use alloc::sync::Arc;
use alloc::vec::Vec;

use machine_core::ask::{Cause, HookError, Question, Screened, Subject};
use machine_core::drain::Drained;
use machine_core::event::{
    DroppedBecause, EndReason, Event as Report, HeldBecause, MaintenanceEnd, Receipt, TurnEnd,
};
use machine_core::ids::{CallId, InputId, TurnId};
use machine_core::message::{Content, Origin};
use statig::Outcome::{self, Handled, Transition};

use crate::event::{Ctx, Signal};
use crate::inbox::{Prompt, Screen, Waiting};
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
        if let Some(prompt) = self.inbox.queue.front_mut()
            && screen(ctx, prompt) != Screen::Passed
        {
            return Transition(State::Screening(prompt.id.clone()));
        }
        self.start_turn(ctx)
    }

    /// The prompt that is screened was changed: the screen is asked again, unless none is wanted any more.
    pub(crate) fn screen_goes_on(&mut self, ctx: &mut Ctx<'_>, id: &InputId) -> Outcome<State> {
        match self.inbox.prompt_mut(id) {
            Some(prompt) if prompt.screen != Screen::Passed => Handled,
            _ => self.after_screen(ctx, id),
        }
    }

    /// Takes what waits for the next step, the reminders, and at most one prompt, in this order (A05).
    fn start_turn(&mut self, ctx: &mut Ctx<'_>) -> Outcome<State> {
        self.turns += 1;
        let turn = TurnId { branch: self.branch, turn: self.turns };
        let prompt = self.inbox.queue.pop_front();
        let opener = prompt.as_ref().map(|prompt| prompt.id.clone());
        let mut active = Active { turn, prompts: Vec::new(), opener: opener.clone(), hold: false };
        ctx.report(Report::TurnStarted { turn, prompt: opener });
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
        if let Some(id) = id {
            self.inbox.settle(ctx, &id, Receipt::Taken(active.turn));
        }
    }

    /// Screens of prompts that join the running turn are asked at once; no drain waits for them (A08).
    pub(crate) fn screen_steered(&mut self, ctx: &mut Ctx<'_>) {
        for waiting in &mut self.inbox.lane {
            if let Waiting::Prompt(prompt) = waiting {
                screen(ctx, prompt);
            }
        }
    }

    /// A verdict, wherever its prompt waits by now (A11).
    pub(crate) fn screened(&mut self, ctx: &mut Ctx<'_>, id: &InputId, verdict: &Screened) {
        let Some(prompt) = self.inbox.prompt_mut(id) else { return };
        match verdict {
            Screened::Admit => prompt.screen = Screen::Passed,
            Screened::Rewrite(message) if Self::is_blank(message) => {
                let why = "the screen left nothing of it";
                self.inbox.withdraw(ctx, id, Receipt::Dropped(DroppedBecause::Blocked(why.into())));
            }
            Screened::Rewrite(message) => {
                prompt.message = message.clone();
                prompt.screen = Screen::Passed;
            }
            Screened::Block(why) => {
                let receipt = Receipt::Dropped(DroppedBecause::Blocked(why.clone()));
                self.inbox.withdraw(ctx, id, receipt);
            }
        }
    }

    pub(crate) fn screen_failed(&mut self, ctx: &mut Ctx<'_>, id: &InputId, error: &Arc<HookError>) {
        ctx.report(Report::HookFailed { question: "Screen".into(), error: error.clone() });
        self.inbox.withdraw(ctx, id, Receipt::Dropped(DroppedBecause::ScreenFailed));
    }

    /// Takes pending input back, and the question about it (A23).
    pub(crate) fn take_back(&mut self, ctx: &mut Ctx<'_>, id: &InputId, receipt: Receipt) {
        ctx.send(Signal::Withdraw(Subject::Screen(id.clone())));
        self.inbox.withdraw(ctx, id, receipt);
    }

    /// A pending prompt in other words; it is screened again (A23).
    pub(crate) fn replace(&mut self, ctx: &mut Ctx<'_>, id: &InputId, message: &Content) {
        let again = ctx.config.ask.screen;
        if let Some(prompt) = self.inbox.prompt_mut(id) {
            let asked = prompt.screen == Screen::Asked;
            ctx.report(Report::Replaced { input: id.clone() });
            prompt.message = message.clone();
            prompt.screen = if again { Screen::Due } else { Screen::Passed };
            if asked {
                ctx.send(Signal::Withdraw(Subject::Screen(id.clone())));
                screen(ctx, prompt);
            }
        }
    }

    /// The end of a turn is told, to its prompts too (E08); prompts steered too late go back (A08).
    pub(crate) fn close_turn(&mut self, ctx: &mut Ctx<'_>, active: &Active, end: &TurnEnd) {
        self.inbox.unsteer();
        ctx.report(Report::TurnEnded(end.clone()));
        for id in &active.prompts {
            let receipt = Receipt::TurnEnded(end.turn, end.reason.clone());
            ctx.report(Report::Receipt { input: id.clone(), receipt });
        }
    }

    /// What the end of a turn means for what waits: one rule for every end (A14, A15).
    pub(crate) fn after_turn(&mut self, ctx: &mut Ctx<'_>, active: &Active, end: &TurnEnd) -> Outcome<State> {
        self.close_turn(ctx, active, end);
        match &end.reason {
            _ if active.hold => hold(ctx, HeldBecause::Reopened),
            EndReason::Failed(_) if !ctx.config.turn.go_on_after_failure => hold(ctx, HeldBecause::Failed),
            _ => self.next(ctx),
        }
    }

    /// The verdict was on the prompt that would open a turn: it does, or the next one is looked at.
    pub(crate) fn after_screen(&mut self, ctx: &mut Ctx<'_>, id: &InputId) -> Outcome<State> {
        if self.inbox.is_queued(id) && !self.paused { self.begin(ctx) } else { self.next(ctx) }
    }

    /// A turn is to be stopped (X01). After a user's abort next-step input does not start one (A15).
    pub(crate) fn stop(&mut self, ctx: &mut Ctx<'_>, cause: &Arc<Cause>) {
        if cause.is_by_user() {
            self.inbox.hush();
        }
        ctx.send(Signal::AbortTurn(cause.clone()));
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
        hold(ctx, HeldBecause::Reopened)
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
            Back::Idle => self.next(ctx),
            Back::Resume(unanswered) => self.resume(ctx, *unanswered),
            Back::Held(why) => Transition(State::Held(*why)),
            Back::Faulted(_) if edited => hold(ctx, HeldBecause::Failed),
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

    /// Open questions about prompts are taken back; they are asked again when their turn comes.
    pub(crate) fn forget_screens(&mut self, ctx: &mut Ctx<'_>) -> &mut Self {
        for id in self.inbox.forget_screens() {
            ctx.send(Signal::Withdraw(Subject::Screen(id)));
        }
        self
    }

    pub(crate) fn fault(
        &mut self,
        ctx: &mut Ctx<'_>,
        why: &machine_core::Text,
        check: bool,
        active: Option<Active>,
    ) -> Outcome<State> {
        self.forget_screens(ctx);
        self.told_fault(ctx, why);
        ctx.send(Signal::FaultWork(why.clone()));
        Transition(State::Faulted { why: why.clone(), check, active })
    }

    pub(crate) fn told_fault(&mut self, ctx: &mut Ctx<'_>, why: &machine_core::Text) {
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
        self.screen_steered(ctx);
        Handled
    }

    /// The running turn's own messages: those of results go first, directly after the results (A05).
    pub(crate) fn own(&mut self, messages: &[Waiting]) {
        let delivered = messages.iter().filter(|waiting| matches!(waiting, Waiting::Deliver { .. }));
        let others = messages.iter().filter(|waiting| !matches!(waiting, Waiting::Deliver { .. }));
        let lane = core::mem::take(&mut self.inbox.lane);
        self.inbox.lane = delivered.cloned().chain(lane).chain(others.cloned()).collect();
    }
}

fn hold(ctx: &mut Ctx<'_>, why: HeldBecause) -> Outcome<State> {
    ctx.report(Report::Held { why });
    Transition(State::Held(why))
}

/// Asks for a prompt's screening, once, if prompts are screened at all. How far it is now.
fn screen(ctx: &mut Ctx<'_>, prompt: &mut Prompt) -> Screen {
    if prompt.screen == Screen::Due && !ctx.config.ask.screen {
        prompt.screen = Screen::Passed;
    }
    if prompt.screen == Screen::Due {
        prompt.screen = Screen::Asked;
        let (prompt, message) = (prompt.id.clone(), prompt.message.clone());
        ctx.send(Signal::Ask(Question::Screen { prompt, message }));
        return Screen::Asked;
    }
    prompt.screen
}
