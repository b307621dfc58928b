//! Where tests look on and interfere: every step that reaches the disk passes here. In a program it is nothing.
use std::io;
use std::path::Path;

/// What is about to happen to a file, or just did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    LogWrite,
    LogSync,
    LogSynced,
    FileWrite,
    FileWritten,
    FileSync,
    FileSynced,
    Retire,
    Retired,
}

#[cfg(test)]
pub(crate) type Watcher = dyn Fn(Step, &Path) -> io::Result<()> + Send + Sync;

#[derive(Clone, Default)]
pub(crate) struct Seam {
    #[cfg(test)]
    pub(crate) watcher: Option<std::sync::Arc<Watcher>>,
}

impl Seam {
    #[cfg(test)]
    pub(crate) fn pass(&self, step: Step, path: &Path) -> io::Result<()> {
        self.watcher.as_ref().map_or(Ok(()), |watcher| watcher(step, path))
    }

    #[cfg(not(test))]
    pub(crate) fn pass(&self, _: Step, _: &Path) -> io::Result<()> {
        Ok(())
    }
}
