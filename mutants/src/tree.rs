//! A copy of the project with all mutants in it.
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::diagnostic::{Diagnostic, DiagnosticLevel};
use cargo_metadata::{Message, Metadata, MetadataCommand};

use crate::Done;
use crate::list::{Mutant, PURE, Place};
use crate::switch::{self, Id};

/// What all crates have below them.
const ROOT: &str = "crates/machine-core/src/lib.rs";

/// The copy, and where the original is.
pub(crate) struct Tree {
    project: PathBuf,
    copy: PathBuf,
}

impl Tree {
    /// Copies what git knows of the project, but for the files with mutants.
    pub(crate) fn new(project: &Path, work: &Path, mutants: &[Mutant]) -> Done<Self> {
        let tree = Self { project: project.to_owned(), copy: work.join("tree") };
        let files = Command::new("git").current_dir(project).args(["ls-files", "-z"]).output()?;
        let files = String::from_utf8(files.stdout)?;
        let planted: HashSet<&str> = mutants.iter().map(|mutant| &*mutant.file).collect();
        for file in files.split('\0').filter(|file| !file.is_empty() && !planted.contains(file)) {
            // A file that was deleted is still known until that is committed.
            let Ok(mut bytes) = fs::read(project.join(file)) else { continue };
            if file == ROOT {
                bytes.extend(switch::SWITCH.as_bytes());
            }
            tree.write(file, &bytes)?;
        }
        Ok(tree)
    }

    /// A command of cargo in the copy, which knows no lints.
    pub(crate) fn cargo(&self, command: &str) -> Command {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(&self.copy).args([command, "--locked", "--message-format=json"]);
        cargo.env("RUSTFLAGS", "-Awarnings").env("CARGO_PROFILE_DEV_DEBUG", "none");
        // Built once, played thousands of times.
        cargo.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
        cargo.env("CARGO_TARGET_DIR", self.copy.with_file_name("target"));
        cargo
    }

    /// What packages it has.
    pub(crate) fn metadata(&self) -> Done<Metadata> {
        Ok(MetadataCommand::new().current_dir(&self.copy).no_deps().exec()?)
    }

    /// Writes what differs, so that only that is built again.
    fn write(&self, file: &str, bytes: &[u8]) -> Done<()> {
        let path = self.copy.join(file);
        if fs::read(&path).is_ok_and(|there| there == bytes) {
            return Ok(());
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        Ok(fs::write(path, bytes)?)
    }

    /// Puts all mutants in that the compiler takes, and gives their numbers.
    pub(crate) fn plant(&self, mutants: &[Mutant]) -> Done<HashSet<Id>> {
        let mut files: BTreeMap<&str, Vec<(Id, &Mutant)>> = BTreeMap::new();
        for (id, mutant) in (1..).zip(mutants) {
            files.entry(&mutant.file).or_default().push((id, mutant));
        }
        let mut refused = self.known(mutants)?;
        loop {
            let mut there = HashSet::new();
            for (file, all) in &mut files {
                all.retain(|(id, _)| !refused.contains(id));
                let text = fs::read_to_string(self.project.join(file))?;
                let switched = switch::switched(&text, all).map_err(|error| format!("{file}: {error}"))?;
                there.extend(switched.there);
                self.write(file, switched.text.as_bytes())?;
            }
            let more = self.refused()?;
            if more.is_empty() {
                self.keep(mutants, &refused)?;
                return Ok(there);
            }
            eprintln!("{} of {} do not compile", more.len(), there.len());
            if more.is_subset(&refused) {
                return Err(format!("the compiler refuses what holds no mutant: {more:?}").into());
            }
            refused.extend(more);
        }
    }

    /// What the compiler refused before, if it was asked about the same mutants: the copy is not built again then.
    fn known(&self, mutants: &[Mutant]) -> Done<HashSet<Id>> {
        let Ok(text) = fs::read(self.copy.with_file_name("refused.json")) else { return Ok(HashSet::new()) };
        let (names, refused): (Vec<String>, HashSet<Id>) = serde_json::from_slice(&text)?;
        let same = names.iter().eq(mutants.iter().map(|mutant| &mutant.name));
        Ok(if same { refused } else { HashSet::new() })
    }

    fn keep(&self, mutants: &[Mutant], refused: &HashSet<Id>) -> Done<()> {
        let names: Vec<&str> = mutants.iter().map(|mutant| &*mutant.name).collect();
        let text = serde_json::to_vec(&(names, refused))?;
        Ok(fs::write(self.copy.with_file_name("refused.json"), text)?)
    }

    /// The mutants that the compiler does not take, as far as it gets.
    fn refused(&self) -> Done<HashSet<Id>> {
        let mut check = self.cargo("check");
        check.arg("--keep-going");
        for package in PURE {
            check.args(["--package", package]);
        }
        let out = check.output()?;
        let mut refused = HashSet::new();
        for message in Message::parse_stream(&*out.stdout) {
            if let Message::CompilerMessage(message) = message?
                && message.message.level == DiagnosticLevel::Error
            {
                refused.extend(self.blamed(&message.message)?);
            }
        }
        if refused.is_empty() && !out.status.success() {
            return Err(String::from_utf8_lossy(&out.stderr).into_owned().into());
        }
        Ok(refused)
    }

    fn blamed(&self, error: &Diagnostic) -> Done<Vec<Id>> {
        let Some(span) = error.spans.iter().find(|span| span.is_primary) else { return Ok(Vec::new()) };
        let text = fs::read_to_string(self.copy.join(&span.file_name))?;
        let at = Place { line: span.line_start, column: span.column_start };
        let found = switch::blamed(&text, at)?;
        if found.is_empty() {
            eprintln!("{}:{}: {}", span.file_name, span.line_start, error.message);
        }
        Ok(found)
    }
}
