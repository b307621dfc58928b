//! `run --journal`: a session goes on, survives being killed at any moment, and is one program's at a time.
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::running::{World, program, wait};

const SAYS: &str = "- text: Hello.\n";

#[test]
fn a_session_goes_on_where_it_was() {
    let world = World::new();
    let (model, journal) = (world.script(SAYS), world.dir().join("../session.jsonl"));
    let journal = journal.to_str().expect("UTF-8");
    let first = world.run(&["one", "--model", &model, "--journal", journal, "--json"]);
    assert_eq!(first.ended(0).err, "");
    let second = world.run(&["two", "--model", &model, "--journal", journal, "--json"]);
    assert_eq!(second.ended(0).err, "agent-machine: goes on with a session of 2 entries\n");
    let committed: Vec<_> = second.out.lines().filter(|line| line.contains("\"committed\"")).collect();
    assert_eq!(committed.len(), 2, "what was said before is not said again: {committed:?}");
    assert!(committed[0].contains("\"at\":2"), "{committed:?}");
}

#[test]
fn it_is_one_programs_at_a_time() {
    let world = World::new();
    let model = world.script("- calls:\n    - {tool: shell, args: {command: \"touch here; sleep 300\"}}\n");
    let journal = world.dir().join("../session.jsonl");
    let journal = journal.to_str().expect("UTF-8");
    let running = world.start(&["go", "--model", &model, "--approve", "all", "--journal", journal]);
    wait(|| world.dir().join("here").exists(), || "the command".to_owned());
    let second = world.run(&["go", "--model", &model, "--journal", journal]);
    assert!(second.ended(2).err.contains("session.jsonl is open in process "), "{}", second.err);
    running.signal(Signal::INT);
    running.end().ended(130);
}

#[test]
fn a_damaged_journal_is_refused_and_left_alone() {
    let world = World::new();
    let (model, journal) = (world.script(SAYS), world.dir().join("../session.jsonl"));
    let name = journal.to_str().expect("UTF-8");
    world.run(&["one", "--model", &model, "--journal", name]).ended(0);
    let mut bytes = fs::read(&journal).expect("the journal");
    bytes[40] = b'#';
    fs::write(&journal, &bytes).expect("damage");
    let ran = world.run(&["two", "--model", &model, "--journal", name]);
    assert!(ran.ended(2).err.contains("line 1 (byte 0) is damaged"), "{}", ran.err);
    assert_eq!(fs::read(&journal).expect("the journal"), bytes);
}

/// Four steps of two commands each; every command leaves a line of its own.
fn effects(run: u32) -> String {
    let command = |step: u32, n: u32| {
        format!(
            "    - {{tool: shell, args: {{command: \"echo {run}-{step}-{n} >> effects; sleep 0.02\"}}}}\n"
        )
    };
    let step = |step| format!("- calls:\n{}{}", command(step, 0), command(step, 1));
    (0..4).map(step).chain(["- text: Done.\n".to_owned()]).collect()
}

/// Ids of prompts that were acknowledged.
fn acknowledged(out: &str) -> BTreeSet<String> {
    let lines = out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let accepted = lines.filter(|line| line["receipt"] == "accepted");
    accepted.filter_map(|line| line["input"].as_str().map(str::to_owned)).collect()
}

fn effects_of(dir: &Path) -> Vec<String> {
    let text = fs::read_to_string(dir.join("effects")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// `KILLS=n` for a long run.
#[test]
fn killed_at_any_moment_nothing_runs_twice_and_nothing_acknowledged_is_lost() {
    let kills: u32 = std::env::var("KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(6);
    let world = World::new();
    let journal = world.dir().join("../session.jsonl");
    let name = journal.to_str().expect("UTF-8");
    let mut prompts = BTreeSet::new();
    for run in 0..kills {
        let model = world.script(&effects(run));
        let mut running =
            world.start(&["go", "--model", &model, "--approve", "all", "--journal", name, "--json"]);
        running.close();
        // Anywhere from before the first record to after the last.
        std::thread::sleep(Duration::from_millis(u64::from(run * 67 % 450)));
        running.signal(Signal::KILL);
        let ran = running.end();
        prompts.extend(acknowledged(&ran.out));
        let effects = effects_of(&world.dir());
        let once: BTreeSet<_> = effects.iter().collect();
        assert_eq!(once.len(), effects.len(), "a call ran twice: {effects:?}");
    }
    let model = world.script(SAYS);
    let last = world.run(&["go on", "--model", &model, "--journal", name, "--json"]);
    last.ended(0);
    let record = fs::read_to_string(&journal).expect("the journal");
    for prompt in prompts {
        assert!(record.contains(&prompt), "{prompt} was acknowledged and is lost");
    }
    // Every effect has its call in the record.
    for effect in effects_of(&world.dir()) {
        assert!(record.contains(&effect), "{effect} happened and has no call");
    }
    let again = world.run(&["once more", "--model", &model, "--journal", name]);
    again.ended(0);
    assert_eq!(program(&["run", "--journal"]).ended(2).err.lines().count(), 1);
}
