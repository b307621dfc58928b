//! All faults off: everything must come to rest, work once more, and end.
use std::time::Duration;

use machine_host::{CommandError, Say};
use machine_journal::reopen;
use tokio::time::timeout;

use super::check;
use super::life::{Life, PATIENCE};
use super::policies;
use super::world::World;
use crate::engine::watch;

/// Rounds in which everything must come to rest; in each all approvals are answered.
const ROUNDS: u32 = 100;

/// Heals the world, and checks all of the run.
pub(super) async fn heal(mut life: Life) {
    life.world.say(|| "the world heals".into());
    life.world.healed.cancel();
    life.leaves_a_fault().await;
    let world = life.world.clone();
    let configured = life.agent.configure(policies::healthy(&world)).await;
    world.check(configured.is_ok(), || format!("J06: it cannot be configured: {configured:?}"));
    comes_to_rest(&life).await;
    works(&mut life).await;
    comes_to_rest(&life).await;
    answers_everybody(&mut life).await;
    check::check(&life).await;
    if world.random.percent(50) {
        replays(&mut life).await;
    }
    ends(life).await;
}

/// In a bounded time nothing runs and nothing waits.
async fn comes_to_rest(life: &Life) {
    for _ in 0..ROUNDS {
        let resumed = life.agent.resume().await;
        life.world.check(resumed.is_ok(), || format!("A12: it does not resume: {resumed:?}"));
        life.decides(false).await;
        match timeout(PATIENCE, life.agent.idle()).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => return life.world.violated(format!("H08: nobody can wait for it: {error}")),
            Err(_) => {}
        }
    }
    let state = life.agent.state().await;
    life.world.violated(format!("H08: it never comes to rest: {state:?}"));
}

async fn works(life: &mut Life) {
    let prompt = life.agent.prompt(Say::text("are you well?").id("the last one"));
    let end = timeout(PATIENCE * 10, prompt).await;
    let completed = matches!(&end, Ok(Ok(end)) if end.reason.name() == "completed");
    life.world.check(completed, || format!("T18: it does not work after the faults: {end:?}"));
    if let Ok(Ok(end)) = end {
        life.world.book().ends.push(end);
    }
}

/// Whoever waited for anything was answered (J02).
async fn answers_everybody(life: &mut Life) {
    tokio::time::sleep(Duration::from_secs(1)).await;
    while let Some(client) = life.clients.try_join_next() {
        life.world.check(client.is_ok(), || format!("a client fell over: {client:?}"));
    }
    let left = life.clients.len();
    life.world.check(left == 0, || format!("J02: {left} clients were never answered"));
}

/// Parked, it is equal to a replay of its journal (J07, P11); and it goes on elsewhere.
async fn replays(life: &mut Life) {
    let Some(parked) = life.parks().await else { return };
    let world = &life.world;
    let replayed =
        life.disk.records().and_then(|records| reopen(&records).map_err(|error| error.to_string()));
    match replayed {
        Ok(replayed) => {
            let replayed = serde_json::to_value(replayed.engine.snapshot()).ok();
            let parked = serde_json::to_value(&parked).ok();
            let same = parked.as_ref().and_then(|parked| parked.get("snapshot")) == replayed.as_ref();
            world.check(same, || "J07: a replay is not equal to the run".into());
        }
        Err(error) => world.violated(format!("J05: the journal does not open: {error}")),
    }
    life.opens(Some(parked)).await;
}

/// It closes; then nobody can use it, and its journal opens again.
async fn ends(mut life: Life) {
    life.ends_in_order().await;
    let after = life.agent.submit(Say::text("still there?").id("to the closed")).await;
    let gone = after == Err(CommandError::Gone);
    life.world.check(gone, || format!("A19: a closed agent answers {after:?}"));
    life.dies().await;
    let records = match life.disk.records() {
        Ok(records) => records,
        Err(error) => return life.world.violated(format!("J03: the journal cannot be read: {error}")),
    };
    if let Err(wrong) = watch(&records) {
        life.world.violated(wrong);
    }
    any_prefix_opens(&life.world, &records);
}

/// A journal that was cut anywhere is a valid session (P12).
fn any_prefix_opens(world: &World, records: &[machine_journal::Record]) {
    let cuts = [records.len(), 1 + world.random.index(records.len()), 1 + world.random.index(records.len())];
    for cut in cuts.into_iter().map(|cut| cut.min(records.len())) {
        match reopen(&records[..cut]) {
            Ok(reopened) => {
                let sound = reopened.engine.history().audit();
                world.check(sound.is_ok(), || format!("P12: cut after {cut} records it is {sound:?}"));
            }
            Err(error) => world.violated(format!("P12: cut after {cut} records it does not open: {error}")),
        }
    }
}
