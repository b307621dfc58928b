//! Forks of a running agent, and sessions that go on with a journal of their own (J07, J08).
mod common;

use std::time::Duration;

use common::{Say, Script, echo, hang, outcomes, texts, wait_for};
use machine_core::event::Event;
use machine_core::outcome::Outcome;
use machine_host::{Agent, CommandError, FileJournal, OpenError};
use machine_journal::replay;

#[tokio::test(start_paused = true)]
async fn c_j08_s81_a_fork_is_taken_while_a_call_runs() {
    let script = Script::of([
        Say::Calls(vec![("echo", r#"{"text": "a"}"#), ("hang", "{}")]),
        Say::Text("parent goes on"),
    ]);
    let parent = Agent::builder().model(script).tool(echo()).tool(hang());
    let (parent, mut events) = parent.open_watched().await.unwrap();
    parent.submit("go").await.unwrap();
    for _ in 0..2 {
        wait_for(&mut events, |event| matches!(event, Event::CallStarted { .. })).await;
    }
    wait_for(&mut events, |event| matches!(event, Event::CallSettled { .. })).await;
    let entries = parent.history().await.unwrap().len();
    let parked = parent.fork(entries).await.unwrap();

    let journal = common::journal();
    let script = Script::of([Say::Text("fork goes on")]);
    let fork = Agent::builder().model(script).parked(parked).journal(journal.clone());
    let fork = fork.open().await.unwrap();
    assert_eq!(outcomes(&fork).await, [Outcome::Ok, Outcome::Unknown]);
    fork.prompt("x").await.unwrap();
    let said = texts(&fork.history().await.unwrap());
    assert_eq!(&said[said.len() - 2..], ["x", "fork goes on"]);

    let call = parent.state().await.unwrap().calls[0].id;
    let cause = machine_core::ask::Cause::by(machine_core::ask::By::User);
    parent.cancel_call(call, cause).await.unwrap();
    parent.idle().await.unwrap();
    assert_eq!(texts(&parent.history().await.unwrap()).last().unwrap(), "parent goes on");
    for agent in [&parent, &fork] {
        agent.history().await.unwrap().audit().unwrap();
    }
    // The fork's journal is a session of its own.
    drop(fork);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let records = journal.lock().unwrap().records().to_vec();
    replay(&records, &mut |_, _| {}).unwrap();
    let again = Agent::builder().model(Script::default()).journal(journal).open().await.unwrap();
    assert_eq!(texts(&again.history().await.unwrap()), said);
}

#[tokio::test(start_paused = true)]
async fn c_j08_a_fork_beyond_the_end_is_refused() {
    let agent = Agent::builder().model(Script::default()).open().await.unwrap();
    agent.prompt("go").await.unwrap();
    assert!(matches!(agent.fork(3).await, Err(CommandError::Fork(_))));
    agent.fork(2).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn c_j07_a_parked_agent_begins_a_journal_but_does_not_lose_one() {
    let parent = Agent::builder().model(Script::default()).open().await.unwrap();
    parent.prompt("go").await.unwrap();
    let parked = parent.park().await.unwrap();
    let journal = common::journal();
    let open = || Agent::builder().model(Script::default()).journal(journal.clone());
    let agent = open().parked(parked).open().await.unwrap();
    agent.prompt("more").await.unwrap();
    let parked = agent.park().await.unwrap();
    assert_eq!(texts(&open().open().await.unwrap().history().await.unwrap()).len(), 4);
    let elsewhere = Agent::builder().model(Script::default()).journal(common::journal());
    let error = elsewhere.parked(parked).open().await.err().unwrap();
    assert!(matches!(error, OpenError::NotItsJournal { journal: 0, .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn c_e04_events_of_a_dropped_past_are_refused_and_later_ones_are_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("session.jsonl");
    let open = |past| {
        let journal = FileJournal::at(&path).drop_past_above(past);
        Agent::builder().model(Script::default()).journal(journal)
    };
    let agent = open(u64::MAX).open().await.unwrap();
    for n in 0..20 {
        agent.prompt(format!("prompt {n}")).await.unwrap();
    }
    let (all, history) = (agent.recorded(0).await.unwrap(), agent.history().await.unwrap());
    agent.close().await.unwrap();
    let long = std::fs::metadata(&path).unwrap().len();
    let agent = open(1_000).open().await.unwrap();
    assert_eq!(agent.history().await.unwrap(), history);
    assert!(std::fs::metadata(&path).unwrap().len() < long / 2, "of {long} bytes");
    let Err(CommandError::NotKept { oldest }) = agent.recorded(0).await else { unreachable!("E04") };
    assert!(oldest >= all.len() as u64, "the past ended with the close");
    agent.prompt("more").await.unwrap();
    let later = agent.recorded(oldest).await.unwrap();
    assert!(matches!(&*later[0].event, Event::Recovered), "{:?}", later[0]);
    drop(agent);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let records = FileJournal::read(&path).unwrap().records;
    replay(&records, &mut |_, _| {}).unwrap();
    let agent = open(u64::MAX).open().await.unwrap();
    assert_eq!(agent.history().await.unwrap().len(), history.len() + 2);
}
