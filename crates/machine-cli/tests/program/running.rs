//! A directory, and the program at work in it. Every wait is bounded, so that a hang fails; no time is asserted.
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;
use tempfile::TempDir;

/// The longest that anything may take. Far more than it needs.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// A directory to work on, with room beside it.
pub struct World {
    top: TempDir,
}

/// What a finished program left.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// Runs the program so that its commands inherit the pipe behind its standard error. The pipe ends when nobody has it any
/// more, so the end of a run is the end of everything that it started.
const WITH_ITS_COMMANDS: &str = "exec \"$0\" \"$@\" 9>&2";

/// A running program.
pub struct Running {
    child: Child,
    input: Option<Box<dyn Write + Send>>,
    out: Output,
    err: Output,
}

struct Output {
    text: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl World {
    pub fn new() -> Self {
        let top = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(top.path().join("dir")).expect("the directory");
        Self { top }
    }

    pub fn with(files: &[(&str, &str)]) -> Self {
        let world = Self::new();
        for (path, text) in files {
            world.put(path, text);
        }
        world
    }

    pub fn dir(&self) -> PathBuf {
        self.top.path().join("dir")
    }

    pub fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.dir().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, content).expect("a file");
    }

    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.dir().join(path)).expect("a text file")
    }

    pub fn chmod(&self, path: &str, mode: u32) {
        fs::set_permissions(self.dir().join(path), fs::Permissions::from_mode(mode)).expect("chmod");
    }

    /// A script beside the directory, as the value of `--model`.
    pub fn script(&self, yaml: &str) -> String {
        let path = self.top.path().join("script.yaml");
        fs::write(&path, yaml).expect("a script");
        format!("script:{}", path.display())
    }

    /// Every file with its content and permissions.
    pub fn files(&self) -> BTreeMap<PathBuf, (Vec<u8>, u32)> {
        let mut files = BTreeMap::new();
        let mut directories = vec![self.dir()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).expect("a directory") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    directories.push(path);
                } else {
                    let mode = fs::metadata(&path).expect("metadata").permissions().mode();
                    files.insert(path.clone(), (fs::read(&path).expect("a file"), mode));
                }
            }
        }
        files
    }

    /// `agent-machine run --dir DIR ARGS…`, until it ends. It has no input.
    pub fn run(&self, args: &[&str]) -> Ran {
        let mut running = self.start(args);
        running.close();
        running.end()
    }

    pub fn start(&self, args: &[&str]) -> Running {
        let dir = self.dir();
        Running::start(&[&["run", "--dir", dir.to_str().expect("UTF-8")], args].concat())
    }

    /// The same at a terminal, where somebody can be asked.
    pub fn start_at_terminal(&self, args: &[&str]) -> Running {
        let dir = self.dir();
        Running::at_terminal(&[&["run", "--dir", dir.to_str().expect("UTF-8")], args].concat())
    }
}

/// The program with these arguments, until it ends.
pub fn program(args: &[&str]) -> Ran {
    let mut running = Running::start(args);
    running.close();
    running.end()
}

fn program_with(args: &[&str]) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", WITH_ITS_COMMANDS, env!("CARGO_BIN_EXE_agent-machine")]).args(args);
    command.stderr(Stdio::piped());
    command
}

impl Running {
    fn start(args: &[&str]) -> Self {
        let mut child =
            program_with(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let (input, out) = (child.stdin.take().expect("stdin"), child.stdout.take().expect("stdout"));
        Self::of(child, Box::new(input), out)
    }

    fn at_terminal(args: &[&str]) -> Self {
        let terminal =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&terminal).and_then(|()| unlockpt(&terminal)).expect("a terminal");
        let name = ptsname(&terminal, Vec::new()).expect("its name");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let end = || -> OwnedFd { rustix::fs::open(&name, flags, Mode::empty()).expect("the terminal") };
        let child = program_with(args).stdin(end()).stdout(end()).spawn().expect("it starts");
        let terminal = fs::File::from(terminal);
        let input = terminal.try_clone().expect("the terminal");
        Self::of(child, Box::new(input), terminal)
    }

    fn of(mut child: Child, input: Box<dyn Write + Send>, out: impl Read + Send + 'static) -> Self {
        let err = Output::read(child.stderr.take().expect("stderr"));
        Self { child, input: Some(input), out: Output::read(out), err }
    }

    pub fn say(&mut self, line: &str) {
        let input = self.input.as_mut().expect("the input is open");
        writeln!(input, "{line}").expect("the program reads");
    }

    /// Says a line, if it still listens.
    pub fn try_say(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            // It may have ended by itself.
            let _ = writeln!(input, "{line}");
        }
    }

    /// Ends its input.
    pub fn close(&mut self) {
        self.input = None;
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().cast_signed()).expect("a process number");
        kill_process(pid, signal).expect("the program runs");
    }

    /// Waits until this stands in what it wrote to standard output.
    pub fn sees(&self, text: &str) {
        wait(|| self.out.text().contains(text), || format!("{text:?} in {}", self.out.text()));
    }

    /// Waits until this stands in what it wrote to standard error.
    pub fn sees_error(&self, text: &str) {
        wait(|| self.err.text().contains(text), || format!("{text:?} in {}", self.err.text()));
    }

    /// Waits until it has ended, and everything that it started.
    pub fn end(mut self) -> Ran {
        let child = &mut self.child;
        let (out, err) = (&self.out, &self.err);
        wait(
            || child.try_wait().expect("it can be waited for").is_some(),
            || format!("the end; it said {}{}", out.text(), err.text()),
        );
        let status = child.wait().expect("it has ended");
        Ran { code: status.code(), out: self.out.end(), err: self.err.end() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Only a test that fails leaves it running.
        let _ = self.child.kill();
    }
}

impl Output {
    fn read(mut from: impl Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(Vec::new()));
        let to = text.clone();
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = from.read(&mut buffer) {
                to.lock().expect("no panic").extend_from_slice(&buffer[..n]);
            }
        });
        Self { text, reader }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.text.lock().expect("no panic")).into_owned()
    }

    fn end(&self) -> String {
        wait(|| self.reader.is_finished(), || "the end of the output".to_owned());
        self.text()
    }
}

impl Ran {
    #[track_caller]
    pub fn ended(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        assert!(self.out.contains(text), "{text:?} in {self:?}");
        self
    }

    #[track_caller]
    pub fn does_not_say(&self, text: &str) -> &Self {
        assert!(!self.out.contains(text), "{text:?} in {self:?}");
        self
    }

    /// Bad usage: one line on standard error, nothing else.
    #[track_caller]
    pub fn refuses(&self, why: &str) {
        self.ended(2);
        assert_eq!(self.err.lines().count(), 1, "{self:?}");
        assert!(self.err.starts_with("agent-machine: ") && self.err.contains(why), "{why:?} in {self:?}");
        assert_eq!(self.out, "");
    }

    /// Its lines as events.
    #[track_caller]
    pub fn events(&self) -> Vec<Value> {
        let event = |line| serde_json::from_str(line).expect(line);
        self.out.lines().map(event).collect()
    }
}

/// Waits for a condition.
#[track_caller]
pub fn wait(mut is_so: impl FnMut() -> bool, what: impl Fn() -> String) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "it did not come: {}", what());
        std::thread::sleep(LOOK);
    }
}

/// Waits until a process is gone; a zombie is.
#[track_caller]
pub fn is_gone(pid: &str) {
    let stat = Path::new("/proc").join(pid).join("stat");
    let is_alive = || {
        let stat = fs::read_to_string(&stat).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    };
    wait(|| !is_alive(), || format!("the end of process {pid}"));
}
