//! Third-party servers, for the tests of the integrations: where `.ci/servers` put them, and how one is
//! started on loopback and ended with its test.
#![forbid(unsafe_code)]
use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Set to `required` where a server that is not there is a failure, as in `.ci/run`.
const SWITCH: &str = "AGENT_MACHINE_SERVERS";

/// How long a server may take until it listens; a cold start of node or python takes one to three seconds.
const LONGEST_START: Duration = Duration::from_secs(60);

/// A server's program among those of its language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// From PyPI.
    Python(&'static str),
    /// From npm.
    Node(&'static str),
}

/// Where the program is; none if it is not installed, which is said loudly.
///
/// # Panics
///
/// If it is not installed and `AGENT_MACHINE_SERVERS` is `required`.
pub fn find(program: Program) -> Option<PathBuf> {
    let target = env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"), PathBuf::from);
    let (name, path) = match program {
        Program::Python(name) => (name, format!("servers/python/bin/{name}")),
        Program::Node(name) => (name, format!("servers/node/node_modules/.bin/{name}")),
    };
    let path = target.join(path);
    if path.exists() {
        return Some(path);
    }
    let required = env::var_os(SWITCH).is_some_and(|value| value == "required");
    assert!(!required, "{name} is not installed: `.ci/servers` does it");
    eprintln!("\nSKIPPED: {name} is not installed; run `.ci/servers` first\n");
    None
}

/// A server on loopback. It is ended when this is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    port: u16,
    said: Arc<Mutex<String>>,
}

impl Server {
    /// Starts what `command` makes of a free port, and waits until it listens there.
    ///
    /// # Panics
    ///
    /// If it ends, or does not listen in time; with what it said.
    pub fn start(command: impl Fn(u16) -> Command) -> Self {
        Self::start_at(free_port(), command)
    }

    /// The same at this port, as where one was before.
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    pub fn start_at(port: u16, command: impl Fn(u16) -> Command) -> Self {
        let mut child = command(port)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server's program can be run");
        let said = Arc::new(Mutex::new(String::new()));
        keep(child.stdout.take().expect("it is piped"), &said);
        keep(child.stderr.take().expect("it is piped"), &said);
        let mut server = Self { child, port, said };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = server.child.try_wait().expect("its state can be read");
            assert!(ended.is_none(), "the server ended with {ended:?}: {}", server.said());
            assert!(begun.elapsed() < LONGEST_START, "the server does not listen: {}", server.said());
            thread::sleep(Duration::from_millis(20));
        }
        server
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Sends one request of HTTP, with a body of JSON, and gives the body of the answer.
    ///
    /// # Panics
    ///
    /// If the answer is no success.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server listens");
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("the request is sent");
        stream.write_all(body.as_bytes()).expect("the request is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the answer is text");
        let (head, body) = answer.split_once("\r\n\r\n").expect("an answer of HTTP");
        assert!(head.starts_with("HTTP/1.1 2"), "{method} {path}: {answer}");
        match head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
            true => joined(body),
            false => body.to_owned(),
        }
    }

    /// What it wrote to both its outputs so far.
    pub fn said(&self) -> String {
        self.said.lock().expect("no reader panics").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The chunks of a body, without their lengths.
fn joined(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((length, chunk)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length.trim(), 16).expect("the length of a chunk");
        body.push_str(&chunk[..length]);
        rest = chunk[length..].trim_start_matches("\r\n");
    }
    body
}

/// Reads an output to its end, so that the server never waits for us.
fn keep(output: impl Read + Send + 'static, said: &Arc<Mutex<String>>) {
    let said = said.clone();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let mut said = said.lock().expect("no reader panics");
            said.push_str(&line);
            said.push('\n');
        }
    });
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    listener.local_addr().expect("it is bound").port()
}
