//! `docs/contracts.md` is true: every rule has its row, and every proof that a row names exists and says what it proves.
//! Whoever adds a rule adds its row, a proof that names its id, and counts it in `LAST`.
#![allow(clippy::panic, reason = "a test may also fail in a helper")]
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use machine_testkit::scenario::Scenario;

#[path = "contracts/proofs.rs"]
mod proofs;
use proofs::{Proofs, ROOT, RULES};

/// The number of the last rule of each letter, in the page's order.
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

/// Faults of real loops: `S01` to this one.
const LAST_FAULT: u32 = 86;

/// Faults that a scenario file cannot tell: a fork, a journal that fails or is damaged, random scripts.
const UNTOLD: [&str; 6] = ["S07", "S08", "S79", "S80", "S81", "S82"];

struct Row {
    id: String,
    proofs: Vec<String>,
}

fn page() -> String {
    std::fs::read_to_string(Path::new(ROOT).join(RULES)).expect("docs/contracts.md")
}

/// The rows of the tables: `| id | rule | proof |`.
fn rows() -> Vec<Row> {
    let page = page();
    let cells = page.lines().filter(|line| line.starts_with("| ")).map(|line| {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [id, rule, proof] = cells[..] else {
            panic!("{RULES}: not three cells, `id | rule | proof`: {line}")
        };
        assert!(!rule.is_empty(), "{RULES}: {id} does not say its rule");
        (id.to_owned(), proof.to_owned())
    });
    let cells = cells.filter(|(id, _)| id != "id");
    cells.map(|(id, proof)| Row { proofs: named(&id, &proof), id }).collect()
}

/// The proofs of a cell: names in backticks with commas between, or `–`.
fn named(id: &str, cell: &str) -> Vec<String> {
    if cell == "–" {
        return Vec::new();
    }
    let quoted = cell.split(", ").map(|name| {
        let name = name.strip_prefix('`').and_then(|name| name.strip_suffix('`'));
        name.unwrap_or_else(|| {
            panic!("{RULES}: the proof of {id} must be names in backticks with `, ` between, or `–`: {cell}")
        })
    });
    quoted.map(str::to_owned).collect()
}

fn check(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn every_rule_has_one_row() {
    let mut expected =
        LAST.iter().flat_map(|(letter, last)| (1..=*last).map(move |number| format!("{letter}{number:02}")));
    for row in rows() {
        let next = expected.next().unwrap_or_else(|| {
            panic!(
                "{RULES}: {} comes after the last rule: count it in `LAST` of tests/tests/contracts.rs",
                row.id
            )
        });
        assert_eq!(
            row.id, next,
            "{RULES}: the row `{}` stands where {next} belongs. Ids of a letter run from 01 without gaps, letters in \
             the order of `LAST` in tests/tests/contracts.rs; a new rule is added at the end and counted there",
            row.id
        );
    }
    assert_eq!(expected.next(), None, "{RULES}: this rule has no row: write it as `| id | rule | proof |`");
}

#[test]
fn every_rule_is_proved() {
    let proofs = Proofs::read();
    let mut faults = Vec::new();
    for Row { id, proofs: named } in rows() {
        if named.is_empty() {
            faults.push(format!(
                "{RULES}: {id} has no proof. Write a test `c_{}_…` that fails when the rule is broken (or a scenario \
                 with {id} under `proves`) and name it",
                id.to_lowercase()
            ));
        }
        faults.extend(named.iter().filter_map(|name| proofs.fault(&id, name)));
    }
    check(&faults);
}

#[test]
fn every_test_and_scenario_names_rules_of_the_page() {
    let ids: BTreeSet<_> = rows().into_iter().map(|row| row.id).collect();
    let proofs = Proofs::read();
    let mut faults = Vec::new();
    for (place, id) in proofs.claims() {
        let fault = match id.strip_prefix('S').map(|number| number.parse::<u32>().unwrap_or(0)) {
            Some(number) if (1..=LAST_FAULT).contains(&number) && id.len() == 3 => continue,
            Some(_) => format!("{place} names {id}: faults are S01 to S{LAST_FAULT}"),
            None if ids.contains(&id) => continue,
            None => {
                format!("{place} names {id}, which {RULES} does not have: correct the name, or write its row")
            }
        };
        faults.push(fault);
    }
    let idle = proofs.scenarios.iter().filter(|(_, proves)| proves.is_empty());
    faults
        .extend(idle.map(|(path, _)| format!("{path} proves nothing: name rules or faults under `proves`")));
    check(&faults);
}

#[test]
fn every_fault_of_real_loops_has_its_scenario() {
    let told: BTreeSet<_> = Proofs::read().scenarios.into_values().flatten().collect();
    let expected = (1..=LAST_FAULT).map(|number| format!("S{number:02}"));
    let faults: Vec<_> = expected
        .filter(|id| !told.contains(id) && !UNTOLD.contains(&id.as_str()))
        .map(|id| format!("{id} stands under `proves` of no file in tests/scenarios: tell it there"))
        .collect();
    check(&faults);
}

#[test]
fn proofs_that_are_none_are_told() {
    let source = "/// C01.\n#[test]\nfn other() {\n    // C02\n    assert!(true, \"C03: x\");\n}\n\nfn c_c04_helper() {}\n";
    let mut tests = BTreeMap::new();
    proofs::read_source("x.rs", source, &mut tests);
    let proofs = Proofs {
        tests,
        scenarios: BTreeMap::from([("tests/scenarios/S01.yaml".into(), vec!["S01".into()])]),
    };
    for id in ["C01", "C02", "C03"] {
        assert_eq!(proofs.fault(id, "x.rs::other"), None);
    }
    let told = |id, name: &str, says: &str| {
        let fault = proofs.fault(id, name).expect("a fault");
        assert!(fault.contains(says), "{fault}");
    };
    told("C05", "x.rs::other", "does not mention C05");
    told("C04", "x.rs::c_c04_helper", "no such test");
    told("C01", "tests/scenarios/S01.yaml", "not under `proves`");
    told("C01", "tests/scenarios/S02.yaml", "no such scenario");
}

/// What a scenario proves.
fn proves(path: &Path) -> Vec<String> {
    Scenario::load(path).unwrap_or_else(|error| panic!("{error}")).file.proves
}
