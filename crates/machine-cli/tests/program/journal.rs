//! `run --journal`: a session goes on, survives being killed at any moment, and is one program's at a time.
use std::fs;

use rustix::process::Signal;

use crate::json::Stream;
use crate::running::{Running, World, is_gone, wait};

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

/// A program whose command runs.
fn with_a_command() -> (World, String, Running) {
    let world = World::new();
    let model = world.script("- calls:\n    - {tool: shell, args: {command: \"touch here; sleep 300\"}}\n");
    let journal = world.dir().join("../session.jsonl").to_str().expect("UTF-8").to_owned();
    let running = world.start(&["go", "--model", &model, "--approve", "all", "--journal", &journal]);
    wait(|| world.dir().join("here").exists(), || "the command".to_owned());
    (world, journal, running)
}

#[test]
fn it_is_one_programs_at_a_time() {
    let (world, journal, running) = with_a_command();
    let model = world.script(SAYS);
    let second = world.run(&["go", "--model", &model, "--journal", &journal]);
    assert!(second.ended(2).err.contains("session.jsonl is open in process "), "{}", second.err);
    running.signal(Signal::INT);
    running.end().ended(130);
}

#[test]
fn a_call_that_was_lost_is_named() {
    let (world, journal, running) = with_a_command();
    running.signal(Signal::KILL);
    running.end();
    let model = world.script(SAYS);
    let second = world.run(&["and now", "--model", &model, "--journal", &journal]);
    assert!(second.ended(0).out.contains("unknown shell touch here"), "{}", second.out);
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

/// Starts a command that says who it is, and goes on for long.
const LONG: &str = "- calls:\n    - {tool: shell, args: {command: \"sleep 300 & echo $$ $! > pids.new; mv pids.new pids; sleep 300\"}}\n";

#[test]
fn a_program_that_is_killed_takes_its_commands_with_it() {
    let world = World::new();
    let model = world.script(LONG);
    let running = world.start(&["go", "--model", &model, "--approve", "all"]);
    wait(|| world.dir().join("pids").exists(), || "the command".to_owned());
    running.signal(Signal::KILL);
    running.end();
    for pid in world.text("pids").split_whitespace() {
        is_gone(pid);
    }
}

/// A session whose only call waits for a person, who was asked twice: the program was killed both times.
fn waits_to_be_allowed(world: &World, journal: &str) {
    let script = "- calls:\n    - {tool: shell, args: {command: echo once >> effects}}\n- text: never\n";
    for _ in 0..2 {
        let running =
            world.start_at_terminal(&["go", "--model", &world.script(script), "--journal", journal]);
        running.sees("allow? ");
        running.signal(Signal::KILL);
        running.end();
    }
}

#[test]
fn c_j05_a_person_is_asked_again_about_what_waited() {
    let world = World::new();
    let journal = world.dir().join("../session.jsonl");
    let journal = journal.to_str().expect("UTF-8");
    waits_to_be_allowed(&world, journal);
    let model = world.script(&SAYS.repeat(3));
    let mut running = world.start_at_terminal(&["and now", "--model", &model, "--journal", journal]);
    running.sees("allow? ");
    running.say("y");
    running.end().ended(0).says("shell echo once");
    assert_eq!(world.text("effects"), "once\n");
}

#[test]
fn what_waited_is_allowed_or_denied_as_a_later_run_says() {
    for (policy, status, effects) in [("all", "ok", "once\n"), ("none", "denied", "")] {
        let world = World::new();
        let journal = world.dir().join("../session.jsonl");
        let journal = journal.to_str().expect("UTF-8");
        waits_to_be_allowed(&world, journal);
        let model = world.script(&SAYS.repeat(3));
        let ran =
            world.run(&["and now", "--model", &model, "--journal", journal, "--approve", policy, "--json"]);
        let stream = Stream(ran.ended(0).events());
        let settled: Vec<_> = stream.all("call_settled").map(|event| &event["outcome"]["status"]).collect();
        assert_eq!(settled, [status]);
        assert_eq!(fs::read_to_string(world.dir().join("effects")).unwrap_or_default(), effects);
    }
}
