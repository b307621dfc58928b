//! Standard output, written on a thread of its own: a reader that is slow or stopped holds up neither the agent nor
//! a Ctrl-C.
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};

use tokio::sync::oneshot;

use crate::program::exit;

/// The end of what was written: resolves when all of it is out, or nobody reads it any more.
pub type Flushed = oneshot::Receiver<()>;

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
            pump(&from);
            // Whoever does not wait for it any more does not need it.
            let _ = done.send(());
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

/// Writes until there is nothing more. A reader that went away does not stop the work.
fn pump(from: &Receiver<Vec<u8>>) {
    let Err(error) = write_all(from) else { return };
    if error.kind() != ErrorKind::BrokenPipe {
        tell(&format!("standard output: {error}"));
    }
    while from.recv().is_ok() {}
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
