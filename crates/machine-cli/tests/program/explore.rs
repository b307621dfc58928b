//! `explore`: every way through a machine.
use crate::running::program;

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
    program(&["explore", "turn", "--calls", "many"]).refuses("invalid value 'many'");
    program(&["explore", "agent", "--jobs", "0"]).refuses("--jobs");
}
