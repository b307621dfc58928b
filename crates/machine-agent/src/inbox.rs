//! The two lanes of input (A02), reminders (A07), and the ids that were seen (A10).
//!
//! Every input with an id has a receipt: `Accepted`, then exactly one of `Taken`, `Dropped`, `Returned` (E08). The
//! methods here change the lanes and the receipts together, so that none is lost.
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use machine_core::Text;
use machine_core::digest::Digest;
use machine_core::event::{DroppedBecause, Event as Report, HeldBecause, Receipt};
use machine_core::ids::{CallId, InputId};
use machine_core::input::{Note, Reminder, Submit};
use machine_core::message::{Content, Origin, Said};
use serde::{Deserialize, Serialize};

use crate::event::Ctx;

/// What waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Inbox {
    /// For the next turn: one prompt each, first in first out.
    pub queue: VecDeque<Prompt>,
    /// For the next step: taken as a whole.
    pub lane: Vec<Waiting>,
    /// By when they were last set.
    pub reminders: Vec<Reminder>,
    /// What was last told under a reminder's key.
    pub(crate) told: BTreeMap<InputId, Digest>,
    /// Receipts of what is pending and of what was taken not long ago.
    pub(crate) receipts: BTreeMap<InputId, Receipt>,
    /// The latter, oldest first.
    pub(crate) past: VecDeque<InputId>,
}

/// A pending prompt.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Prompt {
    /// Its id.
    pub id: InputId,
    /// What it says.
    pub message: Content,
    /// Whether it wakes an idle agent.
    pub wake: bool,
    /// The host's own data.
    pub meta: Option<Text>,
    /// How far its screening is (A11).
    pub screen: Screen,
}

/// How far a prompt's or a notification's screening is. It happens once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Screen {
    /// Not asked.
    Due,
    /// Asked.
    Asked,
    /// Admitted.
    Passed,
}

/// Something for the next step.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// A steered prompt (A08).
    Prompt(Prompt),
    /// A notification, or an injection, which does not wake.
    Note {
        /// What was sent.
        note: alloc::sync::Arc<Note>,
        /// Whether it wakes an idle agent.
        wake: bool,
        /// How far its screening is, where notifications are screened (A11).
        screen: Screen,
    },
    /// The outcome of a call that was answered before (X06).
    LateResult {
        /// The call.
        call: CallId,
        /// What to tell.
        content: Content,
    },
    /// The end of a background call (A20).
    BackgroundEnd {
        /// The call.
        call: CallId,
        /// What to tell.
        content: Content,
        /// Whether it wakes an idle agent.
        wake: bool,
    },
    /// A message that a result of the batch carried (V14).
    Deliver {
        /// The call.
        call: CallId,
        /// The message.
        content: Content,
    },
    /// A message of the stop hook (T16).
    StopHook(Said),
}

impl Waiting {
    pub(crate) fn id(&self) -> Option<&InputId> {
        match self {
            Self::Prompt(prompt) => Some(&prompt.id),
            Self::Note { note, .. } => Some(&note.id),
            Self::BackgroundEnd { .. } | Self::LateResult { .. } => None,
            Self::Deliver { .. } | Self::StopHook(_) => None,
        }
    }

    pub(crate) fn wakes(&self) -> bool {
        match self {
            Self::Prompt(prompt) => prompt.wake,
            Self::Note { wake, .. } | Self::BackgroundEnd { wake, .. } => *wake,
            Self::LateResult { .. } | Self::Deliver { .. } | Self::StopHook(_) => false,
        }
    }

    /// Whether a drain may take it: what is screened only after it was admitted (A08, A11).
    pub fn is_ready(&self) -> bool {
        match self {
            Self::Prompt(Prompt { screen, .. }) | Self::Note { screen, .. } => *screen == Screen::Passed,
            Self::BackgroundEnd { .. } | Self::LateResult { .. } => true,
            Self::Deliver { .. } | Self::StopHook(_) => true,
        }
    }

    /// What is screened of it: its id, what it says, and how far that is.
    pub(crate) fn screening(&mut self) -> Option<(InputId, Content, &mut Screen)> {
        match self {
            Self::Prompt(prompt) => Some(prompt.screening()),
            Self::Note { note, screen, .. } => Some((note.id.clone(), note.message.clone(), screen)),
            Self::BackgroundEnd { .. } | Self::LateResult { .. } => None,
            Self::Deliver { .. } | Self::StopHook(_) => None,
        }
    }

    /// What goes into history.
    pub(crate) fn into_parts(self) -> (Origin, Content, Option<Text>) {
        match self {
            Self::Prompt(prompt) => (Origin::Prompt { id: prompt.id }, prompt.message, prompt.meta),
            Self::Note { note, .. } => {
                (Origin::Notification { id: note.id.clone() }, note.message.clone(), note.meta.clone())
            }
            Self::BackgroundEnd { call, content, .. } => (Origin::BackgroundEnd { call }, content, None),
            Self::LateResult { call, content } => (Origin::LateResult { call }, content, None),
            Self::Deliver { call, content } => (Origin::Deliver { call }, content, None),
            Self::StopHook(Said { hook, content }) => (Origin::StopHook { hook }, content, None),
        }
    }
}

impl Prompt {
    pub(crate) fn of(submit: &Submit, screened: bool) -> Self {
        let Submit { id, message, lane: _, wake, meta } = submit.clone();
        let screen = if screened { Screen::Due } else { Screen::Passed };
        Self { id, message, wake, meta, screen }
    }

    /// Its id, what it says, and how far its screening is.
    pub(crate) fn screening(&mut self) -> (InputId, Content, &mut Screen) {
        (self.id.clone(), self.message.clone(), &mut self.screen)
    }
}

impl Inbox {
    /// Whether something wants a turn of its own (A04).
    pub fn wants_turn(&self) -> bool {
        self.queue.iter().any(|prompt| prompt.wake) || self.lane.iter().any(Waiting::wakes)
    }

    /// Whether nothing at all waits; reminders do not count.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.lane.is_empty()
    }

    /// The first outcome of an id that is pending or was taken not long ago (A10).
    pub fn receipt(&self, id: &InputId) -> Option<&Receipt> {
        self.receipts.get(id)
    }

    /// The pending prompt of this id, in either lane.
    pub fn prompt_mut(&mut self, id: &InputId) -> Option<&mut Prompt> {
        self.prompts_mut().find(|prompt| prompt.id == *id)
    }

    fn prompts_mut(&mut self) -> impl Iterator<Item = &mut Prompt> {
        let in_lane = self.lane.iter_mut().filter_map(|waiting| match waiting {
            Waiting::Prompt(prompt) => Some(prompt),
            _ => None,
        });
        self.queue.iter_mut().chain(in_lane)
    }

    /// Whatever is screened and has not been taken.
    fn screenings(&mut self) -> impl Iterator<Item = (InputId, Content, &mut Screen)> {
        let in_lane = self.lane.iter_mut().filter_map(Waiting::screening);
        self.queue.iter_mut().map(Prompt::screening).chain(in_lane)
    }

    /// How far the screening of this id is.
    pub(crate) fn screen_mut(&mut self, id: &InputId) -> Option<&mut Screen> {
        self.screenings().find(|(of, ..)| of == id).map(|(_, _, screen)| screen)
    }

    /// This id says something else now (A11).
    pub(crate) fn rewrite(&mut self, id: &InputId, message: &Content) {
        if let Some(prompt) = self.prompt_mut(id) {
            prompt.message = message.clone();
        }
        for waiting in &mut self.lane {
            if let Waiting::Note { note, .. } = waiting
                && note.id == *id
            {
                *note = Note { message: message.clone(), ..(**note).clone() }.into();
            }
        }
    }

    /// Every pending id: of prompts, of input for the next step, of reminders.
    pub(crate) fn pending_ids(&self) -> Vec<InputId> {
        let queued = self.queue.iter().map(|prompt| &prompt.id);
        let in_lane = self.lane.iter().filter_map(Waiting::id);
        queued.chain(in_lane).chain(self.reminders.iter().map(|reminder| &reminder.key)).cloned().collect()
    }

    /// What waits is kept: told to each, once per holding (E08).
    pub(crate) fn held(&mut self, ctx: &mut Ctx<'_>, why: HeldBecause) {
        for id in self.pending_ids() {
            // A reminder has none to remember.
            if let Some(receipt) = self.receipts.get_mut(&id) {
                *receipt = Receipt::Held(why);
            }
            report(ctx, &id, Receipt::Held(why));
        }
    }

    /// Whether the end of this background call waits to be told.
    pub fn has_background_end(&self, call: CallId) -> bool {
        self.lane
            .iter()
            .any(|waiting| matches!(waiting, Waiting::BackgroundEnd { call: of, .. } if *of == call))
    }

    /// Whether this id is pending: in a lane, or among the reminders.
    pub fn is_pending(&self, id: &InputId) -> bool {
        self.is_in_a_lane(id) || self.reminders.iter().any(|reminder| reminder.key == *id)
    }

    /// Whether this id is pending and no reminder's.
    pub(crate) fn is_in_a_lane(&self, id: &InputId) -> bool {
        self.is_queued(id) || self.lane.iter().any(|waiting| waiting.id() == Some(id))
    }

    /// Whether this id is a pending prompt's.
    pub fn is_prompt(&self, id: &InputId) -> bool {
        self.is_queued(id)
            || self.lane.iter().any(|waiting| matches!(waiting, Waiting::Prompt(p) if p.id == *id))
    }

    /// Whether this id is a prompt's that waits for a turn.
    pub fn is_queued(&self, id: &InputId) -> bool {
        self.queue.iter().any(|prompt| prompt.id == *id)
    }

    pub(crate) fn queue_prompt(&mut self, ctx: &mut Ctx<'_>, prompt: Prompt) {
        self.note(ctx, &prompt.id, Receipt::Accepted);
        self.queue.push_back(prompt);
    }

    pub(crate) fn lane_prompt(&mut self, ctx: &mut Ctx<'_>, prompt: Prompt) {
        self.note(ctx, &prompt.id, Receipt::Accepted);
        self.note(ctx, &prompt.id, Receipt::Steered);
        self.lane.push(Waiting::Prompt(prompt));
    }

    pub(crate) fn lane_note(&mut self, ctx: &mut Ctx<'_>, note: &alloc::sync::Arc<Note>, wake: bool) {
        self.note(ctx, &note.id, Receipt::Accepted);
        let screened = wake && ctx.config.inbox.screen_notifications && ctx.config.ask.screen;
        let screen = if screened { Screen::Due } else { Screen::Passed };
        self.lane.push(Waiting::Note { note: note.clone(), wake, screen });
    }

    /// A reminder replaces the one with its key and moves to the end (A07).
    pub(crate) fn remind(&mut self, ctx: &mut Ctx<'_>, reminder: &Reminder) {
        if let Some(at) = self.reminders.iter().position(|old| old.key == reminder.key) {
            self.reminders.remove(at);
            report(ctx, &reminder.key, Receipt::Dropped(DroppedBecause::Superseded));
        }
        report(ctx, &reminder.key, Receipt::Accepted);
        self.reminders.push(reminder.clone());
    }

    /// Takes the reminders that have something new to say.
    pub(crate) fn take_reminders(&mut self, ctx: &mut Ctx<'_>) -> Vec<Reminder> {
        let mut taken = Vec::new();
        for reminder in core::mem::take(&mut self.reminders) {
            let digest = Digest::of(&*reminder.message);
            if reminder.only_if_changed && self.told.get(&reminder.key) == Some(&digest) {
                report(ctx, &reminder.key, Receipt::Dropped(DroppedBecause::Superseded));
                continue;
            }
            self.told.insert(reminder.key.clone(), digest);
            if self.told.len() > ctx.config.inbox.remembered_ids.max(1) {
                self.told.pop_first();
            }
            taken.push(reminder);
        }
        taken
    }

    /// Prompts of these ids leave the queue for the lane, in queue order (A08).
    pub(crate) fn steer(&mut self, ctx: &mut Ctx<'_>, ids: &[InputId]) {
        let (steered, rest): (VecDeque<_>, VecDeque<_>) =
            core::mem::take(&mut self.queue).into_iter().partition(|p| ids.contains(&p.id));
        self.queue = rest;
        for prompt in steered {
            self.note(ctx, &prompt.id, Receipt::Steered);
            self.lane.push(Waiting::Prompt(prompt));
        }
    }

    /// Prompts that were steered too late go to the head of the queue, in order (A08).
    pub(crate) fn unsteer(&mut self) {
        let (prompts, rest): (Vec<_>, Vec<_>) = core::mem::take(&mut self.lane)
            .into_iter()
            .partition(|waiting| matches!(waiting, Waiting::Prompt(_)));
        self.lane = rest;
        for waiting in prompts.into_iter().rev() {
            if let Waiting::Prompt(prompt) = waiting {
                self.queue.push_front(prompt);
            }
        }
    }

    /// Removes pending input of this id (A23).
    pub(crate) fn withdraw(&mut self, ctx: &mut Ctx<'_>, id: &InputId, receipt: Receipt) {
        self.queue.retain(|prompt| prompt.id != *id);
        self.lane.retain(|waiting| waiting.id() != Some(id));
        self.reminders.retain(|reminder| reminder.key != *id);
        self.settle(ctx, id, receipt);
    }

    /// After a user's abort what waits for the next step does not start a turn by itself; prompts do (A15).
    pub(crate) fn hush(&mut self) {
        for waiting in &mut self.lane {
            match waiting {
                Waiting::Note { wake, .. } | Waiting::BackgroundEnd { wake, .. } => *wake = false,
                Waiting::LateResult { .. } => {}
                Waiting::Prompt(_) | Waiting::Deliver { .. } | Waiting::StopHook(_) => {}
            }
        }
    }

    /// Screens that nobody will answer any more are due again.
    pub(crate) fn forget_screens(&mut self) -> Vec<InputId> {
        let mut asked = Vec::new();
        for (id, _, screen) in self.screenings().filter(|(.., screen)| **screen == Screen::Asked) {
            *screen = Screen::Due;
            asked.push(id);
        }
        asked
    }

    /// A receipt that is not the last.
    fn note(&mut self, ctx: &mut Ctx<'_>, id: &InputId, receipt: Receipt) {
        self.receipts.insert(id.clone(), receipt.clone());
        report(ctx, id, receipt);
    }

    /// `Taken`, `Dropped` or `Returned`: the id is remembered for a while (A10).
    pub(crate) fn settle(&mut self, ctx: &mut Ctx<'_>, id: &InputId, receipt: Receipt) {
        report(ctx, id, receipt.clone());
        self.remember(id, receipt, ctx.config.inbox.remembered_ids);
    }
}

fn report(ctx: &mut Ctx<'_>, id: &InputId, receipt: Receipt) {
    ctx.report(Report::Receipt { input: id.clone(), receipt });
}
