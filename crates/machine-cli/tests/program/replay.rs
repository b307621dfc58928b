//! `replay` and `fork`: recorded sessions, looked at and begun again.
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::running::{Ran, World, program};

const SAYS: &str = "- calls:
    - {tool: shell, args: {command: \"echo one\"}}
    - {tool: shell, args: {command: \"echo two\"}}
- text: Done.
";

/// A session of one turn with a batch: prompt, calls, two results, an answer.
fn recorded() -> (World, PathBuf) {
    let world = World::new();
    let (model, journal) = (world.script(SAYS), world.dir().join("../session.jsonl"));
    let args = ["go", "--model", &model, "--approve", "all", "--journal", journal.to_str().expect("UTF-8")];
    world.run(&args).ended(0);
    (world, journal)
}

fn replay(journal: &std::path::Path, args: &[&str]) -> Ran {
    let file = journal.to_str().expect("UTF-8");
    program(&[&["replay", file], args].concat())
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.ended(0).out).expect("one line of JSON")
}

fn lines(journal: &PathBuf) -> Vec<String> {
    fs::read_to_string(journal).expect("the journal").lines().map(str::to_owned).collect()
}

#[test]
fn a_session_is_shown_and_verified_and_left_alone() {
    let (_world, journal) = recorded();
    let before = fs::read(&journal).expect("the journal");
    let ran = replay(&journal, &["--verify"]);
    let out = &ran.ended(0).out;
    assert!(out.contains("history  5 entries"), "{out}");
    assert!(out.contains("agent    Shut > Closed"), "{out}");
    assert!(out.ends_with("verified every record leads to what comes after it\n"), "{out}");
    assert_eq!(ran.err, "");
    let by_points = json(&replay(&journal, &["--json"]));
    let mut by_inputs = json(&replay(&journal, &["--json", "--verify"]));
    by_inputs["verified"] = false.into();
    assert_eq!(by_points, by_inputs, "from the last point and from the first record on");
    assert_eq!(fs::read(&journal).expect("the journal"), before);
}

#[test]
fn every_record_has_its_states() {
    let (_world, journal) = recorded();
    let records = lines(&journal).len();
    let mut seen = Vec::new();
    for until in 0..records {
        let shown = json(&replay(&journal, &["--json", "--verify", "--until", &until.to_string()]));
        assert_eq!(shown["record"], until);
        seen.push(shown["state"]["agent"].as_array().and_then(|path| path.last().cloned()).expect("a state"));
    }
    for state in ["Ready", "Active", "Closed"] {
        assert!(seen.iter().any(|leaf| leaf == state), "{state}: {seen:?}");
    }
    let state: Value = serde_json::from_str(&replay(&journal, &["--state", "--until", "2"]).ended(0).out)
        .expect("the state as JSON");
    assert!(state["waits"].as_array().is_some_and(|waits| !waits.is_empty()), "{state}");
    let ran = replay(&journal, &["--until", &records.to_string()]);
    assert!(ran.ended(2).err.contains(&format!("its records are 0 to {}", records - 1)), "{}", ran.err);
}

#[test]
fn the_first_record_that_does_not_follow_is_named() {
    let (world, journal) = recorded();
    // Another session's record, with sound checksums: written by the library.
    let mut recorded = machine_host::FileJournal::read(&journal).expect("records").records;
    let input = recorded
        .iter()
        .position(|record| matches!(record, machine_journal::Record::In { about: Some(_), .. }));
    recorded.remove(input.expect("an answer"));
    let foreign = world.dir().join("../foreign.jsonl");
    machine_host::FileJournal::create(&foreign, &recorded).expect("a file");
    let ran = replay(&foreign, &["--verify"]);
    assert!(ran.ended(1).err.contains(&format!("record {}: ", input.expect("an answer"))), "{}", ran.err);
    assert_eq!(ran.out, "");
}

#[test]
fn a_torn_end_is_told_and_a_file_that_is_none_is_refused() {
    let (world, journal) = recorded();
    let mut bytes = fs::read(&journal).expect("the journal");
    bytes.truncate(bytes.len() - 3);
    fs::write(&journal, &bytes).expect("a torn file");
    let ran = replay(&journal, &[]);
    assert!(
        ran.ended(0).err.contains("is not whole, and nothing after it says that it was durable"),
        "{}",
        ran.err
    );
    assert!(json(&replay(&journal, &["--json"]))["torn"]["bytes"].is_u64());
    let none = replay(&world.dir().join("none.jsonl"), &[]);
    assert!(none.ended(2).err.contains("none.jsonl"), "{}", none.err);
    let empty = world.dir().join("empty.jsonl");
    fs::write(&empty, "").expect("an empty file");
    assert!(replay(&empty, &[]).ended(2).err.contains("there is no record in it"));
}

#[test]
fn the_history_is_listed_as_a_fork_counts_it() {
    let (_world, journal) = recorded();
    let ran = replay(&journal, &["--history"]);
    let lines: Vec<_> = ran.ended(0).out.lines().collect();
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert!(lines[0].contains("0  user") && lines[0].ends_with("go"), "{lines:?}");
    assert!(lines[1].contains("assistant") && lines[1].contains("shell {"), "{lines:?}");
    assert!(lines[3].contains("3  tool") && lines[3].contains("two"), "{lines:?}");
}

#[test]
fn text_and_calls_of_an_answer_are_told_apart() {
    let world = World::new();
    let model = world.script(&SAYS.replacen("- calls", "- text: I look.\n  calls", 1));
    let journal = world.dir().join("../session.jsonl");
    let path = journal.to_str().expect("UTF-8");
    world.run(&["go", "--model", &model, "--approve", "all", "--journal", path]).ended(0);
    replay(&journal, &["--history"]).ended(0).says("I look. shell {");
}

/// What only the store's log has is not in the file.
#[test]
fn a_session_of_a_store_that_did_not_end_in_order_is_told() {
    let (world, journal) = recorded();
    fs::write(world.dir().join("../store.log.1"), "").expect("a log");
    assert!(replay(&journal, &[]).ended(0).err.contains("store.log.1: what this store has durable"));
}

#[test]
fn a_past_that_was_dropped_is_told() {
    let (world, journal) = recorded();
    let records = machine_host::FileJournal::read(&journal).expect("records").records;
    let thin = world.dir().join("../thin.jsonl");
    let kept = machine_journal::without_past(&records).expect("a session");
    machine_host::FileJournal::create(&thin, &kept).expect("a file");
    let ran = replay(&thin, &["--verify"]);
    assert!(ran.ended(0).out.contains("dropped  the records of "), "{}", ran.out);
    assert!(json(&replay(&thin, &["--json"]))["dropped"].as_u64().is_some_and(|n| n > 0));
}

#[test]
fn c_j08_a_fork_goes_on_and_its_parent_stays() {
    let (world, journal) = recorded();
    let before = fs::read(&journal).expect("the journal");
    let out = world.dir().join("../fork.jsonl");
    let (file, fork) = (journal.to_str().expect("UTF-8"), out.to_str().expect("UTF-8"));
    let ran = program(&["fork", file, "--at", "3", fork]);
    ran.ended(0);
    assert!(ran.err.contains("entry 3 is within a batch of calls"), "{}", ran.err);
    assert!(ran.err.contains("a session of 4 entries, branch "), "{}", ran.err);
    assert_eq!(json(&replay(&out, &["--json"]))["entries"], 4);
    let model = world.script("- text: Otherwise.\n");
    let went_on = world.run(&["and now", "--model", &model, "--journal", fork]);
    assert!(went_on.ended(0).err.contains("goes on with a session of 4 entries"), "{}", went_on.err);
    replay(&out, &["--verify"]).ended(0);
    assert_eq!(fs::read(&journal).expect("the journal"), before, "the parent is only read");
    // What is there is left alone, and what is not there cannot be forked.
    assert!(
        program(&["fork", file, "--at", "0", fork])
            .ended(2)
            .err
            .contains("fork.jsonl: is there already; a fork needs a file of its own")
    );
    let new = world.dir().join("../other.jsonl");
    let far = program(&["fork", file, "--at", "99", new.to_str().expect("UTF-8")]);
    assert!(far.ended(2).err.contains("0 to 5"), "{}", far.err);
    assert!(!new.exists());
}

#[test]
fn c_j08_a_fork_of_an_earlier_record() {
    let (world, journal) = recorded();
    let out = world.dir().join("../fork.jsonl");
    let (file, fork) = (journal.to_str().expect("UTF-8"), out.to_str().expect("UTF-8"));
    // After the first input only the prompt is there.
    program(&["fork", file, "--until", "1", "--at", "1", "--branch", "77", fork]).ended(0);
    let shown = json(&replay(&out, &["--json"]));
    assert_eq!((&shown["entries"], &shown["open"]), (&1.into(), &false.into()));
    assert!(fs::read_to_string(&out).expect("the fork").contains("\"branch\":77"));
    let same = program(&["fork", fork, "--at", "0", "--branch", "77", &format!("{fork}.2")]);
    assert!(same.ended(2).err.contains("branch 77 is in use"), "{}", same.err);
}
