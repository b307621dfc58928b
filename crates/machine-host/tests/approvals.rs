//! Approvals by a person and by a rule (C16).
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
mod common;

use std::sync::{Arc, Mutex};

use common::{Say, Script, check_record, echo, outcomes, results, wait_for};
use machine_core::ask::Approval;
use machine_core::event::Event;
use machine_core::outcome::Outcome;
use machine_host::{Agent, AgentBuilder, ApproveQuestion, Decision, Events, Rule};
use tokio::sync::{mpsc, oneshot};

fn calls(args: &[&'static str]) -> Say {
    Say::Calls(args.iter().map(|args| ("echo", *args)).collect())
}

fn builder(script: Script) -> AgentBuilder {
    Agent::builder().model(script).tool(echo().approval(true))
}

/// How many approvals were asked for and answered.
fn approvals(events: &mut Events) -> (usize, usize) {
    let events = check_record(events);
    let asked = events.iter().filter(|event| matches!(event, Event::ApprovalAsked { .. })).count();
    let answered = events.iter().filter(|event| matches!(event, Event::ApprovalAnswered { .. })).count();
    (asked, answered)
}

type Question = (ApproveQuestion, oneshot::Sender<Decision>);

/// A person at the end of a channel.
fn person() -> (impl Fn(ApproveQuestion) -> PersonFuture + Send + Sync, mpsc::UnboundedReceiver<Question>) {
    let (to, questions) = mpsc::unbounded_channel();
    let ask = move |question: ApproveQuestion| -> PersonFuture {
        let (answer, answered) = oneshot::channel();
        to.send((question, answer)).unwrap();
        Box::pin(async move { answered.await.unwrap() })
    };
    (ask, questions)
}

type PersonFuture = machine_host::BoxFuture<'static, Decision>;

#[tokio::test(start_paused = true)]
async fn c_c16_a_rule_answers_the_siblings_that_wait_and_those_that_come() {
    let (person, mut questions) = person();
    let script = Script::of([
        calls(&["{}", r#"{"text": "b"}"#, r#"{"text": "c"}"#]),
        calls(&[r#"{"text": "d"}"#]),
        Say::Text("ok"),
        calls(&[r#"{"text": "e"}"#]),
        Say::Text("ok"),
    ]);
    let (agent, mut events) = builder(script).approve(person).open_watched().await.unwrap();
    agent.submit("go").await.unwrap();
    let (first, answer) = questions.recv().await.unwrap();
    // All three ask at once (C04).
    let waiting = [questions.recv().await.unwrap(), questions.recv().await.unwrap()];
    assert_eq!(&*first.args, "{}");
    answer.send(Rule::for_tool("echo").into()).unwrap();
    agent.idle().await.unwrap();
    assert!(waiting.iter().all(|(_, answer)| answer.is_closed()), "nobody waits for the person any more");
    assert_eq!(outcomes(&agent).await, [Outcome::Ok, Outcome::Ok, Outcome::Ok, Outcome::Ok]);
    assert_eq!(approvals(&mut events), (4, 4), "each with an event of its own");

    // It holds through a rest, and in the next turn.
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    assert!(agent.is_resting());
    agent.prompt("again").await.unwrap();
    assert!(questions.try_recv().is_err(), "the person was asked about the first call alone");
    assert_eq!(approvals(&mut events), (1, 1));
    assert_eq!(results(&agent).await[4].2, "e");
}

#[tokio::test(start_paused = true)]
async fn c_c16_a_rule_answers_only_what_it_covers() {
    let (agent, mut events) = builder(Script::of([
        calls(&[r#"{"text": "a"}"#, r#"{"text": "b"}"#, r#"{"text": "aa"}"#]),
        Say::Text("ok"),
    ]))
    .open_watched()
    .await
    .unwrap();
    agent.submit("go").await.unwrap();
    let mut asked = Vec::new();
    while asked.len() < 3 {
        let event = wait_for(&mut events, |event| matches!(event, Event::ApprovalAsked { .. })).await;
        let Event::ApprovalAsked { call, digest, .. } = event else { unreachable!() };
        asked.push((call, digest));
    }
    let rule = Rule::new("all of a", |question| question.args.contains("\"a"));
    assert_eq!(rule.name(), "all of a");
    agent.decide(asked[0].0, asked[0].1, rule).await.unwrap();
    let open = agent.outstanding().await.unwrap();
    assert_eq!(open.len(), 1, "{open:?}");
    assert!(agent.decide(asked[2].0, asked[2].1, Approval::Granted).await.is_err(), "C04: it was answered");
    agent.decide(asked[1].0, asked[1].1, Approval::Denied("no".into())).await.unwrap();
    agent.idle().await.unwrap();
    assert_eq!(outcomes(&agent).await, [Outcome::Ok, Outcome::Denied { reason: "no".into() }, Outcome::Ok]);
}

#[tokio::test(start_paused = true)]
async fn c_c16_a_rule_that_panics_covers_nothing() {
    let asked = Arc::new(Mutex::new(0));
    let count = asked.clone();
    let script = Script::of([calls(&["{}"]), calls(&["{}"]), Say::Text("ok")]);
    let decide = move |_: ApproveQuestion| {
        *count.lock().unwrap() += 1;
        async { Rule::new("broken", |_| panic!("the rule fell over")) }
    };
    let agent = builder(script).approve(decide).open().await.unwrap();
    agent.prompt("go").await.unwrap();
    assert_eq!(*asked.lock().unwrap(), 2, "H03: the person is asked again");
    assert_eq!(outcomes(&agent).await, [Outcome::Ok, Outcome::Ok]);
}
