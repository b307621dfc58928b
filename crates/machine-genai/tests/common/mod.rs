//! An agent with one tool, and what came of a prompt in short lines.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use machine_core::config::Config;
use machine_core::event::{AttemptEnd, EndReason, Event, TurnEnd};
use machine_core::message::{Body, Entry, Message, Part};
use machine_core::response::Finish;
use machine_genai::Genai;
use machine_host::{Agent, Events, Model, ToolCx, tool};
use machine_servers::{Program, Server, find};

pub mod answers;
pub mod raw;

/// The shapes of providers: the name, and what stands before the path on the servers.
pub const OPENAI: Shape = Shape { provider: "openai", base: "/v1" };
pub const RESPONSES: Shape = Shape { provider: "openai_resp", base: "/v1" };
pub const ANTHROPIC: Shape = Shape { provider: "anthropic", base: "/v1" };
pub const GEMINI: Shape = Shape { provider: "gemini", base: "/v1beta" };
pub const SHAPES: [Shape; 4] = [OPENAI, RESPONSES, ANTHROPIC, GEMINI];

/// A way to speak to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub provider: &'static str,
    pub base: &'static str,
}

impl Shape {
    pub fn model(self, name: &str, at: &str) -> Genai {
        let model = Genai::named(&format!("{}:{name}", self.provider)).unwrap();
        model.key("test-key").base_url(format!("{at}{}", self.base)).build().unwrap()
    }
}

/// What came of one prompt.
pub struct Played {
    pub end: TurnEnd,
    pub events: Vec<Event>,
    pub history: Vec<String>,
}

impl Played {
    /// The failed attempts, in order: kind, status, and the wait that the server asked for.
    pub fn failures(&self) -> Vec<String> {
        let error = |event: &Event| match event {
            Event::AttemptEnded { end: AttemptEnd::Failed(error), .. } => Some(error.clone()),
            _ => None,
        };
        self.events
            .iter()
            .filter_map(error)
            .map(|error| {
                let status = error.status.map(|status| format!(" {status}")).unwrap_or_default();
                let wait = error.retry_after_ms.map(|wait| format!(" wait {wait}")).unwrap_or_default();
                format!("{:?}{status}{wait}", error.kind)
            })
            .collect()
    }

    /// The ends of the attempts that did not fail: normalised, and raw.
    pub fn finishes(&self) -> Vec<(Finish, String)> {
        let finish = |event: &Event| match event {
            Event::AttemptEnded { end: AttemptEnd::Finished { finish, raw, .. }, .. } => {
                Some((*finish, raw.as_deref().unwrap_or_default().to_owned()))
            }
            _ => None,
        };
        self.events.iter().filter_map(finish).collect()
    }

    /// The reason in one word, and the kind of the failure.
    pub fn reason(&self) -> String {
        reason(&self.end.reason)
    }
}

pub fn reason(reason: &EndReason) -> String {
    match reason {
        EndReason::Failed(error) => {
            let text = format!("{error:?}");
            let kind = text.split("kind: ").nth(1).and_then(|rest| rest.split(',').next());
            format!("failed {}", kind.unwrap_or(&text))
        }
        other => other.name().to_owned(),
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Args {
    text: String,
}

/// With the tool `get`, which gives its text back with an exclamation mark, and quick retries.
pub async fn agent(model: impl Model, change: impl FnOnce(&mut Config)) -> (Agent, Events) {
    let get = tool("get", "Gives a text back", |args: Args, cx: ToolCx| async move {
        cx.text(format!("{}!", args.text))
    });
    let builder =
        Agent::builder().watch_buffer(20_000).system("be brief").model(model).tool(get.touches_nothing());
    let builder = builder.config(|config| {
        (config.retry.attempts, config.retry.base_ms, config.retry.cap_ms) = (3, 1, 1);
        change(config);
    });
    builder.open_watched().await.unwrap()
}

/// One prompt on a new agent.
pub async fn play(model: impl Model, change: impl FnOnce(&mut Config)) -> Played {
    let (agent, mut events) = agent(model, change).await;
    prompt(&agent, &mut events, "go").await
}

/// One prompt. It must end: a test that hangs says nothing.
pub async fn prompt(agent: &Agent, events: &mut Events, text: &'static str) -> Played {
    let end = tokio::time::timeout(Duration::from_secs(60), agent.prompt(text)).await;
    let end = end.expect("the turn ends").unwrap();
    let history = agent.history().await.unwrap();
    history.audit().unwrap();
    Played { end, events: seen(events), history: history.iter().map(|entry| line(entry)).collect() }
}

pub fn seen(events: &mut Events) -> Vec<Event> {
    let mut all = Vec::new();
    while let Some(seen) = events.try_next() {
        all.push((*seen.unwrap().event).clone());
    }
    all
}

pub fn line(entry: &Entry) -> String {
    match &entry.message {
        Message::Tool(result) => {
            let outcome = serde_json::to_value(&result.outcome).unwrap();
            let words = ["status", "code"].into_iter().filter_map(|name| outcome.get(name)?.as_str());
            let words: Vec<_> = words.collect();
            format!("{} {}: {}", result.tool, words.join(" "), entry.message.text())
        }
        message => {
            let parts: Vec<String> = message.content().iter().map(part).collect();
            format!("{:?}: {}", message.role(), parts.join(" | ")).to_lowercase()
        }
    }
}

fn part(part: &Part) -> String {
    match &part.body {
        Body::Text(text) => text.to_string(),
        Body::Thinking { text, signature: None } => format!("({text})"),
        Body::Thinking { text, signature: Some(signature) } => format!("({text} {signature})"),
        Body::Media { kind, at } => format!("[{kind} {at}]"),
        Body::Call(call) => format!("{}{}", call.tool, call.args.replace("\": ", "\":")),
    }
}

/// The server llmock, from PyPI: its faults are scripted while it runs.
pub fn llmock() -> Option<Server> {
    let program = find(Program::Python("llmock"))?;
    Some(Server::start(|port| {
        let mut command = Command::new(&program);
        command.args(["serve", "--tool-mode", "off", "--log-level", "warning", "--port", &port.to_string()]);
        command
    }))
}

/// The server aimock, from npm, with these fixtures.
pub fn aimock(fixtures: &serde_json::Value) -> Option<(Server, tempfile::TempDir)> {
    let program = find(Program::Node("aimock"))?;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("fixtures.json");
    std::fs::write(&file, serde_json::json!({"fixtures": fixtures}).to_string()).unwrap();
    let config = config(dir.path(), &file);
    let server = Server::start(|port| {
        let mut command = Command::new(&program);
        command.arg("--config").arg(&config).args(["--port", &port.to_string()]);
        command
    });
    Some((server, dir))
}

fn config(dir: &Path, fixtures: &Path) -> PathBuf {
    let path = dir.join("aimock.json");
    std::fs::write(&path, serde_json::json!({"llm": {"fixtures": fixtures}}).to_string()).unwrap();
    path
}

pub fn address(server: &Server) -> String {
    format!("http://127.0.0.1:{}", server.port())
}
