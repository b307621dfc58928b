//! Agents in calls of another one, side by side, with one limit on model requests for all of them.
//!
//! `cargo run -p machine-examples --bin sub-agents`
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agent_machine::prelude::*;

const TOPICS: [&str; 6] = ["cost", "law", "safety", "speed", "taste", "weight"];

/// How many requests may stream at the same time, whoever makes them.
const AT_ONCE: u32 = 2;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Topic {
    topic: String,
}

/// Counts the requests that stream, as a provider would that allows only so many.
#[derive(Default)]
struct Provider {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Provider {
    /// A request takes its time.
    async fn answer(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(20)).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Asks for all topics at once, then puts together what the others found.
async fn chief(provider: &Provider, request: Request, out: ModelOut) -> Result<Finished, ModelError> {
    provider.answer().await;
    let found: Vec<String> =
        request.history.iter().skip(2).map(|entry| entry.message.text().to_string()).collect();
    if found.is_empty() {
        for (index, topic) in (0..).zip(TOPICS) {
            out.call(index, format!("call-{topic}"), "research", format!(r#"{{"topic": "{topic}"}}"#)).await;
        }
        return Ok(Finished::new(Finish::ToolUse));
    }
    out.text(found.join("\n")).await;
    Ok(Finished::new(Finish::EndTurn))
}

/// Has something to say of its topic.
async fn expert(provider: &Provider, request: Request, out: ModelOut) -> Result<Finished, ModelError> {
    provider.answer().await;
    let topic = request.history.last().map(|entry| entry.message.text().to_string()).unwrap_or_default();
    out.text(format!("{topic}: nothing against it")).await;
    Ok(Finished::new(Finish::EndTurn))
}

/// The tool whose calls are agents. A child of a call has the limit of its parent; a request holds a place, an agent that
/// waits for its experts does not, so no number of levels can starve itself.
fn research(provider: Arc<Provider>) -> impl Tool {
    tool("research", "Asks an expert", move |args: Topic, cx: ToolCx| {
        let provider = provider.clone();
        async move {
            let model = move |request, out| {
                let provider = provider.clone();
                async move { expert(&provider, request, out).await }
            };
            let child = Agent::builder().child_of(&cx).model(model).open().await?;
            cx.delegate(&child, args.topic).await
        }
    })
    // They may run side by side, and a stopped one is heard to its end.
    .touches_nothing()
    .drop_on_cancel(false)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let provider = Arc::new(Provider::default());
    let asked = provider.clone();
    let model = move |request, out| {
        let provider = asked.clone();
        async move { chief(&provider, request, out).await }
    };
    let agent = Agent::builder()
        .model(model)
        .tool(research(provider.clone()))
        .model_limit(ModelLimit::new(AT_ONCE))
        .open()
        .await?;
    let end = agent.prompt("Is it any good?").await?;
    if let Some(answer) = agent.history().await?.iter().last() {
        println!("{}", answer.message.text());
    }
    println!("{} after {} steps", end.reason, end.steps);
    println!("at most {} requests at once", provider.most.load(Ordering::SeqCst));
    agent.close().await?;
    Ok(())
}
