//! What earlier versions wrote opens: `fixtures/rules-N` has a journal and a parked agent, written under the rules N. They
//! stay as they are; when the rules or a shape change, new ones are recorded beside them (J06, J07).
//!
//! `RECORD=1 cargo test -p machine-host --test releases` writes those of today's rules, if they are not there.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{Say, Script, echo, hang, outcomes, texts, wait_for};
use machine_core::ask::{Approval, By, Cause};
use machine_core::event::{EndReason, Event};
use machine_core::message::{Entry, Origin, text_content};
use machine_core::outcome::Outcome;
use machine_host::{Agent, AgentBuilder, Editor, FileJournal, Parked, Say as Said};
use machine_journal::{Record, SEMANTICS, reopen, replay};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// The rules of which there are fixtures.
fn recorded() -> Vec<PathBuf> {
    let mut all: Vec<_> = fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.retain(|path| path.is_dir());
    all.sort();
    all
}

fn builder(script: Script) -> AgentBuilder {
    let compact = |_, editor: Editor| async move {
        let summary = Entry::user(Origin::Summary, None, text_content("what was said before"));
        editor.fold(2, vec![summary]).await?;
        Ok(())
    };
    let job = common::quick("job", |_, cx| {
        Box::pin(async move {
            cx.detach("in the background").await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            cx.text("the job is done")
        })
    });
    let ask = echo().approval(true);
    Agent::builder()
        .branch(5)
        .system("Be brief.")
        .model(script)
        .tool(ask)
        .tool(hang())
        .tool(job)
        .maintenance(compact)
}

/// Turns with a batch, a background call, a steer, an abort, compaction, another configuration; then a crash while one call
/// runs, one waits for an approval, and a prompt waits.
async fn record(path: &Path) {
    let said = r#"{"text": "said"}"#;
    let script = Script::of([
        Say::Text("Hello."),
        Say::Calls(vec![("job", "{}"), ("echo", said)]),
        Say::Text("Both are done."),
        Say::Text("I see."),
        Say::Hang,
        Say::Calls(vec![("echo", said), ("hang", "{}")]),
    ]);
    let agent = builder(script).approve(|_| async { Approval::Granted }).journal(FileJournal::at(path));
    let agent = agent.open().await.unwrap();
    agent.prompt(Said::text("hello").id("p1")).await.unwrap();
    agent.remind("todo", "one thing is left").await.unwrap();
    agent.prompt(Said::text("work").id("p2")).await.unwrap();
    agent.idle().await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    agent.idle().await.unwrap();
    agent.maintain().await.unwrap();
    let mut events = agent.events();
    agent.submit(Said::text("long").id("p3")).await.unwrap();
    wait_for(&mut events, |event| matches!(event, Event::Delta { .. })).await;
    agent.abort(Cause::by(By::User)).await.unwrap();
    agent.close().await.unwrap();
    let script = Script::of([Say::Calls(vec![("echo", said), ("hang", "{}")])]);
    let agent = builder(script).system("Be very brief.").journal(FileJournal::at(path));
    let (agent, mut events) = agent.open_watched().await.unwrap();
    agent.submit(Said::text("more").id("p4")).await.unwrap();
    wait_for(&mut events, |event| matches!(event, Event::CallStarted { .. })).await;
    agent.submit(Said::text("later").id("p5")).await.unwrap();
    drop(agent);
    tokio::time::sleep(Duration::from_secs(2)).await;
}

/// An agent that waits for a person.
async fn park() -> Parked {
    let script = Script::of([Say::Calls(vec![("echo", r#"{"text": "yes"}"#)])]);
    let (agent, mut events) = builder(script).open_watched().await.unwrap();
    agent.submit(Said::text("ask me").id("p1")).await.unwrap();
    wait_for(&mut events, |event| matches!(event, Event::ApprovalAsked { .. })).await;
    agent.park().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn c_j07_there_are_fixtures_of_todays_rules() {
    let today = fixtures().join(format!("rules-{SEMANTICS}"));
    if std::env::var_os("RECORD").is_some() && !today.exists() {
        fs::create_dir_all(&today).unwrap();
        record(&today.join("session.jsonl")).await;
        fs::remove_file(today.join("session.jsonl.lock")).unwrap();
        fs::write(today.join("parked.json"), serde_json::to_string_pretty(&park().await).unwrap()).unwrap();
    }
    assert!(recorded().contains(&today), "record them: RECORD=1 cargo test -p machine-host --test releases");
}

/// A whole session as it was recorded: whoever changes what an engine does, in a machine or between them, sees it here.
#[test]
fn c_j06_what_todays_rules_recorded_they_still_lead_to() {
    let path = fixtures().join(format!("rules-{SEMANTICS}/session.jsonl"));
    let again = replay(&FileJournal::read(path).unwrap().records, &mut |_, _| {});
    let again = again.unwrap_or_else(|error| {
        panic!("the same inputs lead elsewhere now: raise `SEMANTICS` and record fixtures ({error})")
    });
    assert_eq!(again.not_compared, 0);
}

#[tokio::test(start_paused = true)]
async fn c_j06_a_journal_of_every_earlier_version_opens_and_goes_on() {
    for rules in recorded() {
        let (dir, shown) = (tempfile::tempdir().unwrap(), rules.display());
        let path = dir.path().join("session.jsonl");
        fs::copy(rules.join("session.jsonl"), &path).unwrap();
        let script = Script::of([Say::Text("Later is now."), Say::Text("And done.")]);
        let open = |script| builder(script).system("Be very brief.").journal(FileJournal::at(&path));
        let agent = open(script).approve(|_| async { Approval::Granted }).open().await.unwrap();
        let said = texts(&agent.history().await.unwrap());
        assert_eq!(said[0], "what was said before", "{shown}: {said:?}");
        assert!(said.contains(&"Both are done.".to_owned()), "{shown}: {said:?}");
        assert!(said.iter().any(|text| text.contains("the job is done")), "{shown}: {said:?}");
        agent.prompt(Said::text("go on").id("p6")).await.unwrap();
        let ended = outcomes(&agent).await;
        assert_eq!(
            ended[ended.len() - 2..],
            [Outcome::Ok, Outcome::Unknown],
            "{shown}: approved, and may have run"
        );
        let said = texts(&agent.history().await.unwrap());
        assert!(said.contains(&"Later is now.".to_owned()), "{shown}: the turn went on: {said:?}");
        assert!(said.contains(&"later".to_owned()), "{shown}: what waited came: {said:?}");
        for id in ["p1", "p2", "p3", "p4", "p5"] {
            let again = agent.submit(Said::text("again").id(id)).await;
            assert!(again.unwrap_err().to_string().contains("was sent before"), "{shown}: {id}");
        }
        agent.history().await.unwrap().audit().unwrap();
        agent.park().await.unwrap();
        let records = FileJournal::read(&path).unwrap().records;
        let full = replay(&records, &mut |_, _| {}).unwrap();
        assert_eq!(full.engine, reopen(&records).unwrap().engine, "{shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn c_j07_a_parked_agent_of_every_earlier_version_goes_on() {
    for rules in recorded() {
        let text = fs::read_to_string(rules.join("parked.json")).unwrap();
        let parked: Parked = serde_json::from_str(&text).unwrap();
        let script = Script::of([Say::Text("Thanks.")]);
        let agent = builder(script).approve(|_| async { Approval::Granted }).parked(parked);
        let (agent, mut events) = agent.open_watched().await.unwrap();
        let ended = wait_for(&mut events, |event| matches!(event, Event::TurnEnded(_))).await;
        assert!(
            matches!(&ended, Event::TurnEnded(end) if matches!(end.reason, EndReason::Completed { .. })),
            "{}: {ended:?}",
            rules.display()
        );
        assert_eq!(outcomes(&agent).await, [Outcome::Ok]);
        assert_eq!(texts(&agent.history().await.unwrap()).last().unwrap(), "Thanks.");
    }
}

/// Planted: the same file, as rules of another number would have left it.
#[tokio::test(start_paused = true)]
async fn c_j06_a_journal_of_other_rules_opens_and_the_recorded_act_decides() {
    let mut records = FileJournal::read(fixtures().join("rules-3/session.jsonl")).unwrap().records;
    for record in &mut records {
        match record {
            Record::Header { semantics, .. } => *semantics = SEMANTICS + 1,
            Record::Point(point) => point.semantics = SEMANTICS + 1,
            Record::In { .. } | Record::Act { .. } => {}
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("session.jsonl");
    FileJournal::create(&path, &records).unwrap();
    let open = || builder(Script::default()).system("Be very brief.").journal(FileJournal::at(&path));
    let deny = |_: machine_host::ApproveQuestion| async { Approval::Denied("no".into()) };
    let agent = open().approve(deny).open().await.unwrap();
    agent.prompt(Said::text("go on").id("p6")).await.unwrap();
    let ended = outcomes(&agent).await;
    assert!(matches!(ended[ended.len() - 2..], [Outcome::Denied { .. }, Outcome::Unknown]), "{ended:?}");
    let history = agent.history().await.unwrap();
    agent.park().await.unwrap();
    // From here on it is a session of today: it is compared, and opens as it was.
    let records = FileJournal::read(&path).unwrap().records;
    assert_eq!(records.iter().filter_map(Record::point).next_back().unwrap().semantics, SEMANTICS);
    replay(&records, &mut |_, _| {}).unwrap();
    assert_eq!(open().open().await.unwrap().history().await.unwrap(), history);
}
