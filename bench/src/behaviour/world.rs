//! What every loop is given: the same tools over the same files, and the same model.
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::Done;
use crate::behaviour::transcript::Transcript;

/// How long a write takes, and an append between its read and its write.
const SLOW: Duration = Duration::from_millis(60);
/// How long a read takes after it has read, and work.
const QUICK: Duration = Duration::from_millis(5);
/// How long a host waits for a batch that hangs. By then the first call is done.
pub const PATIENCE: Duration = Duration::from_millis(200);
/// Tokens of each response: of the request, of the answer.
pub const TOKENS: (u64, u64) = (100, 20);
/// The first prompt, and the next.
pub const PROMPTS: [&str; 2] = ["Begin.", "Go on."];
/// What the model says when it has no calls left to make.
pub const ANSWER: &str = "Done.";

/// The tools, and whether each only reads.
pub const TOOLS: [(&str, bool); 4] = [("read", true), ("write", false), ("append", false), ("work", false)];

/// The arguments of every tool.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
pub struct Args {
    /// The file that it touches.
    pub path: String,
    /// What is written; of work, its name.
    pub text: String,
}

/// A call as the model makes it.
#[derive(Clone, Debug)]
pub struct Call {
    /// The provider's name for it.
    pub id: &'static str,
    /// The tool.
    pub tool: &'static str,
    /// What it is called with.
    pub args: Args,
}

impl Call {
    fn of(id: &'static str, tool: &'static str, path: &str, text: &str) -> Self {
        Self { id, tool, args: Args { path: path.into(), text: text.into() } }
    }

    /// Its arguments, as most loops take them.
    pub fn json(&self) -> Value {
        json!(self.args)
    }
}

/// The parameters of every tool, for the loops that want them as a value.
#[cfg(feature = "peers")]
pub fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": { "path": { "type": "string" }, "text": { "type": "string" } },
        "required": ["path", "text"],
    })
}

/// A read of another file, a write, and a read of what was written.
pub fn read_after_write() -> Vec<Call> {
    vec![
        Call::of("c1", "read", "notes", ""),
        Call::of("c2", "write", "report", "new"),
        Call::of("c3", "read", "report", ""),
    ]
}

/// Four appends to one file, and a read of another.
pub fn appends() -> Vec<Call> {
    let append = |id| Call::of(id, "append", "log", id);
    let mut calls: Vec<_> = ["c1", "c2", "c3", "c4"].map(append).into();
    calls.push(Call::of("c5", "read", "notes", ""));
    calls
}

/// The names of the work in [`work`].
pub const WORK: [&str; 3] = ["first", "second", "third"];

/// Three calls that write one file.
pub fn work() -> Vec<Call> {
    let ids = ["c1", "c2", "c3"];
    ids.into_iter().zip(WORK).map(|(id, name)| Call::of(id, "work", "report", name)).collect()
}

/// The first two of them.
pub fn two() -> Vec<Call> {
    work().into_iter().take(2).collect()
}

/// Two calls with one id.
pub fn equal_ids() -> Vec<Call> {
    WORK[..2].iter().map(|name| Call::of("same", "work", "report", name)).collect()
}

/// The files, and what was done to them. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct World(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    files: BTreeMap<String, String>,
    /// The work that began, in order.
    begun: Vec<String>,
    running: usize,
    overlapped: bool,
    /// This work never ends.
    stuck: Option<&'static str>,
}

impl World {
    /// Two files, and tools that end.
    pub fn new() -> Self {
        let files = [("notes", "none"), ("report", "old")].map(|(path, text)| (path.into(), text.into()));
        Self(Arc::new(Mutex::new(Inner { files: files.into(), ..Inner::default() })))
    }

    /// The same, where the second work never ends.
    pub fn stuck() -> Self {
        let world = Self::new();
        world.lock().stuck = Some(WORK[1]);
        world
    }

    /// Runs a tool to its end.
    pub async fn run(&self, tool: &str, args: Args) -> String {
        let _running = Running::begin(self);
        let Args { path, text } = args;
        match tool {
            "read" => {
                let text = self.file(&path);
                tokio::time::sleep(QUICK).await;
                text
            }
            "write" => {
                tokio::time::sleep(SLOW).await;
                self.lock().files.insert(path, text);
                "written".into()
            }
            "append" => {
                let before = self.file(&path);
                tokio::time::sleep(SLOW).await;
                self.lock().files.insert(path, format!("{before}{text}\n"));
                "appended".into()
            }
            _ => {
                self.lock().begun.push(text.clone());
                if self.lock().stuck == Some(&*text) {
                    std::future::pending::<()>().await;
                }
                tokio::time::sleep(QUICK).await;
                format!("{text} done")
            }
        }
    }

    /// What is in a file; nothing if there is none.
    pub fn file(&self, path: &str) -> String {
        self.lock().files.get(path).cloned().unwrap_or_default()
    }

    /// The work that began, in order.
    pub fn begun(&self) -> Vec<String> {
        self.lock().begun.clone()
    }

    /// Whether two calls ever ran at the same time.
    pub fn overlapped(&self) -> bool {
        self.lock().overlapped
    }

    /// Waits until the first work is done and the second runs.
    pub async fn until_stuck(&self) {
        while !self.begun().iter().any(|name| name == WORK[1]) || self.lock().running > 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a batch that hangs until patience ends, and drops it.
pub async fn give_up(batch: impl IntoFuture) -> Done<()> {
    match tokio::time::timeout(PATIENCE, batch).await {
        Ok(_) => Err("the batch did not hang".into()),
        Err(_) => Ok(()),
    }
}

/// A tool that runs, until it is dropped.
struct Running(World);

impl Running {
    fn begin(world: &World) -> Self {
        let mut inner = world.lock();
        inner.running += 1;
        inner.overlapped |= inner.running > 1;
        drop(inner);
        Self(world.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.lock().running -= 1;
    }
}

/// The model: it makes these calls, a response each, and then says [`ANSWER`]. It keeps what it was sent. Clones are the
/// same.
#[derive(Clone, Debug)]
pub struct Script {
    responses: Arc<Mutex<VecDeque<Vec<Call>>>>,
    sent: Arc<Mutex<Vec<Transcript>>>,
}

impl Script {
    /// One response with these calls.
    pub fn calling(calls: Vec<Call>) -> Self {
        Self { responses: Arc::new(Mutex::new([calls].into())), sent: Arc::default() }
    }

    /// Only words.
    pub fn silent() -> Self {
        Self { responses: Arc::default(), sent: Arc::default() }
    }

    /// A request, and the calls that answer it; none for words.
    pub fn respond(&self, request: Transcript) -> Vec<Call> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        self.responses.lock().unwrap_or_else(PoisonError::into_inner).pop_front().unwrap_or_default()
    }

    /// The requests so far.
    pub fn sent(&self) -> Vec<Transcript> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
