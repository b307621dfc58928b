//! Who is asked before input goes in (A11), and what joins a running turn (A08).
use alloc::sync::Arc;

use machine_core::ask::{HookError, Question, Screened, Subject};
use machine_core::event::{DroppedBecause, Event as Report, Receipt};
use machine_core::ids::InputId;
use machine_core::message::Content;
use statig::Outcome::{self, Handled};

use crate::event::{Ctx, Signal};
use crate::inbox::{Screen, Waiting};
use crate::state::{Agent, State};

impl Agent {
    /// The prompt that is screened was changed: the screen is asked again, unless none is wanted any more.
    pub(crate) fn screen_goes_on(&mut self, ctx: &mut Ctx<'_>, id: &InputId) -> Outcome<State> {
        match self.inbox.prompt_mut(id) {
            Some(prompt) if prompt.screen != Screen::Passed => Handled,
            _ => self.after_screen(ctx, id),
        }
    }

    /// A notification that would open the turn is screened first; no turn waits for one that would not (A11).
    pub(crate) fn screen_note(&mut self, ctx: &mut Ctx<'_>) -> Option<InputId> {
        let lane = &mut self.inbox.lane;
        let wakes = |ready| lane.iter().any(|waiting| waiting.is_ready() == ready && waiting.wakes());
        let opened = wakes(true) || (!wakes(false) && lane.iter().any(Waiting::is_ready));
        if opened {
            return None;
        }
        lane.iter_mut().filter_map(Waiting::screening).find_map(|screening| screen(ctx, screening))
    }

    /// What is for the next step of the running turn is screened at once; no drain waits for it (A08, A11).
    pub(crate) fn screen_lane(&mut self, ctx: &mut Ctx<'_>) {
        for screening in self.inbox.lane.iter_mut().filter_map(Waiting::screening) {
            screen(ctx, screening);
        }
    }

    /// A prompt that joined the turn and was admitted cuts the calls that can be cut (C14).
    pub(crate) fn cut(&mut self, ctx: &mut Ctx<'_>) -> Outcome<State> {
        if self.pending().steered {
            ctx.send(Signal::CutCalls);
        }
        Handled
    }

    /// A verdict, wherever its input waits by now (A11).
    pub(crate) fn screened(&mut self, ctx: &mut Ctx<'_>, id: &InputId, verdict: &Screened) {
        let Some(screen) = self.inbox.screen_mut(id) else { return };
        match verdict {
            Screened::Admit => *screen = Screen::Passed,
            Screened::Rewrite(message) if Self::is_blank(message) => {
                let why = "the screen left nothing of it";
                self.inbox.withdraw(ctx, id, Receipt::Dropped(DroppedBecause::Blocked(why.into())));
            }
            Screened::Rewrite(message) => {
                *screen = Screen::Passed;
                self.inbox.rewrite(id, message);
            }
            Screened::Block(why) => {
                let receipt = Receipt::Dropped(DroppedBecause::Blocked(why.clone()));
                self.inbox.withdraw(ctx, id, receipt);
            }
        }
    }

    /// No verdict: the input goes (A11).
    pub(crate) fn screen_failed(&mut self, ctx: &mut Ctx<'_>, id: &InputId, error: &Arc<HookError>) {
        if self.inbox.screen_mut(id).is_none() {
            return;
        }
        ctx.report(Report::HookFailed { question: "Screen".into(), error: error.clone() });
        self.inbox.withdraw(ctx, id, Receipt::Dropped(DroppedBecause::ScreenFailed));
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
                screen(ctx, prompt.screening());
            }
        }
    }

    /// The verdict was on what would open a turn: it does, or the next one is looked at.
    pub(crate) fn after_screen(&mut self, ctx: &mut Ctx<'_>, id: &InputId) -> Outcome<State> {
        if self.inbox.is_pending(id) && !self.paused { self.begin(ctx) } else { self.next(ctx) }
    }

    /// Open questions about prompts are taken back; they are asked again when their turn comes.
    pub(crate) fn forget_screens(&mut self, ctx: &mut Ctx<'_>) -> &mut Self {
        for id in self.inbox.forget_screens() {
            ctx.send(Signal::Withdraw(Subject::Screen(id)));
        }
        self
    }
}

/// Asks for a screening, once, if anything is screened at all. The id, unless it is admitted by now.
pub(crate) fn screen(
    ctx: &mut Ctx<'_>,
    (prompt, message, screen): (InputId, Content, &mut Screen),
) -> Option<InputId> {
    if *screen == Screen::Due && !ctx.config.ask.screen {
        *screen = Screen::Passed;
    }
    if *screen == Screen::Due {
        *screen = Screen::Asked;
        ctx.send(Signal::Ask(Question::Screen { prompt: prompt.clone(), message }));
    }
    (*screen != Screen::Passed).then_some(prompt)
}
