//! A command and everything it starts: one process group, ended as a whole.
use std::fs::{self, File};
use std::io::{self, PipeWriter, Read};
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid,
};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

use super::capture::Capture;
use crate::keys;

/// How long a group is watched until the last of it is gone after it was killed.
const GONE_CHECKS: usize = 200;
const GONE_PAUSE: Duration = Duration::from_millis(5);

/// The most that is read after the end: more than a pipe holds by default. Only a process that left the group
/// can still be writing then.
const MAX_DRAIN: usize = 1024 * 1024;

/// Runs the command `$1` under a guard of the same group. The guard waits until nobody holds the other end of its input any
/// more, which the system sees to however the program ends, and then kills the group, itself included. It is there before
/// the command begins, has nothing of the command's output, and is not ended by what only asks the command to stop.
const GUARDED: &str = "exec 3<&0 </dev/null
(trap '' HUP INT TERM; read -r end <&3; kill -KILL 0) >/dev/null 2>&1 &
exec /bin/sh -c \"$1\" 3<&-";

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// The command itself has ended.
    Exit,
    /// The command has ended, and nobody holds its output any more.
    Silence,
}

/// A running command. Dropped before its end, it takes the whole group with it; so does the end of the program, however it
/// comes. Otherwise a command would go on beside the session that was opened again after a crash.
///
/// The command is not reaped before the group got its last signal: as long as it is a zombie, its number,
/// which is the group's number too, cannot go to someone else.
#[derive(Debug)]
pub(super) struct Group {
    child: Child,
    pid: Pid,
    exited: bool,
    reaped: bool,
    signals: Signals,
    /// As long as somebody holds it, the group may live.
    _lifeline: PipeWriter,
    /// One pipe for both outputs, so that they come in the order in which they were written.
    pipe: Option<Receiver>,
    capture: Capture,
    buffer: Vec<u8>,
}

impl Group {
    pub(super) fn spawn(dir: &Path, command: &str) -> io::Result<Self> {
        // Before the command starts, so that its end cannot be missed.
        let signals = signal(SignalKind::child())?;
        let (reader, writer) = io::pipe()?;
        let (guarded, lifeline) = io::pipe()?;
        let mut shell = Command::new("/bin/sh");
        keys::keep_from(shell.as_std_mut());
        let child = shell
            .args(["-c", GUARDED, "/bin/sh", command])
            .current_dir(dir)
            .process_group(0)
            .stdin(guarded)
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .spawn()?;
        let pid = child
            .id()
            .and_then(|id| Pid::from_raw(id.cast_signed()))
            .ok_or_else(|| io::Error::other("the process has no number"))?;
        let mut group = Self {
            child,
            pid,
            exited: false,
            reaped: false,
            signals,
            _lifeline: lifeline,
            pipe: None,
            capture: Capture::default(),
            buffer: vec![0; 8 * 1024],
        };
        // From here on an error drops the group, which ends the command.
        group.pipe = Some(Receiver::from_owned_fd(reader.into())?);
        Ok(group)
    }

    /// Takes output until the end. May be dropped and called again: nothing is lost.
    pub(super) async fn wait(&mut self, until: Until) -> io::Result<()> {
        loop {
            self.exited = self.exited || has_exited(self.pid)?;
            if self.exited && (until == Until::Exit || self.pipe.is_none()) {
                return Ok(());
            }
            tokio::select! {
                biased;
                _ = self.signals.recv(), if !self.exited => {}
                more = read(&mut self.pipe, &mut self.buffer), if self.pipe.is_some() => match more {
                    Ok(0) | Err(_) => self.pipe = None,
                    Ok(n) => self.capture.push(&self.buffer[..n]),
                },
            }
        }
    }

    /// Sends a signal to the whole group.
    pub(super) fn signal(&self, signal: Signal) {
        if !self.reaped {
            // It fails only if there is nobody left to get it.
            let _ = kill_process_group(self.pid, signal);
        }
    }

    /// Ends whatever is left of the group once the command itself has ended, and waits until it is gone.
    pub(super) async fn finish(mut self) -> io::Result<(ExitStatus, String)> {
        self.signal(Signal::KILL);
        let status = self.child.try_wait()?.ok_or_else(|| io::Error::other("the process has not ended"))?;
        self.reaped = true;
        for _ in 0..GONE_CHECKS {
            if !is_anyone_left(self.pid) {
                break;
            }
            tokio::time::sleep(GONE_PAUSE).await;
        }
        self.drain()?;
        Ok((status, std::mem::take(&mut self.capture).finish()))
    }

    /// What is still in the pipe. Does not wait for its end: a process that left the group may hold it open.
    fn drain(&mut self) -> io::Result<()> {
        let Some(pipe) = self.pipe.take() else { return Ok(()) };
        let mut file = File::from(pipe.into_nonblocking_fd()?);
        let mut drained = 0;
        while drained < MAX_DRAIN {
            match file.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(n) => {
                    self.capture.push(&self.buffer[..n]);
                    drained += n;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The zombie is left to tokio, which reaps what is dropped.
        self.signal(Signal::KILL);
    }
}

async fn read(pipe: &mut Option<Receiver>, buffer: &mut [u8]) -> io::Result<usize> {
    match pipe {
        Some(pipe) => pipe.read(buffer).await,
        None => Ok(0),
    }
}

/// Whether the process has ended, without reaping it.
fn has_exited(pid: Pid) -> io::Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(pid), options)?.is_some())
}

/// Whether a process of the group is still alive. A zombie is not, though the system counts it until its
/// parent reaps it; after a kill that is process 1, which takes its time on some machines.
fn is_anyone_left(group: Pid) -> bool {
    if test_kill_process_group(group).is_err() {
        return false;
    }
    // Where there is no `/proc`, the system's count has to do.
    let Ok(processes) = fs::read_dir("/proc") else { return true };
    processes.flatten().any(|process| {
        fs::read_to_string(process.path().join("stat")).is_ok_and(|stat| is_alive_in(&stat, group))
    })
}

/// The line is `pid (name) state parent group …`, and a name may have anything in it.
fn is_alive_in(stat: &str, group: Pid) -> bool {
    let mut fields = stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ');
    let (state, _parent, of) = (fields.next(), fields.next(), fields.next());
    of == Some(&*group.to_string()) && !matches!(state, Some("Z" | "X"))
}
