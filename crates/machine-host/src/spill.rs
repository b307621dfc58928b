//! Output that is too long for the model lies in a file, in full (V15).
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Error, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use machine_core::ids::CallId;
use machine_core::message::Body;
use machine_core::outcome::ToolResult;

use crate::tool::ToolError;

/// Files of one call: the result of the call, and of whatever has the same id in a copy of its session.
const FILES: u32 = 100;

/// Where long output goes, and what is long.
#[derive(Clone, Debug)]
pub(crate) struct Spill {
    dir: Arc<Path>,
    chars: usize,
}

impl Spill {
    /// Above so many characters, into this directory.
    pub(crate) fn above(chars: usize, dir: &Arc<Path>) -> Self {
        Self { dir: dir.clone(), chars }
    }

    /// The result names the file that has its whole text, if it is too long. One that cannot be written is reported in
    /// the log; the output is then cut and nothing else.
    pub(crate) async fn result(self, call: CallId, result: ToolResult) -> ToolResult {
        let Some(text) = self.too_long(&result) else { return result };
        let dir = self.dir.clone();
        let written = tokio::task::spawn_blocking(move || write(&dir, call, &text)).await;
        match written.unwrap_or_else(|gone| Err(Error::other(gone))) {
            Ok(path) => ToolResult { spill: Some(path.to_string_lossy().into()), ..result },
            Err(error) => {
                let dir = self.dir.display();
                tracing::warn!(%call, %error, %dir, "long output is cut: it cannot be written");
                result
            }
        }
    }

    /// The same for what a tool brought.
    pub(crate) async fn brought(
        self,
        call: CallId,
        brought: Result<ToolResult, ToolError>,
    ) -> Result<ToolResult, ToolError> {
        match brought {
            Ok(result) => Ok(self.result(call, result).await),
            Err(error) => match error.into_result() {
                Ok(result) => Ok(self.result(call, result).await),
                Err(error) => Err(error),
            },
        }
    }

    /// What has a file already is the tool's own affair.
    fn too_long(&self, result: &ToolResult) -> Option<String> {
        let texts = || {
            result.output.iter().filter_map(|part| match &part.body {
                Body::Text(text) => Some(&**text),
                Body::Thinking { .. } | Body::Media { .. } | Body::Call(_) => None,
            })
        };
        let chars: usize = texts().map(|text| text.chars().count()).sum();
        let spills = chars > self.chars && !result.keep_whole && result.spill.is_none();
        spills.then(|| texts().collect())
    }
}

/// A file that was not there before, for its owner only.
fn write(dir: &Path, call: CallId, text: &str) -> Result<PathBuf, Error> {
    make_dir(dir)?;
    for n in 1..=FILES {
        let name = if n == 1 { format!("{call}.txt") } else { format!("{call}-{n}.txt") };
        let path = dir.join(name);
        match new_file(&path) {
            Ok(mut file) => return file.write_all(text.as_bytes()).map(|()| path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::other(format!("there are {FILES} files for call {call} already")))
}

fn make_dir(dir: &Path) -> Result<(), Error> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

fn new_file(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
