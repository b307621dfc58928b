//! Processes that end, and others that open their sessions again.
use crate::scenario::Fault;
use crate::scenario::simulated::{GONE, World};
use crate::scenario::verb::Opening;

impl World<'_> {
    /// An opening of a session ends, or the next one begins. What is said at once is said before that.
    pub(super) fn open_again(&mut self, i: usize, how: Opening, word: String) -> Result<(), Fault> {
        self.answer_at_once()?;
        let player = &mut self.players[i];
        if player.is_away() && how != Opening::Reopen {
            player.refused.push(format!("{word}: {GONE}"));
            return Ok(());
        }
        if how == Opening::CrashUnsaved {
            player.sim.die_unsaved();
            return Ok(());
        }
        self.change(i, how, &word)
    }

    /// Processes that died while they wrote: others open what is left.
    pub(super) fn bury(&mut self) -> Result<(), Fault> {
        for i in 0..self.players.len() {
            if self.players[i].sim.is_dead() {
                self.change(i, Opening::Crash, "crash")?;
            }
        }
        Ok(())
    }

    fn change(&mut self, i: usize, how: Opening, word: &str) -> Result<(), Fault> {
        let player = &self.players[i];
        let agent = if player.name.is_empty() { String::new() } else { format!(" {}", player.name) };
        self.trace.push(format!("@{}{agent} {word}", self.now));
        self.take_along(i);
        let player = &mut self.players[i];
        (player.gone, player.died) = (how == Opening::Die, how == Opening::Die);
        let sim = &mut player.sim;
        match how {
            Opening::Crash | Opening::CrashUnsaved | Opening::Die => sim.die(),
            Opening::Reopen => sim.stop(),
            Opening::Park => {}
        }
        let opened = match how {
            Opening::Crash | Opening::CrashUnsaved | Opening::Reopen => {
                sim.reopen().map_err(|why| why.to_string())
            }
            Opening::Park => sim.park().map_err(|why| why.to_string()),
            Opening::Die => Ok(()),
        };
        opened.map_err(|why| Fault::Reopen { agent: player.name.clone(), why })
    }

    /// Agents in its calls, and in theirs, work in the same process.
    fn take_along(&mut self, i: usize) {
        for child in 0..self.players.len() {
            let parent = self.players[child].child.as_ref().map(|child| child.parent);
            if parent == Some(i) && !self.players[child].gone {
                self.take_along(child);
                let player = &mut self.players[child];
                (player.gone, player.died) = (true, true);
                player.sim.die();
            }
        }
    }
}
