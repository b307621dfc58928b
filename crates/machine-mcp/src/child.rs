//! A server that is a process of ours: what it wrote to its standard error, and its end.
use std::collections::VecDeque;
use std::io;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

/// The most that is kept of its standard error, in bytes: its end.
const TAIL: usize = 4 * 1024;

/// How long the end of a process, and of what it writes, is waited for where it should come at once.
pub(crate) const LAST_WORDS: Duration = Duration::from_millis(500);

/// How often it is looked whether it ended.
const LOOK: Duration = Duration::from_millis(5);

/// A running process. Dropped, it is killed, with everything that it started and that is still in its group.
pub(crate) struct Child {
    process: tokio::process::Child,
    tail: Arc<Mutex<VecDeque<u8>>>,
    reader: JoinHandle<()>,
}

impl Child {
    /// Starts it, in a group of its own: a Ctrl-C at the terminal is for the agent, not for its servers.
    pub(crate) fn spawn(command: std::process::Command) -> io::Result<(Self, ChildStdout, ChildStdin)> {
        let mut command = Command::from(command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut process = command.spawn()?;
        let (stdin, stdout, stderr) = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
            return Err(io::Error::other("the process has no pipes"));
        };
        let tail = Arc::default();
        let reader = tokio::spawn(keep(stderr, Arc::clone(&tail)));
        Ok((Self { process, tail, reader }, stdout, stdin))
    }

    /// Its number.
    pub(crate) fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// How it ended, if it did. It is not reaped by that, so its number stays its own.
    #[cfg(unix)]
    pub(crate) fn ended(&self) -> Option<String> {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(self.group()?), options).ok()??;
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Some(format!("it ended with exit code {code}")),
            (None, Some(signal)) => Some(format!("it was ended by signal {signal}")),
            (None, None) => None,
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn ended(&mut self) -> Option<String> {
        let status = self.process.try_wait().ok()??;
        Some(format!("it ended with {status}"))
    }

    /// Whether its standard error is closed.
    pub(crate) fn has_said_all(&self) -> bool {
        self.reader.is_finished()
    }

    /// The end of what it wrote to its standard error.
    pub(crate) fn stderr(&self) -> String {
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = tail.iter().copied().collect();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }

    /// Kills it, if it does not end by itself within the time, and gives how it ended and all that it said.
    pub(crate) async fn kill(mut self, within: Duration) -> (Option<String>, String) {
        let is_silent = tokio::time::timeout(within, &mut self.reader).await.is_ok();
        let ended = soon(within, || self.ended()).await;
        self.kill_group();
        if !is_silent {
            let _ = tokio::time::timeout(LAST_WORDS, &mut self.reader).await;
        }
        (ended, self.stderr())
    }

    /// Waits for its end, then kills what is left of its group: itself, where that took too long, and what it started.
    pub(crate) async fn end(mut self, within: Duration) {
        let _ = soon(within, || self.ended()).await;
        self.kill_group();
    }

    /// As long as it was not reaped, its number cannot be somebody else's.
    #[cfg(unix)]
    fn group(&self) -> Option<rustix::process::Pid> {
        rustix::process::Pid::from_raw(self.process.id()?.cast_signed())
    }

    #[cfg(unix)]
    fn kill_group(&mut self) {
        if let Some(group) = self.group() {
            // It fails only where nobody is left.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }

    #[cfg(not(unix))]
    fn kill_group(&mut self) {
        let _ = self.process.start_kill();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill_group();
        // Somebody who left the group may hold the pipe.
        self.reader.abort();
    }
}

/// Looks again and again until there is something. An exit closes the pipes of a process a moment before it can be seen.
pub(crate) async fn soon<T>(within: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let looking = async {
        loop {
            if let Some(seen) = look() {
                return seen;
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(within, looking).await.ok()
}

/// Reads to the end, so that the server never waits for us.
async fn keep(mut stderr: ChildStderr, tail: Arc<Mutex<VecDeque<u8>>>) {
    let mut buffer = [0; 1024];
    while let Ok(n @ 1..) = stderr.read(&mut buffer).await {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(&buffer[..n]);
        let over = tail.len().saturating_sub(TAIL);
        tail.drain(..over);
    }
}
