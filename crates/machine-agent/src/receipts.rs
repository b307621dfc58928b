//! What is remembered of inputs that were taken (A10). It grows with the session, so a journal tells each receipt once,
//! and not all of them at every point.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use machine_core::event::Receipt;
use machine_core::ids::InputId;

use crate::inbox::{Inbox, Waiting};

impl Inbox {
    /// The last receipt of an input, which is remembered for a while. A reminder has none: its key may come again at any
    /// time.
    pub(crate) fn remember(&mut self, id: &InputId, receipt: Receipt, most: usize) {
        let Some(known) = self.receipts.get_mut(id) else { return };
        *known = receipt;
        self.past.push_back(id.clone());
        self.forget_all_but(most);
    }

    fn forget_all_but(&mut self, most: usize) {
        while self.past.len() > most {
            if let Some(oldest) = self.past.pop_front() {
                self.receipts.remove(&oldest);
            }
        }
    }

    /// How many past inputs are remembered.
    pub(crate) fn remembered(&self) -> usize {
        self.past.len()
    }

    /// A copy without receipts.
    pub(crate) fn without_receipts(&self) -> Self {
        let Self { queue, lane, reminders, told, receipts: _, past: _ } = self;
        let (queue, lane, reminders, told) = (queue.clone(), lane.clone(), reminders.clone(), told.clone());
        Self { queue, lane, reminders, told, ..Self::default() }
    }

    /// All receipts, as they may be told again: those of past inputs first, in their order, each from its acceptance on.
    pub fn receipts(&self) -> impl Iterator<Item = (&InputId, &Receipt)> {
        let are_past: BTreeSet<&InputId> = self.past.iter().collect();
        let of = |id| self.receipts.get_key_value(id);
        let past = self.past.iter().filter_map(of).flat_map(|last| [(last.0, &Receipt::Accepted), last]);
        past.chain(self.receipts.iter().filter(move |(id, _)| !are_past.contains(id)))
    }

    /// Hears of a receipt again, in the order in which they were reported (J05). Nothing is forgotten meanwhile.
    pub fn told_again(&mut self, id: &InputId, receipt: &Receipt) {
        match receipt {
            Receipt::Accepted => {
                if self.receipts.insert(id.clone(), receipt.clone()).is_some() {
                    // It had been forgotten, or it could not have come again.
                    self.past.retain(|past| past != id);
                }
            }
            Receipt::Steered | Receipt::Held(_) => {
                self.receipts.insert(id.clone(), receipt.clone());
            }
            Receipt::Taken(_) | Receipt::Dropped(_) | Receipt::Returned => {
                self.remember(id, receipt.clone(), usize::MAX);
            }
            Receipt::TurnEnded(..) => {}
        }
    }

    /// Takes over what was told again, as many past inputs as are still remembered. Whatever the bounds were: what is
    /// forgotten is the oldest. `accepted`: inputs that were accepted since; one of them, or of those that waited before,
    /// that does not wait now and of which nobody told what became of it, was taken and forgotten at once.
    pub(crate) fn with_receipts<'i>(
        mut self,
        of: Self,
        remembered: usize,
        accepted: impl Iterator<Item = &'i InputId>,
    ) -> Self {
        let waited = of.queue.iter().map(|prompt| &prompt.id).chain(of.lane.iter().filter_map(Waiting::id));
        let maybe: Vec<InputId> = waited.cloned().chain(accepted.cloned()).collect();
        (self.receipts, self.past) = (of.receipts, of.past);
        self.forget_all_but(remembered);
        for id in maybe {
            if self.receipts.get(&id).is_some_and(is_open) && !self.is_in_a_lane(&id) {
                self.receipts.remove(&id);
            }
        }
        self
    }
}

/// Whether nobody told yet what became of it.
fn is_open(receipt: &Receipt) -> bool {
    matches!(receipt, Receipt::Accepted | Receipt::Steered | Receipt::Held(_))
}
