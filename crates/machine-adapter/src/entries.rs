//! What goes into history besides results, and the asks that go with it.
use alloc::sync::Arc;
use alloc::vec::Vec;

use machine_agent::inbox::Waiting;
use machine_core::ask::{Question, Subject, Withdrawal, WithdrawnBecause};
use machine_core::drain::Drained;
use machine_core::event::{Event as Report, HeadTold, RequestHead, TurnEnd};
use machine_core::ids::{AttemptId, TurnId};
use machine_core::message::{Content, Entry, Message, Origin, Said, sayable, text_content};
use machine_turn::attempt::Response;

use crate::deliver::Run;
use crate::engine::{Staged, Told};
use crate::hook_text::HookText;
use crate::out::{Order, Work};
use crate::repeat::Repeats;

impl Run<'_> {
    /// Asks the host: an act waits for the journal, a question leaves at once.
    pub(crate) fn ask(&mut self, question: Question) {
        let act = question.is_act();
        let ask = self.engine.asks.ask(question, &self.engine.turn_config.ask, self.at);
        if act {
            self.out.acts.push(ask);
        } else {
            self.out.now.push(Order::Ask(ask));
        }
    }

    /// Takes an ask back, if it is open.
    pub(crate) fn withdraw(&mut self, subject: &Subject, why: WithdrawnBecause) {
        let Some(ask) = self.engine.asks.withdraw(subject) else { return };
        if !self.out.retract(ask) {
            let grace_ms =
                matches!(subject, Subject::Execute(_)).then_some(self.engine.turn_config.calls.grace_ms);
            self.out.now.push(Order::Withdraw(Withdrawal { ask, why, grace_ms }));
        }
    }

    /// Puts an entry into history. One that does not fit is a fault of this engine (V06).
    pub(crate) fn append(&mut self, entry: Arc<Entry>) {
        let at = self.engine.history.len();
        match self.engine.history.append(entry.clone()) {
            Ok(()) => self.out.events.push(Report::Committed { at, entry }),
            Err(error) => self.check_failed(&error),
        }
    }

    /// A request leaves only if history is ready (V06). It tells its head when that differs from the last (T21).
    pub(crate) fn request(&mut self, attempt: AttemptId) {
        if let Err(error) = self.engine.history.ready() {
            return self.check_failed(&error);
        }
        let with = self.head_to_tell();
        self.out.events.push(Report::AttemptStarted { attempt, with });
        self.ask(Question::Attempt { attempt });
    }

    fn head_to_tell(&mut self) -> Option<Arc<RequestHead>> {
        let head = &self.engine.turn.as_ref()?.data().head;
        let (system, settings) = (head.system.clone(), head.settings.clone());
        let why = match &self.engine.told {
            Told::Nothing => HeadTold::First,
            Told::Reopened => HeadTold::Resumed,
            Told::Last { system: s, settings: o } if (s, o) != (&system, &settings) => HeadTold::Changed,
            Told::Last { .. } => return None,
        };
        self.engine.told = Told::Last { system: system.clone(), settings: settings.clone() };
        Some(Arc::new(RequestHead { why, system, settings }))
    }

    /// A hook's message takes the room of the turn that reads it (H09).
    pub(crate) fn commit_drained(&mut self, drained: Drained) {
        let Drained { origin, content, meta } = drained;
        let content = match &origin {
            Origin::StopHook { hook } => self.hook_says(hook, &content),
            _ => sayable(&content),
        };
        let message = Message::User { content };
        self.append(Arc::new(Entry { origin, turn: self.turn_id(), message, meta }));
    }

    pub(crate) fn commit_gate(&mut self, messages: Vec<Said>) {
        for said in messages {
            let content = self.hook_says(&said.hook, &said.content);
            self.append(Entry::user(Origin::Gate { hook: said.hook }, self.turn_id(), content));
        }
    }

    pub(crate) fn commit_salvage(&mut self, content: Content) {
        let message = Message::Assistant { content };
        self.append(Arc::new(Entry { origin: Origin::Salvaged, turn: self.turn_id(), message, meta: None }));
    }

    /// Not twice in a row (X07).
    pub(crate) fn commit_marker(&mut self) {
        if self.engine.history.last().is_some_and(|last| last.origin == Origin::AbortMarker) {
            return;
        }
        let text =
            text_content("[The user stopped this turn on purpose. Do not carry on with it unless asked to.]");
        self.append(Entry::user(Origin::AbortMarker, self.turn_id(), text));
    }

    /// Commits a response; its calls become the batch (T05, B04).
    pub(crate) fn respond(&mut self, response: Response) {
        let Some(step) = self.engine.turn.as_ref().map(|turn| turn.data().step_id()) else { return };
        let limits = &self.engine.turn_config.turn;
        let (entry, mut openings) = self.engine.ledger.announce(step, response, &self.engine.history, limits);
        self.append(entry);
        self.refuse_repeats(&mut openings);
        for opening in &openings {
            let call = &opening.call;
            let (wire, tool) = (call.wire.clone(), call.tool.clone());
            let args = call.raw.as_ref().map_or_else(|| call.args.clone(), |raw| raw.args.clone());
            self.out.events.push(Report::CallAnnounced { call: call.id, wire, tool, args });
        }
        if let Some(first) = openings.first() {
            let count = u32::try_from(openings.len()).unwrap_or(u32::MAX);
            self.engine.batch.begin(first.call.id, count);
        }
        self.push_first(openings.into_iter().map(Work::Open));
    }

    /// What waits for the next step, as the turn needs to know it (T13).
    pub(crate) fn look(&mut self) {
        let pending = self.pending();
        self.step_turn(&machine_turn::Event::Pending(pending));
    }

    pub(crate) fn continue_with(&mut self, messages: &[Said]) {
        let own = messages.iter().cloned().map(Waiting::StopHook).collect();
        self.step_agent(&machine_agent::Event::Own(own));
    }

    /// Calls that end with their turn are stopped first (C15).
    pub(crate) fn turn_ended(&mut self, end: TurnEnd) {
        self.engine.turn = None;
        self.engine.repeats = Repeats::default();
        self.engine.hook_text = HookText::default();
        self.push_first([Work::ToAgent(machine_agent::Event::TurnEnded(end))].into_iter());
        self.cancel_with_turn();
    }

    pub(crate) fn begin_edits(&mut self) {
        self.engine.staged = Some(Staged { history: self.engine.history.clone(), edits: Vec::new() });
    }

    /// Maintenance is over: its edits count, or history is as it was (A17).
    pub(crate) fn end_edits(&mut self, keep: bool) {
        let Some(staged) = self.engine.staged.take().filter(|_| keep) else { return };
        self.engine.history = staged.history;
        self.out.events.extend(staged.edits.into_iter().map(|edit| Report::Edited { edit }));
    }

    fn turn_id(&self) -> Option<TurnId> {
        self.engine.agent.state().active().map(|active| active.turn)
    }
}
