//! A workspace in a temporary directory, with an outside to escape to.
#![allow(dead_code, reason = "each test file uses a part of it")]
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use machine_cli::tools::{Runner, Workspace, find};
use tempfile::TempDir;

/// A workspace, and beside it a file `outside/secret.txt` that no tool may reach.
pub struct World {
    top: TempDir,
    pub workspace: Workspace,
}

impl World {
    pub fn new() -> Self {
        let top = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(top.path().join("root")).expect("the root");
        fs::create_dir(top.path().join("outside")).expect("the outside");
        fs::write(top.path().join("outside/secret.txt"), "secret\n").expect("the secret");
        let workspace = Workspace::open(&top.path().join("root")).expect("the workspace opens");
        Self { top, workspace }
    }

    pub fn with(files: &[(&str, &str)]) -> Self {
        let world = Self::new();
        for (path, content) in files {
            world.put(path, content);
        }
        world
    }

    pub fn root(&self) -> PathBuf {
        self.top.path().join("root")
    }

    pub fn outside(&self) -> PathBuf {
        self.top.path().join("outside")
    }

    pub fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, content).expect("a file");
    }

    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).expect("a text file")
    }

    pub fn link(&self, target: impl AsRef<Path>, path: &str) {
        std::os::unix::fs::symlink(target, self.root().join(path)).expect("a link");
    }

    pub fn chmod(&self, path: &str, mode: u32) {
        fs::set_permissions(self.root().join(path), fs::Permissions::from_mode(mode)).expect("chmod");
    }

    pub fn mode(&self, path: &str) -> u32 {
        fs::metadata(self.root().join(path)).expect("metadata").permissions().mode() & 0o7777
    }

    /// Every name in a directory: shows what was left behind.
    pub fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root().join(path)).expect("a directory");
        let mut names: Vec<String> =
            entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Calls a blocking tool.
    pub fn call(&self, tool: &str, args: &str) -> Result<String, String> {
        match find(tool).expect("the tool").runner {
            Runner::Blocking(run) => run(&self.workspace, args).map_err(|error| error.to_string()),
            Runner::Shell => unreachable!("the shell is not called here"),
        }
    }

    #[track_caller]
    pub fn ok(&self, tool: &str, args: &str, want: &str) {
        assert_eq!(self.call(tool, args).as_deref(), Ok(want), "{tool} {args}");
    }

    #[track_caller]
    pub fn err(&self, tool: &str, args: &str, want: &str) {
        assert_eq!(self.call(tool, args).as_deref().map_err(|e| &**e), Err(want), "{tool} {args}");
    }
}
