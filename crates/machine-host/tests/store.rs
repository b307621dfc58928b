//! Agents whose sessions are in one store.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
mod common;

use std::path::Path;
use std::time::Duration;

use common::{Say, Script, echo, results};
use machine_core::event::EndReason;
use machine_core::outcome::Outcome;
use machine_host::{Agent, AgentBuilder, FileJournal, Fleet, Journal, OpenError, Store};
use machine_journal::{Record, Writer};

fn builder(script: Script) -> AgentBuilder {
    // Their drivers end soon, so that all rest.
    Agent::builder().model(script).tool(echo()).rest_after(Duration::from_millis(1))
}

/// A call, then an answer.
fn script() -> Script {
    Script::of([Say::Calls(vec![("echo", r#"{"text": "hello"}"#)]), Say::Text("done")])
}

#[tokio::test]
async fn an_agent_goes_on_from_a_store_and_from_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("sessions");
    let store = Store::open(&place).await.unwrap();
    let open = |script| builder(script).journal(store.journal("a")).open();
    let agent = open(script()).await.unwrap();
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    let history = agent.history().await.unwrap();
    let error = open(script()).await.map(drop).unwrap_err();
    assert!(matches!(error, OpenError::Journal(_)), "{error}");
    assert!(error.to_string().contains("another journal of this store"), "{error}");
    assert!(!agent.recorded(0).await.unwrap().is_empty(), "it reads its own journal");
    agent.close().await.unwrap();
    drop(agent);

    let agent = open(Script::default()).await.unwrap();
    assert_eq!(agent.history().await.unwrap(), history);
    assert_eq!(agent.prompt("more").await.unwrap().reason, EndReason::DONE);
    let history = agent.history().await.unwrap();
    agent.close().await.unwrap();
    drop(agent);
    store.close().await.unwrap();

    let file = FileJournal::at(place.join("a.jsonl"));
    let agent = builder(Script::default()).journal(file).open().await.unwrap();
    assert_eq!(agent.history().await.unwrap(), history);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c_h06_hundreds_of_agents_work_through_one_store() {
    const AGENTS: u32 = 300;
    let dir = tempfile::tempdir().unwrap();
    let store = Store::builder(dir.path()).descriptors(8).open().await.unwrap();
    let fleet = Fleet::new();
    for n in 0..AGENTS {
        let journal = store.journal(format!("s{n}"));
        fleet.insert(n, builder(script()).branch(n).journal(journal).open().await.unwrap());
    }
    let prompts = (0..AGENTS).map(|n| {
        let agent = fleet.get(&n).unwrap();
        tokio::spawn(async move { agent.prompt("go").await.unwrap() })
    });
    for prompt in prompts.collect::<Vec<_>>() {
        assert_eq!(prompt.await.unwrap().reason, EndReason::DONE);
    }
    assert!(open_sessions(dir.path()) <= 8);
    let mut histories = Vec::new();
    for n in 0..AGENTS {
        histories.push(fleet.get(&n).unwrap().history().await.unwrap());
    }
    // As if the process had died: a copy, and a store that was not closed.
    let copy = tempfile::tempdir().unwrap();
    for entry in dir.path().read_dir().unwrap().map(Result::unwrap) {
        std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    fleet.close().await;
    drop(fleet);
    store.close().await.unwrap();

    for place in [copy.path(), dir.path()] {
        // Its log goes again and again.
        let store = Store::builder(place).log_bytes(20_000).open().await.unwrap();
        assert_eq!(store.names().await.unwrap().len(), AGENTS as usize);
        for n in 0..AGENTS {
            let journal = store.journal(format!("s{n}"));
            let agent = builder(Script::default()).journal(journal).open().await.unwrap();
            assert_eq!(agent.history().await.unwrap(), histories[n as usize]);
            let found = results(&agent).await;
            assert_eq!(found, [("echo".into(), Outcome::Ok, "hello".to_owned())]);
            assert_eq!(agent.prompt("more").await.unwrap().reason, EndReason::DONE);
            agent.close().await.unwrap();
        }
        store.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c_h06_a_thousand_sessions_need_few_descriptors() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::builder(dir.path()).descriptors(8).open().await.unwrap();
    let header = Writer::header(1, Default::default());
    let sessions = (0..1_000).map(|n| {
        let (mut journal, header) = (store.journal(format!("s{n}")), header.clone());
        tokio::spawn(async move {
            assert_eq!(journal.open().await.unwrap(), []);
            journal.append(&header).await.unwrap();
            journal.sync().await.unwrap();
            journal.append(&act(0)).await.unwrap();
            journal.sync().await.unwrap();
            journal
        })
    });
    let mut open = Vec::new();
    for session in sessions.collect::<Vec<_>>() {
        open.push(session.await.unwrap());
    }
    assert!(open_sessions(dir.path()) <= 8);
    assert_eq!(store.names().await.unwrap().len(), 1_000);
    drop(open);
    for n in 0..1_000 {
        let found = store.journal(format!("s{n}")).open().await.unwrap();
        assert_eq!(found, [header.clone(), act(0)]);
    }
    store.close().await.unwrap();
    assert_eq!(open_sessions(dir.path()), 0);
}

fn act(n: u64) -> Record {
    Record::Act { n, asks: [].into() }
}

/// How many sessions' files this process has open in a directory, where that can be seen.
fn open_sessions(directory: &Path) -> usize {
    let Ok(open) = Path::new("/proc/self/fd").read_dir() else { return 0 };
    let paths = open.filter_map(|entry| entry.ok()?.path().read_link().ok());
    let directory = directory.canonicalize().unwrap();
    paths
        .filter(|path| path.starts_with(&directory) && path.extension().is_some_and(|e| e == "jsonl"))
        .count()
}
