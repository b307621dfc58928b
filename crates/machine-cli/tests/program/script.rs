//! Runs with a script: failures, retries, limits.
use crate::running::{Ran, World};

fn run(script: &str, more: &[&str]) -> Ran {
    let world = World::with(&[("a.md", "x\n")]);
    world.run(&[&["go", "--model", &world.script(script)], more].concat())
}

#[test]
fn a_failed_attempt_is_repeated() {
    let script = "- {fail: {kind: rate_limit, message: slow down, retry_after_ms: 1}}\n- text: hello\n";
    run(script, &[]).ended(0).says("the model failed (slow down); try 1 of 9 in 1 ms\nhello\n");
}

#[test]
fn a_text_that_breaks_off_is_told_apart_from_the_next_try() {
    let ran = run("- {text: half a, cut: true}\n- text: whole\n", &[]);
    ran.ended(0).says("\nwhole\n").does_not_say("half awhole");
}

#[test]
fn an_error_that_cannot_be_repeated_fails_the_turn() {
    let ran = run("- {fail: {kind: auth, message: \"no key\\nat all\"}}\n", &[]);
    ran.ended(1).says("[turn failed: ").says("no key at all]\n");
    run("- calls: [{tool: list}]\n", &[]).ended(1).says("the script has only 1 response]\n");
}

#[test]
fn truncated_calls_do_not_run() {
    let script =
        "- {calls: [{tool: shell, args: {command: touch made}}], finish: max_tokens}\n- text: done\n";
    let world = World::new();
    let ran = world.run(&["go", "--model", &world.script(script), "--approve", "all"]);
    ran.says("not started shell touch made: truncated").says("done").ended(1);
    assert!(!world.dir().join("made").exists());
}

#[test]
fn a_limit_of_steps_ends_the_turn() {
    run("- text: never\n", &["--max-steps", "0"])
        .ended(1)
        .says("[turn stopped at the step limit]")
        .does_not_say("never");
    let calls = "- calls: [{tool: list}]\n- text: never\n";
    run(calls, &["--max-steps", "1"]).ended(1).says("ok    list").says("step limit]").does_not_say("never");
    run(calls, &["--max-steps", "2"]).ended(0).says("never");
    run("- text: enough\n", &["--max-steps", "1"]).ended(0).says("enough");
}

#[test]
fn empty_responses_are_repeated_and_then_given_up() {
    run("- {}\n- text: at last\n", &[]).ended(0).says("at last");
    run("- {}\n- {}\n- {}\n- text: never\n", &[])
        .ended(1)
        .says("answered with nothing")
        .does_not_say("never");
}

#[test]
fn a_response_that_the_provider_withholds_or_pauses_is_no_success() {
    run("- {text: x, finish: filtered}\n", &[]).ended(1).says("[turn withheld by the provider]");
    run("- {text: x, finish: suspended}\n", &[]).ended(1).says("[turn paused by the provider]");
    run("- {text: x, finish: max_tokens}\n", &[])
        .ended(1)
        .says("[turn cut at the output limit of the model]");
}

#[test]
fn a_call_that_cannot_work_says_why() {
    let script = r#"
- calls:
    - {tool: nope}
    - {tool: read, args: '{"path": '}
    - {tool: read, args: {path: ../x}}
    - {tool: read, args: {path: missing.md}}
    - {tool: shell, args: {command: 'echo out; exit 3'}}
- text: done
"#;
    let ran = run(script, &["--approve", "all"]);
    ran.ended(0)
        .says("  error nope: There is no tool")
        .says("  error read: The arguments are not a JSON object");
    ran.says("  error read ../x: ").says("path leaves the workspace").says("  error read missing.md: ");
    ran.says("  error shell echo out; exit 3: out [exit code 3]\n");
}

#[test]
fn what_could_steer_a_terminal_is_not_shown() {
    let script = r#"
- text: "a\e[2Jb\u202ec\n"
  calls: [{tool: read, args: {path: "x\e[2J\ny"}}, {tool: "b\e[2J\nd"}]
- {fail: {kind: auth, message: "no\e[2J"}}
"#;
    let ran = run(script, &[]);
    ran.ended(1).says("a[2Jbc\n");
    assert!(ran.out.chars().all(|c| c == '\n' || !c.is_control()), "{ran:?}");
}
