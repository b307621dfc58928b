//! A scripted model, an agent with the tools of a server, and what came of it.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]

use std::collections::VecDeque;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use machine_adapter::Request;
use machine_core::event::{Event, TurnEnd};
use machine_core::message::{Message, ToolMessage};
use machine_core::outcome::Outcome;
use machine_core::response::{Finish, Finished, ModelError};
use machine_host::{Agent, BoxFuture, Events, Model, ModelOut, PromptError};
use machine_mcp::{Builder, Server};
use machine_servers::{Program, find};
use tokio::task::JoinHandle;

/// The calls of one response: tool and arguments. Without any it is the final answer.
pub type Calls = Vec<(&'static str, String)>;

/// Makes one batch of calls after the other, then ends the turn. Remembers which tools were on offer.
#[derive(Clone, Default)]
pub struct Script {
    batches: Arc<Mutex<VecDeque<Calls>>>,
    offers: Arc<Mutex<Vec<Vec<String>>>>,
}

impl Script {
    pub fn of(batches: impl IntoIterator<Item = Calls>) -> Self {
        Self { batches: Arc::new(Mutex::new(batches.into_iter().collect())), offers: Arc::default() }
    }

    /// The names that each request offered.
    pub fn offers(&self) -> Vec<Vec<String>> {
        self.offers.lock().unwrap().clone()
    }
}

impl Model for Script {
    fn call(&self, request: Request, out: ModelOut) -> BoxFuture<'_, Result<Finished, ModelError>> {
        let names = request.tools.iter().map(|spec| spec.name.to_string()).collect();
        self.offers.lock().unwrap().push(names);
        let calls = self.batches.lock().unwrap().pop_front().unwrap_or_default();
        Box::pin(async move {
            if calls.is_empty() {
                out.text("done").await;
                return Ok(Finished::new(Finish::EndTurn));
            }
            for (index, (tool, args)) in (0..).zip(calls) {
                out.call(index, format!("c{index}"), tool, &*args).await;
            }
            Ok(Finished::new(Finish::ToolUse))
        })
    }
}

/// One call without arguments.
pub fn call(tool: &'static str) -> Calls {
    vec![(tool, "{}".to_owned())]
}

/// Opens an agent over a server, and watches it.
pub async fn agent(script: Script, server: &Server) -> (Agent, Events) {
    let builder = Agent::builder().model(script).tools_from(server.clone());
    builder.journal(machine_journal::MemoryJournal::new()).open_watched().await.unwrap()
}

/// The command of a server from npm; none if it is not installed.
pub fn node(name: &'static str) -> Option<Command> {
    find(Program::Node(name)).map(Command::new)
}

/// The server that has a bit of everything.
pub fn everything() -> Option<Builder> {
    let mut command = node("mcp-server-everything")?;
    command.arg("stdio");
    Some(Server::child(command))
}

/// The server for the files of a directory.
pub fn files(dir: &Path) -> Option<Builder> {
    let mut command = node("mcp-server-filesystem")?;
    command.arg(dir);
    Some(Server::child(command))
}

/// Every result in history.
pub async fn results(agent: &Agent) -> Vec<ToolMessage> {
    let history = agent.history().await.unwrap();
    history.audit().unwrap();
    let tools = history.iter().filter_map(|entry| match &entry.message {
        Message::Tool(tool) => Some(tool.clone()),
        _ => None,
    });
    tools.collect()
}

/// The text of a result.
pub fn text(result: &ToolMessage) -> String {
    result.content.iter().filter_map(|part| part.as_text()).collect::<Vec<_>>().join("\n")
}

/// Outcome and text of every result.
pub async fn told(agent: &Agent) -> Vec<(Outcome, String)> {
    results(agent).await.iter().map(|result| (result.outcome.clone(), text(result))).collect()
}

/// A turn that runs by itself.
pub fn prompted(agent: &Agent) -> JoinHandle<Result<TurnEnd, PromptError>> {
    let agent = agent.clone();
    tokio::spawn(async move { agent.prompt("go").await })
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
    let patience = std::time::Duration::from_secs(60);
    while let Some(seen) = tokio::time::timeout(patience, events.next()).await.expect("it comes") {
        let event = seen.unwrap().event;
        if wanted(&event) {
            return (*event).clone();
        }
    }
    panic!("the agent went away first");
}

/// The progress that was told.
pub fn progress(events: &[Event]) -> Vec<String> {
    let texts = events.iter().filter_map(|event| match event {
        Event::Progress { text, .. } => Some(text.to_string()),
        _ => None,
    });
    texts.collect()
}

/// Waits until a process is gone.
pub async fn gone(is_gone: impl AsyncFn() -> bool) {
    for _ in 0..3_000 {
        if is_gone().await {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("it is still there");
}
