//! `explore`: every way through a machine.
use crate::running::{World, program};

fn clean(args: &[&str]) {
    program(&[&["explore"], args].concat()).ended(0).says(", 0 violations");
}

#[test]
fn the_machines_keep_the_rules() {
    clean(&[
        "call",
        "--abort",
        "--abort",
        "--cancel",
        "--timeout",
        "--approve",
        "--hooks",
        "--detach",
        "--crash",
    ]);
    clean(&["turn", "--calls", "1", "--retries", "1", "--hooks", "--abort", "--steer", "--detach"]);
    clean(&["agent", "--prompt", "--abort", "--steer", "--notify", "--pause", "--close"]);
    clean(&["engine", "--calls", "1", "--abort"]);
}

#[test]
fn a_flag_that_means_nothing_for_a_machine_is_ignored() {
    let states = |args: &[&str]| {
        let ran = program(&[&["explore"], args].concat());
        ran.ended(0);
        ran.out.split_whitespace().next().map(str::to_owned)
    };
    assert_eq!(
        states(&["call", "--abort"]),
        states(&["call", "--abort", "--calls", "3", "--close", "--exact"])
    );
    assert_ne!(states(&["call", "--abort"]), states(&["call", "--abort", "--cancel"]));
}

#[test]
fn what_is_explored_must_be_named() {
    program(&["explore"]).refuses("<WHAT>");
    program(&["explore", "frob"]).refuses("[possible values: engine, call, turn, agent]");
    program(&["explore", "call", "--frob"]).refuses("unexpected argument '--frob'");
    program(&["explore", "call", "--frob"]).refuses("see `agent-machine explore --help`");
    program(&["explore", "turn", "--calls", "many"]).refuses("invalid value 'many'");
    program(&["explore", "agent", "--jobs", "0"]).refuses("--jobs");
}

#[test]
fn numbers_at_their_ends_are_explored_or_refused() {
    let most = u32::MAX.to_string();
    for what in ["call", "turn", "agent", "engine"] {
        program(&["explore", what, "--calls", &most]).refuses("--calls");
        program(&["explore", what, "--states", "0"]).refuses("--states");
        let ran = program(&["explore", what, "--steps", &most, "--retries", &most, "--states", "20"]);
        ran.ended(0).says("0 violations");
    }
    clean(&["call", "--jobs", &usize::MAX.to_string()]);
}

#[test]
fn a_scenario_that_has_no_place_is_refused_before_the_exploration() {
    let world = World::with(&[("file", "")]);
    for (place, why) in [("", "directory"), ("nosuch/x.yaml", "No such file"), ("file/x.yaml", "directory")] {
        let path = world.dir().join(place).display().to_string();
        program(&["explore", "call", "--out", &path]).refuses(why);
    }
    let free = world.dir().join("free.yaml").display().to_string();
    clean(&["call", "--out", &free]);
    assert_eq!(world.files().len(), 1, "nothing was found, and nothing is written");
}
