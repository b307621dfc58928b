//! What was sent, as a monitor knows it: where it waits, how far its screening is, what it says, what became of it.
use std::collections::BTreeMap;

use machine_agent::inbox::{Screen, Waiting};
use machine_agent::{Agent, Event};
use machine_core::event::Receipt;
use machine_core::ids::{InputId, TurnId};
use machine_core::input::Lane;
use machine_core::message::Content;

use crate::explore::{Checked, broken};

/// Every input that was accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Inputs {
    all: BTreeMap<InputId, Input>,
    /// Prompts that wait for a turn, first in first out.
    pub queue: Vec<InputId>,
    /// What waits for the next step, by arrival.
    pub lane: Vec<InputId>,
    /// Prompts of the running turn.
    taken: Vec<InputId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Input {
    is_prompt: bool,
    is_reminder: bool,
    wakes: bool,
    screened: Screen,
    says: Content,
    pending: bool,
}

impl Inputs {
    /// What came, before it is accepted. `joins`: a turn runs that it may join.
    pub fn came(&mut self, event: &Event, joins: bool, screens: bool, screens_notes: bool) {
        let due = |screened| if screened { Screen::Due } else { Screen::Passed };
        let (id, message, is_prompt, wakes, screened) = match event {
            Event::Submit(submit) => (&submit.id, &submit.message, true, submit.wake, due(screens)),
            Event::Notify(note) => (&note.id, &note.message, false, true, due(screens_notes)),
            Event::Inject(note) => (&note.id, &note.message, false, false, Screen::Passed),
            Event::Remind(reminder) => (&reminder.key, &reminder.message, false, false, Screen::Passed),
            _ => return,
        };
        let is_reminder = matches!(event, Event::Remind(_));
        let says = message.clone();
        self.all.insert(id.clone(), Input { is_prompt, is_reminder, wakes, screened, says, pending: false });
        match event {
            Event::Submit(submit) if submit.lane == Lane::NextStep && joins => self.lane.push(id.clone()),
            Event::Submit(_) => self.queue.push(id.clone()),
            Event::Notify(_) | Event::Inject(_) => self.lane.push(id.clone()),
            _ => {}
        }
    }

    pub fn get(&self, id: &InputId) -> Option<&Input> {
        self.all.get(id)
    }

    /// Ids that were ever accepted; a reminder's may come again.
    pub fn known(&self) -> impl Iterator<Item = &InputId> {
        self.all.iter().filter(|(_, input)| !input.is_reminder).map(|(id, _)| id)
    }

    /// Ids of what is pending.
    pub fn pending(&self) -> impl Iterator<Item = &InputId> {
        self.all.iter().filter(|(_, input)| input.pending).map(|(id, _)| id)
    }

    /// Whether something that is pending wakes an idle agent.
    pub fn wakes(&self) -> bool {
        self.all.values().any(|input| input.pending && input.wakes)
    }

    /// The same of what was admitted, and waits for the next step.
    pub fn admitted_wakes(&self) -> bool {
        let wakes = |id: &InputId| self.all.get(id).is_some_and(|input| input.wakes && input.is_passed());
        self.lane.iter().any(wakes)
    }

    /// Whether a prompt that joined the turn waits for its next step.
    pub fn has_joined(&self) -> bool {
        let passed =
            |id: &InputId| self.all.get(id).is_some_and(|input| input.is_prompt && input.is_passed());
        self.lane.iter().any(passed)
    }

    /// Whether something in the lane could have gone in with the last drain.
    pub fn is_left_over(&self) -> bool {
        self.lane.iter().any(|id| self.all.get(id).is_some_and(Input::is_passed))
    }

    /// Prompts of these ids join the turn, in queue order.
    pub fn steer(&mut self, ids: &[InputId]) {
        let (steered, rest) = std::mem::take(&mut self.queue).into_iter().partition(|id| ids.contains(id));
        self.queue = rest;
        self.lane.extend::<Vec<_>>(steered);
    }

    /// Prompts that joined too late go to the head of the queue, in order (A08).
    pub fn unsteer(&mut self) {
        let is_prompt = |id: &InputId| self.all.get(id).is_some_and(|input| input.is_prompt);
        let (prompts, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.lane).into_iter().partition(is_prompt);
        self.lane = rest;
        self.queue.splice(0..0, prompts);
    }

    /// What waits for the next step does not wake any more (A15).
    pub fn hush(&mut self) {
        for id in &self.lane {
            if let Some(input) = self.all.get_mut(id).filter(|input| !input.is_prompt) {
                input.wakes = false;
            }
        }
    }

    /// Its screening is asked, once (A11).
    pub fn asked(&mut self, id: &InputId) -> Checked {
        match self.all.get_mut(id) {
            Some(input) if input.pending && input.screened == Screen::Due => {
                input.screened = Screen::Asked;
                Ok(())
            }
            _ => broken("A11", "a screening is asked twice, or of nothing that waits"),
        }
    }

    /// It was admitted, as it is or in other words.
    pub fn admitted(&mut self, id: &InputId, rewritten: Option<&Content>) {
        if let Some(input) = self.all.get_mut(id).filter(|input| input.pending) {
            input.screened = Screen::Passed;
            input.says = rewritten.unwrap_or(&input.says).clone();
        }
    }

    /// It says something else, and is screened again (A23).
    pub fn replaced(&mut self, id: &InputId, message: &Content, screens: bool) {
        if let Some(input) = self.all.get_mut(id) {
            input.screened = if screens { Screen::Due } else { Screen::Passed };
            input.says = message.clone();
        }
    }

    /// Nobody answers open screenings any more: they are due again, if they are still wanted.
    pub fn forget_screens(&mut self, screens: bool) {
        for input in self.all.values_mut().filter(|input| input.screened == Screen::Asked) {
            input.screened = if screens { Screen::Due } else { Screen::Passed };
        }
    }

    /// What was not asked about yet never will be.
    pub fn let_through(&mut self) {
        for input in self.all.values_mut().filter(|input| input.screened == Screen::Due) {
            input.screened = Screen::Passed;
        }
    }

    /// It goes into history.
    pub fn committed(&self, id: &InputId, content: &Content) -> Checked {
        match self.all.get(id) {
            Some(input) if !input.pending => broken("P5", "something is taken twice"),
            Some(input) if !input.is_passed() => broken("A11", "something goes in that was not admitted"),
            Some(input) if input.says != *content => {
                broken("A11", "something else goes in than was admitted")
            }
            Some(_) => Ok(()),
            None => broken("P5", "something is taken that nobody sent"),
        }
    }

    /// `Accepted`, then exactly one last receipt (E08).
    pub fn receipt(&mut self, id: &InputId, receipt: &Receipt, turn: Option<TurnId>) -> Checked {
        let taken = self.taken.iter().position(|one| one == id);
        let Some(input) = self.all.get_mut(id) else {
            return broken("E08", "a receipt of nothing that was sent");
        };
        match receipt {
            Receipt::Accepted if !input.pending => input.pending = true,
            Receipt::Steered if input.pending && input.is_prompt => {}
            Receipt::Held(_) if input.pending => {}
            Receipt::Taken(by) if input.pending && turn == Some(*by) => {
                input.pending = false;
                if input.is_prompt {
                    self.taken.push(id.clone());
                }
            }
            Receipt::Dropped(_) | Receipt::Returned if input.pending => input.pending = false,
            Receipt::TurnEnded(..) => match taken {
                Some(at) => drop(self.taken.remove(at)),
                None => return broken("E08", "a prompt is told the end of a turn that did not take it"),
            },
            other => return Err(format!("E08: {id} has {other:?} out of order")),
        }
        if !input.pending {
            self.queue.retain(|one| one != id);
            self.lane.retain(|one| one != id);
        }
        Ok(())
    }

    /// Whether every prompt of the turn was told its end.
    pub fn all_told(&self) -> bool {
        self.taken.is_empty()
    }

    /// What waits in the machine is what is pending, in the same order (P5, A02). `screens`: whether screenings are wanted;
    /// where they are not, the machine finds out when it looks.
    pub fn holds(&self, agent: &Agent, screens: bool) -> Checked {
        let inbox = &agent.inbox;
        let lane = || {
            inbox.lane.iter().filter_map(|waiting| match waiting {
                Waiting::Prompt(prompt) => Some((&prompt.id, prompt.screen)),
                Waiting::Note { note, screen, .. } => Some((&note.id, *screen)),
                _ => None,
            })
        };
        let queue = || inbox.queue.iter().map(|prompt| (&prompt.id, prompt.screen));
        let reminders = inbox.reminders.iter().map(|reminder| &reminder.key);
        let mut pending: Vec<_> = queue().chain(lane()).map(|(id, _)| id).chain(reminders).collect();
        pending.sort();
        let looked = |screen| if screen == Screen::Due && !screens { Screen::Passed } else { screen };
        let other = queue()
            .chain(lane())
            .any(|(id, screen)| self.all.get(id).is_none_or(|of| of.screened != looked(screen)));
        match () {
            () if !pending.into_iter().eq(self.pending()) => {
                broken("P5", "an input is lost, or kept after its last receipt")
            }
            () if !queue().map(|(id, _)| id).eq(&self.queue) => broken("A02", "prompts do not wait in order"),
            () if !lane().map(|(id, _)| id).eq(&self.lane) => {
                broken("A05", "input for the next step does not wait by arrival")
            }
            () if other => broken("A11", "a screening is somewhere else"),
            () => Ok(()),
        }
    }
}

impl Input {
    /// Whether it was admitted, or nobody is asked.
    pub fn is_passed(&self) -> bool {
        self.screened == Screen::Passed
    }

    pub fn is_reminder(&self) -> bool {
        self.is_reminder
    }
}
