//! What comes in from outside: lines and signals.
use std::io::BufRead;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{Receiver, channel};

/// The most lines that were read and not taken.
const LINES: usize = 64;

/// Lines that somebody types, or that come through a pipe.
pub struct Lines(Option<Receiver<String>>);

impl Lines {
    /// Those of standard input, read on a thread of their own: a blocked read must not hold the loop. What is not
    /// UTF-8 becomes U+FFFD.
    pub fn stdin() -> Self {
        let (to, lines) = channel(LINES);
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().split(b'\n').map_while(Result::ok) {
                if to.blocking_send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    return;
                }
            }
        });
        Self(Some(lines))
    }

    /// None at all, and no end.
    pub fn none() -> Self {
        Self(None)
    }

    /// The next one; none, once, at the end. May be dropped and called again.
    pub async fn next(&mut self) -> Option<String> {
        let Some(lines) = &mut self.0 else { return std::future::pending().await };
        let line = lines.recv().await;
        if line.is_none() {
            self.0 = None;
        }
        line
    }
}

/// A request to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Ctrl-C.
    Interrupt,
    /// The program is to end.
    Terminate,
}

/// The signals that ask to stop.
pub struct Interrupts {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hangup: Option<Signal>,
}

impl Interrupts {
    /// From now on they do not end the program by themselves.
    pub fn listen() -> Self {
        let of = |kind| signal(kind).ok();
        Self {
            interrupt: of(SignalKind::interrupt()),
            terminate: of(SignalKind::terminate()),
            hangup: of(SignalKind::hangup()),
        }
    }

    /// The next one.
    pub async fn next(&mut self) -> Stop {
        tokio::select! {
            () = received(self.interrupt.as_mut()) => Stop::Interrupt,
            () = received(self.terminate.as_mut()) => Stop::Terminate,
            () = received(self.hangup.as_mut()) => Stop::Terminate,
        }
    }
}

async fn received(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}
