//! docs/contracts.md is true: every rule has a proof that is there and names the rule, and every rule that a test or a
//! scenario names is on the page.
#![expect(clippy::panic, reason = "a test may also fail in a helper")]
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Each letter with its last rule. Who adds a rule raises the number here and adds its row to the page.
const LAST: [(char, u32); 11] = [
    ('V', 16),
    ('A', 25),
    ('T', 22),
    ('M', 14),
    ('U', 4),
    ('C', 16),
    ('B', 11),
    ('X', 12),
    ('E', 8),
    ('J', 11),
    ('H', 9),
];

/// Faults that need a crash, an opening, a fork or a journal that fails, or that are a property: no file is theirs.
const WITHOUT_A_FILE: [u32; 10] = [4, 5, 7, 8, 46, 79, 80, 81, 82, 84];

struct Row {
    id: String,
    rule: String,
    proofs: Vec<String>,
}

fn read(path: impl AsRef<Path>) -> String {
    let path = Path::new(ROOT).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn rows() -> Vec<Row> {
    let page = read("docs/contracts.md");
    let cells = |line: &str| {
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    };
    let is_row = |cells: &Vec<String>| cells.len() == 3 && is_id(&cells[0]);
    let rows = page.lines().filter(|line| line.starts_with("| ")).map(cells).filter(is_row);
    rows.map(|cells| Row {
        id: cells[0].clone(),
        rule: cells[1].clone(),
        proofs: cells[2].split('`').skip(1).step_by(2).map(str::to_owned).collect(),
    })
    .collect()
}

fn is_id(text: &str) -> bool {
    let mut chars = text.chars();
    let letter = chars.next().is_some_and(|c| LAST.iter().any(|(letter, _)| *letter == c));
    letter && chars.as_str().len() == 2 && chars.all(|c| c.is_ascii_digit())
}

fn expected() -> Vec<String> {
    LAST.iter().flat_map(|(letter, last)| (1..=*last).map(move |n| format!("{letter}{n:02}"))).collect()
}

/// Every Rust file of the workspace, by its path from the root.
fn sources() -> BTreeMap<String, String> {
    fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
                walk(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    ["crates", "tests"].iter().for_each(|dir| walk(&Path::new(ROOT).join(dir), &mut found));
    let named = |path: PathBuf| {
        let name = path.strip_prefix(ROOT).expect("below the root").display().to_string();
        (name.clone(), read(name))
    };
    found.into_iter().map(named).collect()
}

/// What each scenario proves, by its path from the root.
fn scenarios() -> BTreeMap<String, Vec<String>> {
    let files = fs::read_dir(Path::new(ROOT).join("tests/scenarios")).expect("the scenarios");
    let proves = |name: String| {
        let text = read(&name);
        let line = text.lines().find_map(|line| line.strip_prefix("proves: [")).unwrap_or_default();
        let ids =
            line.trim_end_matches(']').split(',').map(|id| id.trim().to_owned()).filter(|id| !id.is_empty());
        (name, ids.collect())
    };
    files
        .map(|file| format!("tests/scenarios/{}", file.expect("a file").file_name().display()))
        .map(proves)
        .collect()
}

/// The text of a test function, with the lines directly above it.
fn function<'s>(source: &'s str, name: &str) -> Option<&'s str> {
    let at = source.find(&format!("fn {name}("))?;
    let end = source[at..]
        .find("\n}\n")
        .or_else(|| source[at..].find("\n    }\n"))
        .map_or(source.len(), |n| at + n);
    let above = source[..at].rfind("\n\n").unwrap_or(0);
    Some(&source[above..end])
}

#[test]
fn the_page_has_every_rule_once_and_in_order() {
    let ids: Vec<_> = rows().into_iter().map(|row| row.id).collect();
    assert_eq!(ids, expected(), "docs/contracts.md: a row is missing, comes twice, or is not in order");
    for row in rows() {
        assert!(row.rule.len() > 10, "{} says nothing", row.id);
    }
}

#[test]
fn every_rule_has_a_proof_that_names_it() {
    let (sources, scenarios) = (sources(), scenarios());
    let mut wrong = Vec::new();
    for Row { id, proofs, .. } in rows() {
        if proofs.is_empty() && !id.starts_with('J') && id != "H06" {
            wrong.push(format!("{id} has no proof: write a test `c_{}_…` or a scenario", id.to_lowercase()));
        }
        for proof in &proofs {
            let named = match proof.split_once("::") {
                None => scenarios.get(proof).map(|proves| proves.contains(&id)),
                Some((file, name)) => sources
                    .get(file)
                    .and_then(|source| function(source, name))
                    .map(|text| text.contains(&id) || name.split('_').any(|word| word == id.to_lowercase())),
            };
            match named {
                None => wrong.push(format!("{id}: `{proof}` is not there")),
                Some(false) => wrong.push(format!("{id}: `{proof}` does not name {id}: is it the proof?")),
                Some(true) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "docs/contracts.md:\n{}", wrong.join("\n"));
}

#[test]
fn what_tests_and_scenarios_prove_is_on_the_page() {
    let known: BTreeSet<_> = expected().into_iter().collect();
    let mut wrong = Vec::new();
    for (file, source) in sources() {
        let names = source.split("fn ").skip(1).filter_map(|rest| rest.split('(').next());
        for name in names.filter(|name| name.starts_with("c_")) {
            let id = name.split('_').nth(1).unwrap_or_default().to_uppercase();
            if is_id(&id) && !known.contains(&id) {
                wrong.push(format!("{file}::{name}: there is no rule {id}"));
            }
        }
    }
    for (file, ids) in scenarios() {
        if ids.is_empty() {
            wrong.push(format!("{file} proves nothing"));
        }
        let fault = |id: &str| {
            id.strip_prefix('S').and_then(|n| n.parse().ok()).is_some_and(|n| (1..=86).contains(&n))
        };
        for id in ids.iter().filter(|id| !known.contains(*id) && !fault(id)) {
            wrong.push(format!("{file}: there is no rule and no fault {id}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_fault_has_a_scenario() {
    let proved: BTreeSet<String> = scenarios().into_values().flatten().collect();
    let without: Vec<_> = (1..=86)
        .filter(|n| !WITHOUT_A_FILE.contains(n))
        .map(|n| format!("S{n:02}"))
        .filter(|id| !proved.contains(id))
        .collect();
    assert!(without.is_empty(), "no scenario proves {}", without.join(", "));
}
