//! Standard output, written on a thread of its own: a reader that is slow or stopped holds up neither the agent nor
//! a Ctrl-C.
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};

use tokio::sync::oneshot;

use crate::program::exit;

/// The end of what was written: resolves when nothing more will be, to whether all of it could be. A reader that went away has
/// read enough.
pub type Flushed = oneshot::Receiver<bool>;

/// What goes to standard output. It waits without a bound: all of it is part of the history too, or nearly as long,
/// and an event that is not shown because the reader is slow would be worse.
pub(super) struct Out {
    to: Option<Sender<Vec<u8>>>,
    flushed: Option<Flushed>,
}

impl Default for Out {
    fn default() -> Self {
        let (to, from) = channel();
        let (done, flushed) = oneshot::channel();
        std::thread::spawn(move || {
            let could = pump(&from);
            // Whoever does not wait for it any more does not need it.
            let _ = done.send(could);
        });
        Self { to: Some(to), flushed: Some(flushed) }
    }
}

impl Out {
    pub(super) fn write(&self, text: impl Into<Vec<u8>>) {
        if let Some(to) = &self.to {
            // The thread takes everything until this end is dropped.
            let _ = to.send(text.into());
        }
    }

    /// Nothing more will be written.
    pub(super) fn end(&mut self) -> Option<Flushed> {
        self.to = None;
        self.flushed.take()
    }
}

/// Writes until there is nothing more, and gives whether it could. What cannot be written does not stop the work.
fn pump(from: &Receiver<Vec<u8>>) -> bool {
    let Err(error) = write_all(from) else { return true };
    let has_read_enough = error.kind() == ErrorKind::BrokenPipe;
    if !has_read_enough {
        tell(&format!("standard output: {error}"));
    }
    while from.recv().is_ok() {}
    has_read_enough
}

fn write_all(from: &Receiver<Vec<u8>>) -> io::Result<()> {
    let mut out = BufWriter::new(File::from(io::stdout().as_fd().try_clone_to_owned()?));
    while let Ok(text) = from.recv() {
        out.write_all(&text)?;
        while let Ok(more) = from.try_recv() {
            out.write_all(&more)?;
        }
        out.flush()?;
    }
    Ok(())
}

/// Text on standard output. The exit code is that of what was done, unless it cannot be told. A reader that went away has
/// read enough.
pub fn print(text: &str, code: ExitCode) -> ExitCode {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            tell(&format!("standard output: {error}"));
            exit::ENDED_EARLY.into()
        }
        Ok(()) | Err(_) => code,
    }
}

/// A line on standard error. Nobody may be there to read it.
pub fn tell(text: &str) {
    let _ = writeln!(io::stderr().lock(), "agent-machine: {text}");
}
