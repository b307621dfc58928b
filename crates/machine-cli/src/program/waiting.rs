//! Questions that wait for a person. One at a time is shown, in call order.
use std::collections::{BTreeSet, VecDeque};

use machine_core::ids::CallId;

use crate::program::approvals::{Approver, Asked, Questions, Said};
use crate::program::console::Console;

/// The questions that a person has not answered; the first is shown.
pub struct Waiting {
    approver: Approver,
    questions: Questions,
    open: VecDeque<Asked>,
    /// Questions that came before the event that announces them: what led to them is shown first.
    early: Vec<Asked>,
    /// Announced, and the question has not come.
    announced: BTreeSet<CallId>,
}

impl Waiting {
    /// What comes through this channel. What was announced already is asked again, and is not announced again.
    pub fn new(approver: Approver, questions: Questions, announced: BTreeSet<CallId>) -> Self {
        Self { approver, questions, open: VecDeque::new(), early: Vec::new(), announced }
    }

    /// The next question; never, if there will be none.
    pub async fn next(&mut self) -> Asked {
        match self.questions.recv().await {
            Some(asked) => asked,
            None => std::future::pending().await,
        }
    }

    /// Whether no question is shown.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// A new question. It is shown when the event that announces it was.
    pub fn ask(&mut self, asked: Asked, console: &mut dyn Console) {
        if self.announced.remove(&asked.question.call) {
            self.show(asked, console);
        } else {
            self.early.push(asked);
        }
    }

    /// Everything that led to the question about this call is shown.
    pub fn announced(&mut self, call: CallId, console: &mut dyn Console) {
        match self.early.iter().position(|asked| asked.question.call == call) {
            Some(at) => {
                let asked = self.early.remove(at);
                self.show(asked, console);
            }
            None => drop(self.announced.insert(call)),
        }
    }

    /// Events were missed, perhaps one that announces a question.
    pub fn show_early(&mut self, console: &mut dyn Console) {
        for asked in std::mem::take(&mut self.early) {
            self.show(asked, console);
        }
    }

    fn show(&mut self, asked: Asked, console: &mut dyn Console) {
        if self.approver.is_always(&asked.question.tool) {
            return self.approver.answer(asked, Said::Yes);
        }
        // The one that is shown stays the first.
        let at = self.open.iter().skip(1).filter(|other| other.question.call < asked.question.call).count();
        self.open.insert((at + 1).min(self.open.len()), asked);
        if self.open.len() == 1 {
            self.ask_again(console);
        }
    }

    /// An answer to the question that is shown; none: it could not be read.
    pub fn said(&mut self, said: Option<Said>, console: &mut dyn Console) {
        match (said, self.open.pop_front()) {
            (Some(said), Some(asked)) => {
                if said == Said::Always {
                    console.note(&format!("  {} is allowed from now on", asked.question.tool));
                }
                self.approver.answer(asked, said);
            }
            (None, Some(asked)) => {
                console.note("  please answer y, n or a");
                self.open.push_front(asked);
            }
            (_, None) => {}
        }
        self.answer_covered();
        self.ask_again(console);
    }

    /// A question that was taken back is no longer shown as open.
    pub fn drop_withdrawn(&mut self, console: &mut dyn Console) {
        let is_shown_over = self.open.front().is_some_and(Asked::is_over);
        self.open.retain(|asked| !asked.is_over());
        self.early.retain(|asked| !asked.is_over());
        if is_shown_over {
            console.withdrawn();
            self.ask_again(console);
        }
    }

    /// No question will be answered any more. Until they are dropped, they count as open.
    pub fn give_up(&mut self, console: &mut dyn Console) -> VecDeque<Asked> {
        if !self.open.is_empty() {
            console.withdrawn();
        }
        self.open.extend(self.early.drain(..));
        std::mem::take(&mut self.open)
    }

    /// Shows the question that is open, if one is.
    pub fn ask_again(&mut self, console: &mut dyn Console) {
        if let Some(asked) = self.open.front() {
            console.ask(&asked.question);
        }
    }

    /// A rule that was just granted answers what waits and is covered by it.
    fn answer_covered(&mut self) {
        for asked in std::mem::take(&mut self.open) {
            if self.approver.is_always(&asked.question.tool) {
                self.approver.answer(asked, Said::Yes);
            } else {
                self.open.push_back(asked);
            }
        }
    }
}
