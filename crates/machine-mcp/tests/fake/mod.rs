//! A server that says exactly what a test wants, a message a line, over a stream in this process.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]

use std::time::Duration;

use machine_mcp::{Builder, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};

/// The longest that a message may take: virtual time, and more than anything waits.
const PATIENCE: Duration = Duration::from_secs(3600);

/// The server's end.
pub struct Fake {
    lines: Lines<BufReader<DuplexStream>>,
    write: DuplexStream,
}

impl Fake {
    /// Two ends.
    pub fn new() -> (Self, Builder) {
        let (read, own_write) = tokio::io::duplex(1 << 20);
        let (write, own_read) = tokio::io::duplex(1 << 20);
        let fake = Self { lines: BufReader::new(own_read).lines(), write: own_write };
        (fake, Server::over(read, write).name("fake"))
    }

    /// Reads nothing any more. Its own end stays open while what this gives lives.
    pub fn close_input(self) -> DuplexStream {
        self.write
    }

    /// The handshake, and these tools; each only has a name.
    pub async fn open(tools: &[&str]) -> (Self, Server) {
        Self::open_with(|builder| builder, tools).await
    }

    /// The same, described.
    pub async fn open_with(describe: impl FnOnce(Builder) -> Builder, tools: &[&str]) -> (Self, Server) {
        let (mut fake, builder) = Self::new();
        let builder = describe(builder);
        let (server, ()) = tokio::join!(builder.open(), fake.greet(tools));
        (fake, server.unwrap())
    }

    /// Answers the handshake and the first question for tools.
    pub async fn greet(&mut self, tools: &[&str]) {
        self.hello().await;
        self.list(tools).await;
    }

    /// Answers the handshake.
    pub async fn hello(&mut self) {
        let hello = self.asked("initialize").await;
        let info = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": { "listChanged": true } },
            "serverInfo": { "name": "fake", "version": "1" },
        });
        self.answer(&hello, info).await;
        self.asked("notifications/initialized").await;
    }

    /// Answers a question for tools.
    pub async fn list(&mut self, tools: &[&str]) {
        let list = self.asked("tools/list").await;
        let tools: Vec<_> =
            tools.iter().map(|name| json!({ "name": name, "inputSchema": { "type": "object" } })).collect();
        self.answer(&list, json!({ "tools": tools })).await;
    }

    /// The next message, which must be this one.
    pub async fn asked(&mut self, method: &str) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.lines.next_line()).await;
        let line = line.unwrap_or_else(|_| panic!("{method} does not come")).unwrap().unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(message["method"], method, "{message}");
        message
    }

    /// Answers a request.
    pub async fn answer(&mut self, request: &Value, result: Value) {
        self.say(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await;
    }

    /// A result that is a text.
    pub async fn answer_text(&mut self, request: &Value, text: &str) {
        self.answer(request, json!({ "content": [{ "type": "text", "text": text }] })).await;
    }

    /// Says something on its own.
    pub async fn notify(&mut self, method: &str, params: Value) {
        self.say(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    /// Progress of a call.
    pub async fn progress(&mut self, request: &Value, progress: u32, message: &str) {
        let token = &request["params"]["_meta"]["progressToken"];
        let params = json!({ "progressToken": token, "progress": progress, "message": message });
        self.notify("notifications/progress", params).await;
    }

    async fn say(&mut self, message: Value) {
        self.line(message.to_string()).await;
    }

    /// Writes a line, whatever it is.
    pub async fn line(&mut self, line: impl AsRef<[u8]>) {
        self.write.write_all(line.as_ref()).await.unwrap();
        self.write.write_all(b"\n").await.unwrap();
    }
}
