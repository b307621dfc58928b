//! What there is to prove a rule with: the tests of the workspace, found in its sources, and the scenario files.
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
pub const RULES: &str = "docs/contracts.md";

/// Letters of rules, and of faults.
const LETTERS: &str = "VATMUCBXEJHS";

pub struct Proofs {
    /// By `path::name`, the ids that the test mentions.
    pub tests: BTreeMap<String, BTreeSet<String>>,
    /// By path, the ids under `proves`.
    pub scenarios: BTreeMap<String, Vec<String>>,
}

impl Proofs {
    /// Those of this workspace.
    pub fn read() -> Self {
        let (mut tests, mut scenarios) = (BTreeMap::new(), BTreeMap::new());
        for dir in ["crates", "tests", "examples"] {
            files(dir, &mut |path| {
                let whole = Path::new(ROOT).join(path);
                if path.ends_with(".rs") {
                    read_source(path, &fs::read_to_string(whole).expect("a source"), &mut tests);
                } else if path.starts_with("tests/scenarios/") && path.ends_with(".yaml") {
                    scenarios.insert(path.to_owned(), super::proves(&whole));
                }
            });
        }
        Self { tests, scenarios }
    }

    /// Why this does not prove the rule.
    pub fn fault(&self, id: &str, name: &str) -> Option<String> {
        let fault = if name.ends_with(".yaml") {
            match self.scenarios.get(name) {
                None => "there is no such scenario".to_owned(),
                Some(proves) if proves.iter().any(|proved| proved == id) => return None,
                Some(_) => format!("{id} is not under `proves` there"),
            }
        } else {
            match self.tests.get(name) {
                None => "there is no such test (it is written `path/from/the/root.rs::name`)".to_owned(),
                Some(ids) if ids.contains(id) => return None,
                Some(_) => format!(
                    "it does not mention {id}: in its name (`c_{}_…`), a comment above or in it, or an assertion's text",
                    id.to_lowercase()
                ),
            }
        };
        Some(format!("{RULES}: {id} names `{name}`, but {fault}"))
    }

    /// The ids in names of tests and under `proves`, with where they stand.
    pub fn claims(&self) -> Vec<(&str, String)> {
        let tests = self.tests.keys().flat_map(|test| {
            let name = test.rsplit("::").next().unwrap_or_default();
            named(name).into_iter().map(move |id| (test.as_str(), id))
        });
        let scenarios =
            self.scenarios.iter().flat_map(|(path, ids)| ids.iter().map(|id| (path.as_str(), id.clone())));
        tests.chain(scenarios).collect()
    }
}

/// Paths below a directory, from the root.
fn files(dir: &str, each: &mut impl FnMut(&str)) {
    for entry in
        fs::read_dir(Path::new(ROOT).join(dir)).expect("a directory").map(|entry| entry.expect("an entry"))
    {
        let path = format!("{dir}/{}", entry.file_name().to_str().expect("a name in Unicode"));
        if entry.path().is_dir() {
            files(&path, each);
        } else {
            each(&path);
        }
    }
}

/// The tests of a source, with what each mentions. A test begins with the comments and attributes above it and ends
/// with the brace at its depth, as `cargo fmt` writes it.
pub fn read_source(path: &str, source: &str, into: &mut BTreeMap<String, BTreeSet<String>>) {
    let lines: Vec<&str> = source.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let head = line.trim_start();
        let Some(rest) = head.strip_prefix("fn ").or_else(|| head.strip_prefix("async fn ")) else {
            continue;
        };
        let name = rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default();
        let above = lines[..at].iter().rev().take_while(|line| line.trim_start().starts_with(['/', '#']));
        let above: Vec<&str> = above.copied().collect();
        let is_test = |line: &&str| {
            let line = line.trim_start();
            line.starts_with("#[test]") || line.starts_with("#[tokio::test")
        };
        if !above.iter().any(is_test) {
            continue;
        }
        let close = format!("{}}}", &line[..line.len() - head.len()]);
        let inside = lines[at..].iter().take_while(|line| **line != close).copied();
        let mut ids: BTreeSet<String> = named(name).into_iter().collect();
        above.into_iter().chain(inside).for_each(|line| ids.extend(mentioned(line)));
        into.insert(format!("{path}::{name}"), ids);
    }
}

/// The ids in a test's name: `c_h04_s85_an_abort` has H04 and S85.
fn named(name: &str) -> Vec<String> {
    let ids = name.split('_').map(str::to_uppercase).filter(|word| is_id(word));
    ids.collect()
}

/// The ids in comments and texts of a line.
fn mentioned(line: &str) -> impl Iterator<Item = String> {
    let says = line.find("//").into_iter().chain(line.find('"')).min().map_or("", |from| &line[from..]);
    let words = says.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| is_id(word));
    words.map(str::to_owned)
}

/// A letter of ours and two digits.
fn is_id(word: &str) -> bool {
    let mut chars = word.chars();
    word.len() == 3
        && chars.next().is_some_and(|letter| LETTERS.contains(letter))
        && chars.all(|digit| digit.is_ascii_digit())
}
