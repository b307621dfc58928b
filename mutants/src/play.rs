//! The tests, played against one mutant after the other.
use std::collections::HashSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cargo_metadata::{Message, Metadata, Package, PackageId};
use wait_timeout::ChildExt;

use crate::Done;
use crate::list::PURE;
use crate::switch::Id;
use crate::tree::Tree;

/// A mutant may take this many times as long as the tests do without one, and so much beside it.
const PATIENCE: (u32, Duration) = (5, Duration::from_secs(10));
/// A mutant that asks for more memory than this is stopped, in KiB.
const MEMORY: &str = "6000000";
/// Few cases of each property, to begin with: most mutants break at once.
const FEW: &str = "8";

/// A program of tests, and how long it takes without a mutant.
#[derive(Clone)]
pub(crate) struct Suite {
    pub(crate) name: String,
    program: PathBuf,
    folder: PathBuf,
    /// The crates in it: it cannot catch a mutant of another.
    holds: HashSet<String>,
    cases: Option<&'static str>,
    takes: Duration,
}

/// How a mutant came through.
pub(crate) enum Fate {
    Caught(String),
    TimedOut(String),
    Missed,
}

/// The programs of tests that know the pure crates, the quick ones first. What takes longer than `longest` is left out,
/// as is what fails without a mutant: both are told.
pub(crate) fn suites(tree: &Tree, longest: Duration, skip: &[String]) -> Done<Vec<Suite>> {
    let mut build = tree.cargo("test");
    build.arg("--no-run");
    for package in PURE.iter().chain(&["machine-host", "machine-testkit", "machine-tests"]) {
        build.args(["--package", package]);
    }
    let out = build.stderr(Stdio::inherit()).output()?;
    let metadata = tree.metadata()?;
    let mut suites = Vec::new();
    for message in Message::parse_stream(&*out.stdout) {
        let Message::CompilerArtifact(artifact) = message? else { continue };
        let (Some(program), true) = (artifact.executable, artifact.profile.test) else { continue };
        let Some(folder) = artifact.manifest_path.parent() else { continue };
        let crate_name = folder.file_name().unwrap_or_default();
        suites.push(Suite {
            name: format!("{crate_name} {}", artifact.target.name),
            program: program.into_std_path_buf(),
            folder: folder.to_owned().into_std_path_buf(),
            holds: below(&metadata, &artifact.package_id),
            cases: None,
            takes: longest,
        });
    }
    if !out.status.success() || suites.is_empty() {
        return Err("the tests do not build with all mutants in".into());
    }
    let walks: Vec<Suite> =
        suites.iter().filter(|suite| suite.name.ends_with(" walks")).map(Suite::quick).collect();
    suites.extend(walks);
    suites.retain(|suite| !skip.contains(&suite.name));
    for suite in suites.iter_mut() {
        let began = Instant::now();
        let fate = suite.play(0, longest)?;
        suite.takes = began.elapsed();
        if let Some(fate) = fate {
            let why =
                if matches!(fate, Fate::TimedOut(_)) { "takes too long" } else { "fails without a mutant" };
            eprintln!("left out, {why}: {}", suite.name);
            suite.takes = longest;
        }
    }
    suites.retain(|suite| suite.takes < longest);
    suites.sort_by_key(|suite| suite.takes);
    for suite in &suites {
        eprintln!("{:>6} ms {}", suite.takes.as_millis(), suite.name);
    }
    Ok(suites)
}

impl Suite {
    fn quick(&self) -> Self {
        Self { name: format!("{}, few", self.name), cases: Some(FEW), ..self.clone() }
    }

    /// Plays the tests while this mutant lives; none: it came through.
    fn play(&self, id: Id, longest: Duration) -> Done<Option<Fate>> {
        let mut command = Command::new("sh");
        command.args(["-c", r#"ulimit -v "$1"; exec "$0""#]).arg(&self.program).arg(MEMORY);
        command
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .env("MUTANT", id.to_string());
        command.env("PROPTEST_MAX_SHRINK_ITERS", "0").stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(cases) = self.cases {
            command.env("PROPTEST_CASES", cases);
        }
        let mut child = command.spawn()?;
        let ended = child.wait_timeout(longest)?;
        if ended.is_none() {
            child.kill()?;
            child.wait()?;
        }
        Ok(match ended {
            Some(status) if status.success() => None,
            Some(_) => Some(Fate::Caught(self.name.clone())),
            None => Some(Fate::TimedOut(self.name.clone())),
        })
    }
}

/// A package of ours and all of ours that its tests are built from.
fn below(metadata: &Metadata, package: &PackageId) -> HashSet<String> {
    let ours = metadata.workspace_packages();
    let mut held = HashSet::new();
    let mut open: Vec<_> = ours.iter().filter(|one| one.id == *package).collect();
    while let Some(next) = open.pop() {
        if held.insert(next.name.to_string()) {
            let needs = |one: &&&Package| next.dependencies.iter().any(|needed| *one.name == *needed.name);
            open.extend(ours.iter().filter(needs));
        }
    }
    held
}

/// One mutant against all suites that hold its crate, until one of them catches it: `first` the one that caught its
/// neighbour.
pub(crate) fn fate(suites: &[Suite], id: Id, package: &str, first: Option<&str>) -> Done<Fate> {
    let (neighbours, others): (Vec<&Suite>, Vec<&Suite>) = suites
        .iter()
        .filter(|suite| suite.holds.contains(package))
        .partition(|suite| Some(&*suite.name) == first);
    for suite in neighbours.into_iter().chain(others) {
        let (times, beside) = PATIENCE;
        if let Some(fate) = suite.play(id, suite.takes * times + beside)? {
            return Ok(fate);
        }
    }
    Ok(Fate::Missed)
}
