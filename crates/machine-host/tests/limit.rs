//! One limit on model requests for many agents (H05).
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Args, results};
use machine_adapter::Request;
use machine_core::ask::{By, Cause};
use machine_core::event::{EndReason, Event};
use machine_core::message::Message;
use machine_core::outcome::Outcome;
use machine_core::response::{Finish, Finished, ModelError};
use machine_host::{Agent, BoxFuture, ModelLimit, ModelOut, OpenError, Tool, ToolCx, ToolError, tool};

/// Counts the requests that stream.
#[derive(Clone, Default)]
struct Gauge(Arc<Mutex<Counts>>);

#[derive(Default)]
struct Counts {
    now: u32,
    peak: u32,
    /// In the order in which they left: what the last prompt said.
    left: Vec<String>,
}

/// Dropping it is the end of a request, however it comes.
struct Streams(Gauge);

impl Gauge {
    fn begin(&self, request: &Request) -> Streams {
        let said = request.history.iter().rev().find(|entry| matches!(entry.message, Message::User { .. }));
        let mut counts = self.0.lock().unwrap();
        counts.left.push(said.unwrap().message.text());
        counts.now += 1;
        counts.peak = counts.peak.max(counts.now);
        Streams(self.clone())
    }

    fn counts(&self) -> (u32, u32) {
        let counts = self.0.lock().unwrap();
        (counts.now, counts.peak)
    }

    fn left(&self) -> Vec<String> {
        self.0.lock().unwrap().left.clone()
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        self.0.0.lock().unwrap().now -= 1;
    }
}

/// A model that does what the last prompt says: `agents 2 1` calls an agent twice, each of which calls one once.
fn model(
    gauge: &Gauge,
) -> impl Fn(Request, ModelOut) -> BoxFuture<'static, Result<Finished, ModelError>> + Clone + use<> {
    let gauge = gauge.clone();
    move |request, out| {
        let gauge = gauge.clone();
        Box::pin(async move {
            let _streams = gauge.begin(&request);
            tokio::time::sleep(Duration::from_millis(10)).await;
            let last =
                request.history.iter().rev().find(|entry| matches!(entry.message, Message::User { .. }));
            let said = last.unwrap().message.text();
            let mut words = said.split(' ');
            match words.next().unwrap() {
                "agents"
                    if request.history.iter().all(|entry| !matches!(entry.message, Message::Tool(_))) =>
                {
                    let calls: u32 = words.next().unwrap().parse().unwrap();
                    let rest = words.collect::<Vec<_>>().join(" ");
                    let then = if rest.is_empty() { "answer".into() } else { format!("agents {rest}") };
                    for n in 0..calls {
                        out.call(n, format!("c{n}"), "agent", format!(r#"{{"text": "{then}"}}"#)).await;
                    }
                    return Ok(Finished::new(Finish::ToolUse));
                }
                "hang" => std::future::pending().await,
                "panic" => panic!("the model fell over"),
                "slow" => {
                    for _ in 0..10 {
                        out.text("and ").await;
                        tokio::time::sleep(Duration::from_secs(60)).await;
                    }
                }
                _ => {}
            }
            out.text("done").await;
            Ok(Finished::new(Finish::EndTurn))
        })
    }
}

/// Runs an agent below, with the same tool.
fn agent_tool(gauge: &Gauge) -> impl Tool + use<> {
    let gauge = gauge.clone();
    let run = move |args: Args, cx: ToolCx| -> BoxFuture<'static, Result<_, ToolError>> {
        let gauge = gauge.clone();
        Box::pin(async move {
            let child = Agent::builder().child_of(&cx).model(model(&gauge)).tool(agent_tool(&gauge));
            cx.delegate(&child.open().await?, args.text).await
        })
    };
    tool("agent", "asks another agent", run).touches_nothing().drop_on_cancel(false)
}

async fn agent(gauge: &Gauge, limit: &ModelLimit) -> Agent {
    let builder = Agent::builder().model(model(gauge)).model_limit(limit.clone()).tool(agent_tool(gauge));
    builder.config(|config| config.retry.attempts = 1).open().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn c_h05_nested_agents_under_one_limit_all_finish() {
    for most in 1..=3 {
        let (gauge, limit) = (Gauge::default(), ModelLimit::new(most));
        let agents = [agent(&gauge, &limit).await, agent(&gauge, &limit).await];
        let prompts = agents.iter().map(|agent| agent.submit("agents 2 1"));
        for prompt in prompts.collect::<Vec<_>>() {
            prompt.await.unwrap();
        }
        for agent in &agents {
            agent.idle().await.unwrap();
            let results = results(agent).await;
            assert_eq!(results.len(), 2);
            assert!(
                results.iter().all(|(_, outcome, said)| *outcome == Outcome::Ok && said == "done"),
                "{results:?}"
            );
        }
        // Each of two: twice for itself, and for two children twice, whose child once.
        assert_eq!(gauge.left().len(), 2 * (2 + 2 * (2 + 1)));
        assert_eq!(gauge.counts(), (0, most));
    }
}

#[tokio::test(start_paused = true)]
async fn c_h05_who_waits_first_is_served_first() {
    let (gauge, limit) = (Gauge::default(), ModelLimit::new(1));
    let mut agents = Vec::new();
    for n in 0..5 {
        let agent = agent(&gauge, &limit).await;
        agent.submit(format!("{n}")).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
        agents.push(agent);
    }
    for agent in &agents {
        agent.idle().await.unwrap();
    }
    assert_eq!(gauge.left(), ["0", "1", "2", "3", "4"]);
    assert_eq!(gauge.counts(), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn c_h05_no_place_is_lost_by_aborts_panics_and_drops() {
    let (gauge, limit) = (Gauge::default(), ModelLimit::new(1));
    let [holds, waits, panics] =
        [agent(&gauge, &limit).await, agent(&gauge, &limit).await, agent(&gauge, &limit).await];
    for _ in 0..3 {
        holds.submit("hang").await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
        waits.submit("never leaves").await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
        // Who waits is aborted at once; so is who holds.
        for agent in [&waits, &holds] {
            let before = tokio::time::Instant::now();
            let aborted = agent.abort(Cause::by(By::Parent)).await.unwrap();
            assert_eq!(aborted.end.unwrap().reason, EndReason::Aborted(Cause::by(By::Parent)));
            assert_eq!(before.elapsed(), Duration::ZERO, "X02");
        }
        assert_eq!(panics.prompt("panic").await.unwrap().reason.name(), "failed");
        panics.resume().await.unwrap();
    }
    // Three that wait go away with their agents while one holds; then that one goes too.
    holds.submit("hang").await.unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    for _ in 0..3 {
        let gone = agent(&gauge, &limit).await;
        gone.submit("never leaves").await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    drop(holds);
    assert_eq!(waits.prompt("answer").await.unwrap().reason, EndReason::DONE);
    assert!(!gauge.left().contains(&"never leaves".to_owned()));
    assert_eq!(gauge.counts(), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn c_m13_silence_is_counted_from_when_the_request_left() {
    let (gauge, limit) = (Gauge::default(), ModelLimit::new(1));
    let [slow, waits] = [agent(&gauge, &limit).await, agent(&gauge, &limit).await];
    slow.submit("slow").await.unwrap();
    tokio::time::sleep(Duration::from_millis(1)).await;
    let before = tokio::time::Instant::now();
    assert_eq!(waits.prompt("answer").await.unwrap().reason, EndReason::DONE);
    assert_eq!(before.elapsed().as_secs(), 600, "it waited longer than a stream may be silent");
    // Of one that left, it is counted as ever.
    let mut events = waits.events();
    slow.submit("slow").await.unwrap();
    tokio::time::sleep(Duration::from_millis(1)).await;
    let before = tokio::time::Instant::now();
    assert_eq!(waits.prompt("hang").await.unwrap().reason.name(), "failed");
    assert_eq!(before.elapsed().as_secs(), 600 + 120);
    let started =
        common::seen(&mut events).into_iter().filter(|event| matches!(event, Event::AttemptStarted { .. }));
    assert_eq!(started.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn c_h05_no_place_at_all_is_refused() {
    let builder = Agent::builder().model(model(&Gauge::default())).model_limit(ModelLimit::new(0));
    assert!(matches!(builder.open().await, Err(OpenError::NoRequests)));
}
