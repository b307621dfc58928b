//! Every scenario of this project passes on both drivers, and the page about the format is true.
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use machine_testkit::scenario::Scenario;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(Path::new(ROOT).join("tests/scenarios")).expect("the scenarios");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    files.sort();
    files
}

/// Empty: it passed.
fn played(scenario: &Scenario) -> String {
    match scenario.run() {
        Ok(verdict) if verdict.passed() => String::new(),
        Ok(verdict) => format!("{}\n{verdict}", scenario.path.display()),
        Err(fault) => format!("{}: {fault}\n", scenario.path.display()),
    }
}

#[test]
fn every_scenario_passes_on_the_simulator_and_on_the_host() {
    let files = files();
    assert!(files.len() > 100, "only {} scenarios", files.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut failed = String::new();
        while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            failed += &match Scenario::load(path) {
                Ok(scenario) => played(&scenario),
                Err(error) => format!("{error}\n"),
            };
        }
        failed
    };
    let failed: String = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().expect("a worker")).collect()
    });
    assert!(failed.is_empty(), "{failed}");
}

/// The YAML blocks of docs/scenarios.md, in order.
fn examples() -> Vec<String> {
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/scenarios.md")).expect("docs/scenarios.md");
    let blocks = page.split("```yaml\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_examples_of_the_page_pass() {
    for (n, example) in (1..).zip(examples()) {
        let scenario =
            Scenario::parse(Path::new(&format!("example {n}")), &example).expect("an example is sound");
        let failed = played(&scenario);
        assert!(failed.is_empty(), "{failed}");
    }
}

/// Where a key that is unknown is put, so that the error names those that are known there.
const PLACES: [&str; 27] = [
    "title: x\nexpect: {}\nUNKNOWN: 1",
    "title: x\nexpect: {UNKNOWN: 1}",
    "title: x\nexpect: {sent: [{UNKNOWN: 1}]}",
    "title: x\nexpect: {states: [{UNKNOWN: 1}]}",
    "title: x\nexpect: {usage: {UNKNOWN: 1}}",
    "title: x\nmodel: [{UNKNOWN: 1}]\nexpect: {}",
    "title: x\nmodel: [{pieces: [{UNKNOWN: 1}]}]\nexpect: {}",
    "title: x\nmodel: [{fail: {UNKNOWN: 1}}]\nexpect: {}",
    "title: x\nmodel: [{usage: {UNKNOWN: 1}}]\nexpect: {}",
    "title: x\ncalls: {a: {UNKNOWN: 1}}\nexpect: {}",
    "title: x\ncalls: {a: {progress: [{UNKNOWN: 1}]}}\nexpect: {}",
    "title: x\ncalls: {a: {reports_again: {UNKNOWN: 1}}}\nexpect: {}",
    "title: x\ncalls: {a: {ends: {agent: {UNKNOWN: 1}}}}\nexpect: {}",
    "title: x\ncalls: {a: {finalize: {UNKNOWN: 1}}}\nexpect: {}",
    "title: x\nhooks: {UNKNOWN: 1}\nexpect: {}",
    "title: x\nhooks: {gate: [{UNKNOWN: 1}]}\nexpect: {}",
    "title: x\nhooks: {gate: [{says: {proceed: {UNKNOWN: 1}}}]}\nexpect: {}",
    "title: x\nhooks: {gate: [{edits: [{fold: {UNKNOWN: 1}}]}]}\nexpect: {}",
    "title: x\nhooks: {recover: [{says: {retry: {UNKNOWN: 1}}}]}\nexpect: {}",
    "title: x\nagents: {a: {UNKNOWN: 1}}\nexpect: {}",
    "title: x\ntimeline: [{UNKNOWN: 1}]\nexpect: {}",
    "title: x\ntimeline: [{at: 0, do: {submit: {UNKNOWN: 1}}}]\nexpect: {}",
    "title: x\ntimeline: [{at: 0, do: {remind: {UNKNOWN: 1}}}]\nexpect: {}",
    "title: x\ntimeline: [{at: 0, do: {cancel: {UNKNOWN: 1}}}]\nexpect: {}",
    "title: x\ntimeline: [{at: 0, do: {abort: {UNKNOWN: 1}}}]\nexpect: {}",
    "title: x\ntimeline: [{at: 0, do: {UNKNOWN: 1}}]\nexpect: {}",
    "title: x\ncalls: {a: {prepare: {UNKNOWN: 1}}}\nexpect: {}",
];

#[test]
fn the_page_has_every_key() {
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/scenarios.md")).expect("docs/scenarios.md");
    let words: std::collections::BTreeSet<&str> =
        page.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).collect();
    for place in PLACES {
        let error = Scenario::parse(Path::new("x"), place).expect_err("an unknown key").to_string();
        let (_, known) = error.split_once("expected one of ").unwrap_or_else(|| panic!("{place}: {error}"));
        for key in known.split(", ") {
            assert!(words.contains(key), "docs/scenarios.md does not have `{key}`: {error}");
        }
    }
}
