//! What is remembered of inputs that were taken (A10). It grows with the session, so a journal tells each receipt once,
//! and not all of them at every point.
use alloc::collections::BTreeSet;

use machine_core::event::Receipt;
use machine_core::ids::InputId;

use crate::inbox::Inbox;

impl Inbox {
    /// The last receipt of an input, which is remembered for a while. A reminder has none: its key may come again at any
    /// time.
    pub(crate) fn remember(&mut self, id: &InputId, receipt: Receipt, most: usize) {
        let Some(known) = self.receipts.get_mut(id) else { return };
        *known = receipt;
        self.past.push_back(id.clone());
        while self.past.len() > most {
            if let Some(oldest) = self.past.pop_front() {
                self.receipts.remove(&oldest);
            }
        }
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

    /// Hears of a receipt again, in the order in which they were reported (J05). `most`: how many were remembered then.
    pub fn told_again(&mut self, id: &InputId, receipt: &Receipt, most: usize) {
        match receipt {
            Receipt::Accepted | Receipt::Steered | Receipt::Held(_) => {
                self.receipts.insert(id.clone(), receipt.clone());
            }
            Receipt::Taken(_) | Receipt::Dropped(_) | Receipt::Returned => {
                self.remember(id, receipt.clone(), most);
            }
            Receipt::TurnEnded(..) => {}
        }
    }
}
