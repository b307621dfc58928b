//! A process that ends, and another one that opens its session from what is left (J05, J07).
use machine_adapter::{Engine, Order, RestoreError};
use machine_core::ids::AskId;
use machine_core::input::Input;
use machine_journal::{Closing, MemoryJournal, Reopened, ReplayError, reopen};

use crate::sim::{Fate, Host, Sim};

impl<H: Host> Sim<H> {
    /// A session that is opened from its journal; what was open is closed (J05).
    ///
    /// # Errors
    /// The journal is no session.
    pub fn open(journal: MemoryJournal, host: H) -> Result<Self, ReplayError> {
        let Reopened { engine, closing, writer, .. } = reopen(journal.records())?;
        let mut sim = Self::of((engine, writer), journal, host);
        sim.close(closing);
        Ok(sim)
    }

    /// The process dies, and its session is [opened again](Self::reopen).
    ///
    /// # Errors
    /// The journal is no session.
    pub fn crash(&mut self) -> Result<(), ReplayError> {
        self.die();
        self.reopen()
    }

    /// The process dies: what was arranged never comes, and only what is durable is left.
    pub fn die(&mut self) {
        self.stop();
        self.journal.crash();
    }

    /// The process will die when it next has to make something durable, just before that is: what was handled then never
    /// left, but for questions and withdrawals (J02).
    pub fn die_unsaved(&mut self) {
        self.fate = Fate::DiesUnsaved;
    }

    /// Whether it [died so](Self::die_unsaved) just now; it is to be opened again.
    pub fn is_dead(&self) -> bool {
        self.fate == Fate::Dead
    }

    /// The process ends in order: what was arranged never comes, but everything that was written stays.
    pub fn stop(&mut self) {
        self.arranged.clear();
        self.fate = Fate::Lives;
        self.host.died();
    }

    /// Another process opens the session from what is left, and closes what was open, once (J05).
    ///
    /// # Errors
    /// The journal is no session.
    pub fn reopen(&mut self) -> Result<(), ReplayError> {
        let Reopened { engine, closing, writer, .. } = reopen(self.journal.records())?;
        (self.engine, self.writer, self.broken) = (engine, writer, false);
        self.close(closing);
        Ok(())
    }

    /// The session is handed over to another process: questions are asked again, acts are lost (J07).
    ///
    /// # Errors
    /// It cannot be restored.
    pub fn park(&mut self) -> Result<(), RestoreError> {
        self.stop();
        self.make_durable();
        self.engine = Engine::restore(self.engine.snapshot())?;
        let (lost, again) = self.engine.handed_over();
        self.go_on(lost, &again);
        Ok(())
    }

    fn close(&mut self, closing: Closing) {
        match closing {
            Closing::Recovered(input) => self.go_on([input], &[]),
            Closing::AskAgain(again) => self.go_on([], &again),
        }
    }

    /// What closes that which was open; then what nobody carries out any more is asked again.
    fn go_on(&mut self, closing: impl IntoIterator<Item = Input>, again: &[AskId]) {
        for input in closing {
            if let Err(why) = self.deliver(input) {
                self.refused.push((self.now, why));
            }
        }
        for id in again {
            if let Some(open) = self.engine.ask(*id) {
                let ask = open.ask.clone();
                self.orders.push((self.now, Order::Ask(ask.clone())));
                self.carry_out(&ask);
            }
        }
    }
}
