//! A scripted model, a watcher that collects, and small tools.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use machine_adapter::Request;
use machine_core::Text;
use machine_core::event::{Event, TurnEnd};
use machine_core::message::Message;
use machine_core::outcome::Outcome;
use machine_core::outcome::ToolResult;
use machine_core::response::{Finish, Finished, ModelError};
use machine_host::{Agent, BoxFuture, Events, Model, ModelOut, Place, ToolCx, ToolError, TypedTool, tool};
use machine_journal::MemoryJournal;

/// One response.
#[derive(Clone, Debug)]
pub enum Say {
    /// A final answer.
    Text(&'static str),
    /// Calls: tool and arguments.
    Calls(Vec<(&'static str, &'static str)>),
    /// A failure.
    Fail(ModelError),
    /// A panic.
    Panic,
    /// Some text, then nothing for ever.
    Hang,
}

/// Says one response after the other, and remembers what it was asked.
#[derive(Clone, Default)]
pub struct Script {
    says: Arc<Mutex<VecDeque<Say>>>,
    asked: Arc<Mutex<Vec<Request>>>,
}

impl Script {
    pub fn of(says: impl IntoIterator<Item = Say>) -> Self {
        Self { says: Arc::new(Mutex::new(says.into_iter().collect())), asked: Arc::default() }
    }

    pub fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }
}

impl Model for Script {
    fn call(&self, request: Request, out: ModelOut) -> BoxFuture<'_, Result<Finished, ModelError>> {
        self.asked.lock().unwrap().push(request);
        let say = self.says.lock().unwrap().pop_front().unwrap_or(Say::Text("nothing more to say"));
        Box::pin(async move {
            match say {
                Say::Text(text) => {
                    for word in text.split_inclusive(' ') {
                        out.text(word).await;
                    }
                    Ok(Finished::new(Finish::EndTurn))
                }
                Say::Calls(calls) => {
                    for (index, (tool, args)) in (0..).zip(calls) {
                        out.call(index, format!("c{index}"), tool, args).await;
                    }
                    Ok(Finished::new(Finish::ToolUse))
                }
                Say::Fail(error) => Err(error),
                Say::Panic => panic!("the model fell over"),
                Say::Hang => {
                    out.text("well").await;
                    std::future::pending().await
                }
            }
        })
    }
}

/// Arguments of most tools here.
#[derive(serde::Deserialize, schemars::JsonSchema)]
pub struct Args {
    #[serde(default)]
    pub text: String,
}

pub type Run = fn(Args, ToolCx) -> BoxFuture<'static, Result<ToolResult, ToolError>>;

/// A tool from a function; it touches nothing.
pub fn quick(name: &'static str, run: Run) -> TypedTool<Args, Run> {
    tool(name, "for a test", run).touches_nothing()
}

/// Gives its text back.
pub fn echo() -> TypedTool<Args, Run> {
    quick("echo", |args, cx| Box::pin(async move { cx.text(args.text) }))
}

/// Never ends by itself, but stops when it is told to.
pub fn hang() -> TypedTool<Args, Run> {
    quick("hang", |_, _| Box::pin(std::future::pending()))
}

/// A journal of which the test keeps the other end.
pub fn journal() -> Arc<Mutex<MemoryJournal>> {
    Arc::default()
}

/// What a watcher saw so far.
pub fn seen(events: &mut Events) -> Vec<Event> {
    let mut all = Vec::new();
    while let Some(seen) = events.try_next() {
        all.push((*seen.unwrap().event).clone());
    }
    all
}

/// Waits for an event.
pub async fn wait_for(events: &mut Events, wanted: fn(&Event) -> bool) -> Event {
    while let Some(seen) = events.next().await {
        let event = seen.unwrap().event;
        if wanted(&event) {
            return (*event).clone();
        }
    }
    panic!("the agent went away first");
}

/// Every turn that began ended once, durable numbers have no gap, and every call settled once (T18, E01, E06).
pub fn check_record(events: &mut Events) -> Vec<Event> {
    let (mut all, mut next, mut open) = (Vec::new(), None, std::collections::BTreeSet::new());
    let mut ended = std::collections::BTreeSet::new();
    let mut settled = std::collections::BTreeSet::new();
    while let Some(seen) = events.try_next() {
        let seen = seen.unwrap();
        match seen.place {
            Place::Durable(n) => {
                assert!(next.is_none_or(|next| next == n), "E01: {n} after {next:?}");
                next = Some(n + 1);
            }
            Place::Live { after } => {
                assert!(
                    next.is_none_or(|next: u64| after == next.checked_sub(1)),
                    "E01: live after {after:?}"
                );
            }
        }
        match &*seen.event {
            Event::TurnStarted { turn, .. } => assert!(open.insert(*turn)),
            Event::TurnEnded(TurnEnd { turn, .. }) => {
                open.remove(turn);
                assert!(ended.insert(*turn), "T18: {turn} ended twice");
            }
            Event::CallSettled { call, .. } => assert!(settled.insert(*call), "V13: {call} settled twice"),
            _ => {}
        }
        all.push((*seen.event).clone());
    }
    assert!(open.is_empty(), "T18: {open:?} never ended");
    all
}

/// The results in history: tool, outcome, text.
pub async fn results(agent: &Agent) -> Vec<(Text, Outcome, String)> {
    let history = agent.history().await.unwrap();
    history.audit().unwrap();
    let tools = history.iter().filter_map(|entry| match &entry.message {
        Message::Tool(tool) => Some((tool.tool.clone(), tool.outcome.clone(), entry.message.text())),
        _ => None,
    });
    tools.collect()
}

/// The same, outcomes only.
pub async fn outcomes(agent: &Agent) -> Vec<Outcome> {
    results(agent).await.into_iter().map(|(_, outcome, _)| outcome).collect()
}

/// What each entry says.
pub fn texts(history: &machine_core::history::History) -> Vec<String> {
    history.iter().map(|entry| entry.message.text()).collect()
}
