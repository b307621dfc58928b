//! A fork may be taken at any time; it is a session of its own, and its parent goes on as if nothing had happened (J08).
use machine_core::response::{Finish, Finished};
use machine_host::{Agent, ModelOut, Say};
use tokio::time::timeout;

use super::fault::Fault;
use super::life::{Life, PATIENCE};

/// The branch of the first fork.
const FORKS: u32 = 500_000;

/// Takes a fork and lets it work.
pub(super) async fn take(life: &mut Life) {
    let world = life.world.clone();
    let Ok(history) = life.agent.history().await else { return };
    let at = world.random.index(history.len() + 1);
    life.forks += 1;
    let Ok(fork) = life.agent.fork_as(FORKS + life.forks, at).await else { return };
    world.book().tally.count(Fault::Fork.name());
    let fine = |_, out: ModelOut| async move {
        out.text("fine").await;
        Ok(Finished::new(Finish::EndTurn))
    };
    let builder = Agent::builder().clock(world.clock).model(fine).parked(fork);
    let agent = match builder.journal(machine_journal::MemoryJournal::new()).open().await {
        Ok(agent) => agent,
        Err(error) => return world.violated(format!("J08: the fork cannot be opened: {error}")),
    };
    let end = timeout(PATIENCE, agent.prompt(Say::text("go on from here").id("in the fork"))).await;
    let completed = matches!(&end, Ok(Ok(end)) if end.reason.name() == "completed");
    world.check(completed, || format!("J08: the fork does not work: {end:?}"));
    let sound = agent.history().await.map(|history| history.audit());
    world.check(matches!(sound, Ok(Ok(()))), || format!("J08: the fork is not sound: {sound:?}"));
    let closed = agent.close().await;
    world.check(closed.is_ok(), || format!("J08: the fork does not close: {closed:?}"));
}
