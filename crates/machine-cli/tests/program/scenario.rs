//! `scenario`: plays scenario files.
use std::fs;
use std::os::unix::fs::symlink;

use crate::running::{World, program};

const GOOD: &str = "title: An answer
model: [{text: hello}]
timeline: [{at: 0, do: {submit: go}}]
expect:
  history: [user go, model hello]
  ends: [completed]
";

fn wrong() -> String {
    GOOD.replace("model hello]", "model bye]").replace("[completed]", "[paused]")
}

#[test]
fn one_line_each_and_the_sum() {
    let world = World::with(&[("b.yaml", GOOD), ("a.yml", GOOD), ("in/c.yaml", GOOD), ("notes.txt", "none")]);
    let dir = world.dir().display().to_string();
    let ran = program(&["scenario", &dir]);
    let names: Vec<_> = ran.ended(0).out.lines().map(|line| line.replace(&format!("{dir}/"), "")).collect();
    assert_eq!(
        names,
        ["ok     a.yml", "ok     b.yaml", "ok     in/c.yaml", "3 passed, 0 failed"],
        "{names:?}"
    );
}

#[test]
fn a_failure_shows_what_was_expected_what_came_and_the_trace() {
    let world = World::with(&[("good.yaml", GOOD), ("wrong.yaml", &wrong())]);
    let ran = program(&["scenario", &world.dir().display().to_string()]);
    ran.ended(1);
    for part in [
        "  line 5: history\n    expected\n      user go\n      model bye\n    came\n      user go\n      model hello\n",
        "  line 6: ends\n    expected paused\n    came     completed\n",
        "    @0 in     Submit\n    @0 move   agent: Open/Idle/Ready --Submit--> Open/Running/Active\n",
        "    @0 ask    #1 Attempt 1.1.1\n",
        "    @1 event  turn_ended 1 completed\n",
    ] {
        assert!(ran.out.contains(part), "{}\nwithout\n{part}", ran.out);
    }
    assert!(ran.out.ends_with("1 passed, 1 failed\n"), "{}", ran.out);
}

#[test]
fn the_trace_of_one_that_passes_is_shown_on_demand() {
    let world = World::with(&[("good.yaml", GOOD)]);
    let file = world.dir().join("good.yaml").display().to_string();
    assert!(!program(&["scenario", &file]).ended(0).out.contains("@0"));
    let ran = program(&["scenario", "--trace", &file]);
    assert!(ran.ended(0).out.contains("    @0 event  turn_started 1 go\n"), "{}", ran.out);
}

#[test]
fn blessing_tells_every_line_that_it_changes_and_is_no_success() {
    let world = World::with(&[("wrong.yaml", &wrong())]);
    let file = world.dir().join("wrong.yaml");
    let ran = program(&["scenario", "--bless", &file.display().to_string()]);
    for part in [
        "-  history: [user go, model bye]",
        "+  history: [user go, model hello]",
        "-  ends: [paused]",
        "+  ends: [completed]",
    ] {
        assert!(ran.ended(1).out.contains(part), "{}\nwithout\n{part}", ran.out);
    }
    assert_eq!(fs::read_to_string(&file).expect("the file"), GOOD);
    let again = program(&["scenario", "--bless", &file.display().to_string()]);
    assert!(again.ended(0).out.ends_with("1 passed, 0 failed\n"), "{}", again.out);
}

#[test]
fn a_file_that_is_no_scenario_says_where() {
    let world = World::with(&[("bad.yaml", "title: x\nmodl: []\nexpect: {}\n")]);
    let file = world.dir().join("bad.yaml").display().to_string();
    let ran = program(&["scenario", &file]);
    let right = format!("FAILED {file}\n  {file}:2:1: unknown field `modl`, expected one of title, ");
    assert!(ran.ended(1).out.starts_with(&right), "{}", ran.out);
    assert!(ran.out.ends_with("0 passed, 1 failed\n"), "{}", ran.out);
}

#[test]
fn nothing_to_play_is_bad_usage() {
    let world = World::with(&[("notes.txt", "none")]);
    let dir = world.dir().display().to_string();
    let nothing = program(&["scenario", &dir]);
    assert!(nothing.ended(2).err.contains("no `.yaml` file in it"), "{}", nothing.err);
    let missing = program(&["scenario", &world.dir().join("nosuch").display().to_string()]);
    assert_eq!(missing.ended(2).err.lines().count(), 1, "{}", missing.err);
    assert_eq!(program(&["scenario"]).ended(2).err.lines().count(), 1);
}

#[test]
fn each_directory_is_looked_through_once_however_deep_and_wherever_links_lead() {
    let deep = "in/".repeat(40) + "deep.yaml";
    let world = World::with(&[("a.yaml", GOOD), (&deep, GOOD)]);
    for link in ["up", "in/up", "in/top"] {
        symlink(world.dir(), world.dir().join(link)).expect("a link");
    }
    let ran = program(&["scenario", &world.dir().display().to_string()]);
    assert!(ran.ended(0).out.ends_with("\n2 passed, 0 failed\n"), "{}", ran.out);
}

#[test]
fn a_file_without_an_end_is_too_large() {
    let ran = program(&["scenario", "/dev/zero"]);
    assert!(ran.ended(1).out.contains("/dev/zero: larger than "), "{}", ran.out);
}

#[test]
fn nothing_in_a_scenario_steers_the_terminal() {
    let world = World::with(&[("red.yaml", &GOOD.replace("text: hello", r#"text: "\e[31mhello""#))]);
    let ran = program(&["scenario", &world.dir().display().to_string()]);
    assert!(ran.ended(1).out.contains("[31mhello") && !ran.out.contains('\u{1b}'), "{}", ran.out);
}
