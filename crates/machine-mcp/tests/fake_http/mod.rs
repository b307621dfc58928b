//! A server behind an address that does what a test wants, one request a connection, and that can go away and come back.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};
use tokio::task::{JoinHandle, JoinSet};

/// What becomes of calls.
#[derive(Clone, Copy)]
pub enum Calls {
    /// They are done.
    Done,
    /// The stream of their answer ends before it.
    Broken,
    /// They are answered with an error that is none, in a body of its own or in a stream.
    Odd { in_stream: bool },
    /// They are never answered.
    Held,
}

/// The answer to a session that it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// 404, as the protocol wants it.
    NotFound,
    /// 400, and an error that names no request, as many servers have it.
    Nameless,
    /// The same with the id of the request.
    Named,
    /// None.
    Silent,
}

/// What it does.
#[derive(Clone)]
pub struct Behaviour {
    pub tools: &'static [&'static str],
    pub calls: Calls,
    /// It has a stream for what it says on its own.
    pub stream: bool,
    /// What the list of tools says of how long it holds.
    pub list_holds: Option<u64>,
    pub unknown_session: Unknown,
    /// It answers nobody without this token, in lower case.
    pub token: Option<&'static str>,
}

/// One request: its head in lower case, and its message.
struct Request {
    head: String,
    message: Value,
}

/// The server; gone when it is dropped.
pub struct FakeHttp {
    at: SocketAddr,
    behaviour: Arc<Mutex<Behaviour>>,
    started: u32,
    breaks: Arc<Notify>,
    heard: (mpsc::UnboundedSender<String>, mpsc::UnboundedReceiver<String>),
    serving: Option<JoinHandle<()>>,
}

impl FakeHttp {
    pub async fn start() -> Self {
        let behaviour = Behaviour {
            tools: &["work"],
            calls: Calls::Done,
            stream: false,
            list_holds: None,
            unknown_session: Unknown::NotFound,
            token: None,
        };
        let mut fake = Self {
            at: ([127, 0, 0, 1], 0).into(),
            behaviour: Arc::new(Mutex::new(behaviour)),
            started: 0,
            breaks: Arc::default(),
            heard: mpsc::unbounded_channel(),
            serving: None,
        };
        fake.come_back().await;
        fake
    }

    pub fn address(&self) -> String {
        format!("http://{}/mcp", self.at)
    }

    pub fn behave(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.behaviour.lock().unwrap());
    }

    /// The stream of what it says on its own breaks; it can be asked for again.
    pub fn break_stream(&self) {
        self.breaks.notify_waiters();
    }

    /// Nobody listens any more, and what is open breaks.
    pub async fn go(&mut self) {
        if let Some(serving) = self.serving.take() {
            serving.abort();
            let _ = serving.await;
        }
    }

    /// Listens again, and knows none of its sessions.
    pub async fn come_back(&mut self) {
        let listener = TcpListener::bind(self.at).await.unwrap();
        self.at = listener.local_addr().unwrap();
        self.started += 1;
        let (session, behaviour) = (format!("session-{}", self.started), self.behaviour.clone());
        let (heard, breaks) = (self.heard.0.clone(), self.breaks.clone());
        self.serving = Some(tokio::spawn(async move {
            let mut open = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                open.spawn(answer(stream, session.clone(), behaviour.clone(), heard.clone(), breaks.clone()));
            }
        }));
    }

    /// Waits for so many messages of this method, and lets all others go by.
    pub async fn hears(&mut self, method: &str, mut times: usize) {
        while times > 0 {
            let heard = tokio::time::timeout(Duration::from_secs(30), self.heard.1.recv()).await;
            let heard = heard.unwrap_or_else(|_| panic!("{times} times {method} do not come")).unwrap();
            times -= usize::from(heard == method);
        }
    }

    /// How often each method came since it was last looked.
    pub fn heard(&mut self) -> BTreeMap<String, usize> {
        let mut heard = BTreeMap::new();
        while let Ok(method) = self.heard.1.try_recv() {
            *heard.entry(method).or_default() += 1;
        }
        heard
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.ok()?;
    Some(Request { head, message: serde_json::from_slice(&body).unwrap_or_default() })
}

async fn answer(
    stream: TcpStream,
    session: String,
    behaviour: Arc<Mutex<Behaviour>>,
    heard: mpsc::UnboundedSender<String>,
    breaks: Arc<Notify>,
) {
    let mut stream = BufReader::new(stream);
    let Some(Request { head, message }) = read(&mut stream).await else { return };
    let method = message["method"].as_str().unwrap_or("none").to_owned();
    let _ = heard.send(method.clone());
    let behaviour = behaviour.lock().unwrap().clone();
    let id = &message["id"];
    let result = |result: Value| {
        ("200 OK", "application/json", json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string())
    };
    let known = head.contains(&format!("mcp-session-id: {session}\r\n"));
    let allowed =
        behaviour.token.is_none_or(|token| head.contains(&format!("authorization: bearer {token}\r\n")));
    if allowed && head.starts_with("get ") && behaviour.stream {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        stream.get_mut().write_all(head.as_bytes()).await.unwrap();
        let breaks = breaks.notified();
        let _ = heard.send("stream".to_owned());
        return breaks.await;
    }
    let (status, kind, body) = match &*method {
        _ if !allowed => ("401 Unauthorized\r\nWWW-Authenticate: Bearer", "text/plain", String::new()),
        _ if !head.starts_with("post ") => ("405 Method Not Allowed", "text/plain", String::new()),
        "initialize" => result(json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "fake", "version": "1" },
        })),
        _ if !known && behaviour.unknown_session == Unknown::Silent => return std::future::pending().await,
        _ if !known && behaviour.unknown_session == Unknown::NotFound => {
            ("404 Not Found", "text/plain", String::new())
        }
        _ if !known => {
            let error = json!({ "code": -32000, "message": "Bad Request: No valid session ID provided" });
            let mut answer = json!({ "jsonrpc": "2.0", "error": error });
            if behaviour.unknown_session == Unknown::Named {
                answer["id"] = id.clone();
            }
            ("400 Bad Request", "application/json", answer.to_string())
        }
        "tools/list" => {
            let schema = json!({ "type": "object" });
            let tools = behaviour.tools.iter().map(|name| json!({ "name": name, "inputSchema": schema }));
            let mut list = json!({ "tools": tools.collect::<Vec<_>>() });
            if let Some(holds) = behaviour.list_holds {
                list["ttlMs"] = holds.into();
            }
            result(list)
        }
        "tools/call" => match behaviour.calls {
            Calls::Done => result(json!({ "content": [{ "type": "text", "text": "done" }] })),
            Calls::Broken => ("200 OK", "text/event-stream", ": so far\n\n".to_owned()),
            Calls::Odd { in_stream } => {
                let odd = json!({ "jsonrpc": "2.0", "id": id, "error": "no page" });
                if in_stream {
                    ("200 OK", "text/event-stream", format!("data: {odd}\n\n"))
                } else {
                    ("200 OK", "application/json", odd.to_string())
                }
            }
            Calls::Held => return std::future::pending().await,
        },
        _ => ("202 Accepted", "text/plain", String::new()),
    };
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nMcp-Session-Id: {session}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    let _ = stream.get_mut().write_all(answer.as_bytes()).await;
    let _ = stream.get_mut().shutdown().await;
}
