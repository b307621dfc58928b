//! Signals: what runs is stopped in order, and nothing of it is left.
use rustix::process::Signal;

use crate::json::Stream;
use crate::running::{Ran, Running, World, is_gone, wait};

/// Says who it is and what it started, then sleeps.
const SLEEPS: &str = "sleep 300 & echo $$ $! > pids.new; mv pids.new pids; sleep 300";

/// The same, and it does not listen.
const DEAF: &str = "trap : INT TERM; sh -c 'trap : INT TERM; while :; do sleep 1; done' & \
                    echo $$ $! > pids.new; mv pids.new pids; while :; do sleep 1; done";

/// A run whose shell call is on its way.
fn sleeping(world: &World, command: &str) -> Running {
    let script = world.script(&format!(
        "- text: I wait.
  calls:
    - {{tool: list}}
    - tool: shell
      args: {{command: {command:?}}}
    - {{tool: read, args: {{path: pids}}}}
- text: never
"
    ));
    let mut running = world.start(&["go", "--model", &script, "--approve", "all", "--json"]);
    running.close();
    wait(|| world.dir().join("pids").exists(), || "the command".to_owned());
    running
}

/// Aborted, with a sound history, and without anything left.
#[track_caller]
fn is_over(world: &World, ran: &Ran) -> Stream {
    ran.ended(130);
    let pids = world.text("pids");
    assert_eq!(pids.split_whitespace().count(), 2);
    for pid in pids.split_whitespace() {
        is_gone(pid);
    }
    let stream = Stream::of(ran);
    stream.is_sound();
    assert!(stream.reason().get("aborted").is_some(), "{}", stream.reason());
    let status: Vec<_> =
        stream.all("committed").map(|e| &e["entry"]["message"]["outcome"]["status"]).collect();
    assert_eq!(status[2], "ok");
    assert_eq!(status[4], "not_started");
    stream
}

#[test]
fn an_interrupt_aborts_the_turn_and_ends_the_command() {
    let world = World::new();
    let running = sleeping(&world, SLEEPS);
    running.signal(Signal::INT);
    let ran = running.end();
    let stream = is_over(&world, &ran);
    let last = stream.all("committed").last().expect("entries");
    assert_ne!(last["entry"]["message"]["role"], "tool", "the model is told that the user stopped it");
}

#[test]
fn a_request_to_terminate_does_the_same() {
    let world = World::new();
    let running = sleeping(&world, SLEEPS);
    running.signal(Signal::TERM);
    let ran = running.end();
    is_over(&world, &ran);
}

#[test]
fn a_command_that_does_not_listen_is_ended_when_the_grace_is_over() {
    let world = World::new();
    let running = sleeping(&world, DEAF);
    running.signal(Signal::INT);
    let ran = running.end();
    is_over(&world, &ran);
}

#[test]
fn a_second_interrupt_drops_the_grace() {
    let world = World::new();
    let running = sleeping(&world, DEAF);
    running.signal(Signal::INT);
    running.sees_error("once more drops the grace");
    running.signal(Signal::INT);
    running.sees_error("stopping now");
    let ran = running.end();
    let stream = is_over(&world, &ran);
    let status: Vec<_> =
        stream.all("committed").map(|e| &e["entry"]["message"]["outcome"]["status"]).collect();
    assert_eq!(status[3], "cancelled");
}

#[test]
fn a_stream_and_a_wait_for_the_next_attempt_are_stopped_too() {
    let world = World::new();
    for script in [
        "- {text: [first, never], piece_delay_ms: 600000}",
        "- {text: first, fail: {kind: rate_limit, message: busy, retry_after_ms: 200000}}",
    ] {
        let model = world.script(script);
        let mut running = world.start(&["go", "--model", &model]);
        running.close();
        running.sees("first");
        if script.contains("fail") {
            running.sees("try 1 of");
        }
        running.signal(Signal::INT);
        running.end().ended(130).says("[turn aborted by the user]").does_not_say("never");
    }
}

#[test]
fn a_loop_without_a_terminal_ends_with_what_waits_undone() {
    let world = World::new();
    let mut running = world.start(&["--approve", "all"]);
    running.say("run `sleep 300`");
    running.say("run `touch never`");
    running.close();
    running.sees("run   shell sleep 300");
    running.signal(Signal::INT);
    running.end().ended(130).says("cancelled shell sleep 300");
    assert!(!world.dir().join("never").exists());
}

#[test]
fn an_idle_loop_just_ends() {
    let world = World::new();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let running = world.start(&[]);
        running.sees("/quit");
        running.signal(signal);
        running.end().ended(0);
    }
}
