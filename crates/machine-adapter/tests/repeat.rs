//! The repeat guard (T19).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may also fail in a helper")]
mod story;

use machine_adapter::Engine;
use machine_core::ask::{Answer, Prepared};
use machine_core::config::Config;
use machine_core::outcome::ToolResult;
use machine_core::response::{Finish, ModelEvent};
use machine_testkit::script::{Behaviour, Reply, Response, Script};
use std::sync::Arc;
use story::*;

fn guarded(limit: u32) -> Config {
    with(|config| config.turn.repeat = Some(limit))
}

/// One response with these calls: tool and arguments.
fn asks(wanted: &[(&str, &str)]) -> Response {
    let pieces =
        (0..).zip(wanted).flat_map(|(index, (tool, json))| [start(index, "", tool), args(index, json)]);
    streams(pieces.collect::<Vec<ModelEvent>>(), Finish::ToolUse)
}

fn always(tool: &str) -> Script {
    model((0..30).map(|_| calls(&[tool]))).tool(tool, Behaviour::ok("same", 1))
}

/// What the calls that are finalized bring, one after the other.
fn bringing(mut script: Script, results: &[&str]) -> Script {
    for result in results {
        script = script.hook("Finalize", Reply::now(Answer::Finalize(Arc::new(ToolResult::text(*result)))));
    }
    script
}

/// T19.
#[test]
fn s28_the_same_call_for_ever() {
    for n in [2, 3, 5] {
        let mut world = go(guarded(n), always("a"));
        let runs = " | [a] | a ok".repeat(n as usize - 1);
        let refused = " | [a] | a not started(repeat)".repeat(2);
        assert_eq!(rest(&mut world), format!("go{runs}{refused}"));
        assert_eq!((ends(&world).as_str(), world.ends()[0].steps), ("repeat_limit", n + 1));
        assert_eq!(asked(&world, "Prepare").len(), n as usize - 1, "what is refused is not prepared");
    }
    let mut world = go(with(|config| config.turn.max_steps = Some(9)), always("a"));
    assert_eq!(rest(&mut world), format!("go{}", " | [a] | a ok".repeat(9)), "off by default");
}

#[test]
fn c_t19_keys_are_tool_and_arguments_in_any_order() {
    let script = model([
        asks(&[("a", r#"{"x":1,"y":{"p":[],"q":2}}"#), ("b", "{}")]),
        asks(&[("b", ""), ("a", r#"{ "y" : {"q":2, "p":[ ]}, "x":1 }"#)]),
        text("done"),
    ]);
    let script = script.tool("a", Behaviour::ok("A", 1)).tool("b", Behaviour::ok("B", 1));
    let mut world = go(guarded(2), script);
    let right = "go | [a b] | a ok | b ok | [b a] | b not started(repeat) | a not started(repeat) | done";
    assert_eq!(rest(&mut world), right, "nor does their place in the batch matter");
    assert_eq!(ends(&world), "completed", "one such answer is a warning");
    // Another tool, or other arguments, are another key.
    let script =
        model([asks(&[("a", "{}")]), asks(&[("b", "{}")]), asks(&[("a", r#"{"x":1}"#)]), text("done")]);
    let script = script.tool("a", Behaviour::ok("A", 1)).tool("b", Behaviour::ok("A", 1));
    let mut world = go(guarded(2), script);
    assert_eq!(rest(&mut world), "go | [a] | a ok | [b] | b ok | [a] | a ok | done");
}

/// T19.
#[test]
fn s29_honest_repetition_is_none() {
    let results: Vec<String> = (1..=20).map(|n| format!("{}%", n * 5)).collect();
    let results: Vec<&str> = results.iter().map(String::as_str).collect();
    let mut config = guarded(2 + 1);
    config.ask.finalize = true;
    let script = model((0..20).map(|_| calls(&["a"])).chain([text("done")])).tool("a", Behaviour::ok("", 1));
    let mut world = go(config.clone(), bringing(script, &results));
    assert!(rest(&mut world).ends_with("a ok | done"));
    assert_eq!((ends(&world).as_str(), world.ends()[0].steps), ("completed", 21));
    // A changed result begins the count again.
    let script = model((0..6).map(|_| calls(&["a"])).chain([text("done")])).tool("a", Behaviour::ok("", 1));
    let mut world = go(config, bringing(script, &["x", "y", "x", "y", "y", "never"]));
    let runs = " | [a] | a ok".repeat(5);
    assert_eq!(rest(&mut world), format!("go{runs} | [a] | a not started(repeat) | done"));
}

#[test]
fn c_t19_other_calls_between_do_not_matter() {
    let one = || calls(&["a"]);
    let two = || asks(&[("b", r#"{"n":2}"#)]);
    let script = model([one(), two(), one(), text("hm"), one(), text("done")])
        .tool("a", Behaviour::ok("A", 1))
        .tool("b", Behaviour::error("no", 1));
    let mut world = go(guarded(3), script);
    world.arrange(11, join("x")); // the turn goes on after `hm`
    let right =
        "go | [a] | a ok | [b] | b error(failed) | [a] | a ok | hm | x | [a] | a not started(repeat) | done";
    assert_eq!(rest(&mut world), right);
    // The count lives for the turn.
    let script = model([one(), text("1"), one(), text("2")]).tool("a", Behaviour::ok("A", 1));
    let mut world = go(guarded(2), script);
    world.arrange(0, submit("x"));
    assert_eq!(rest(&mut world), "go | [a] | a ok | 1 | x | [a] | a ok | 2");
    let fresh = Engine::new(1, Arc::new(guarded(2))).unwrap();
    let kept =
        |engine: &Engine| serde_json::to_value(engine.snapshot()).unwrap()["engine"]["repeats"].clone();
    assert_eq!(kept(&world.engine), kept(&fresh), "nothing is left");
}

#[test]
fn c_t19_equal_calls_of_one_batch_count_as_one() {
    let script = model([calls(&["a", "a"]), calls(&["a", "a"]), calls(&["a", "a"]), text("done")])
        .tool("a", Behaviour::ok("A", 1));
    let mut world = go(guarded(3), script);
    let right = "go | [a a] | a ok | a ok | [a a] | a ok | a ok | \
                 [a a] | a not started(repeat) | a not started(repeat) | done";
    assert_eq!(rest(&mut world), right);
    assert_eq!(ends(&world), "completed", "and so do their answers");
    // Different results of one batch are a change.
    let mut config = guarded(2);
    config.ask.finalize = true;
    let script = model([calls(&["a", "a"]), calls(&["a"]), calls(&["a"]), text("done")]);
    let script = bringing(script.tool("a", Behaviour::ok("", 1)), &["x", "y", "y"]);
    let mut world = go(config, script);
    assert_eq!(
        rest(&mut world),
        "go | [a a] | a ok | a ok | [a] | a not started(repeat) | [a] | a not started(repeat)"
    );
}

#[test]
fn c_t19_siblings_run_and_what_never_ran_counts_for_nothing() {
    let both = || asks(&[("a", "{}"), ("b", r#"{"n":1}"#)]);
    let script = model([asks(&[("a", "{}")]), asks(&[("a", "{}")]), both(), text("never")])
        .tool("a", Behaviour::ok("A", 1))
        .tool("b", Behaviour::ok("B", 1));
    let mut world = go(guarded(2), script);
    world.arrange(5, notify("n"));
    let right =
        "go | [a] | a ok | [a] | a not started(repeat) | note n | [a b] | a not started(repeat) | b ok";
    assert_eq!(rest(&mut world), right);
    assert_eq!(ends(&world), "repeat_limit", "the guard comes before what waits (T13)");
    // Cut calls are to be sent again; refused ones were made.
    let cut = || calls(&["a"]).finish(Finish::MaxTokens);
    let script = model([cut(), cut(), calls(&["a"]), calls(&["a"]), text("done")])
        .tool("a", Behaviour::ok("A", 1).prepared(Prepared::Denied("no".into())));
    let mut world = go(guarded(2), script);
    let cut = "[a] | a not started(truncated) | ".repeat(2);
    assert_eq!(
        rest(&mut world),
        format!("go | {cut}[a] | a denied(no) | [a] | a not started(repeat) | done")
    );
}

#[test]
fn c_t19_broken_calls_are_guarded_too() {
    let broken = || asks(&[("a", r#"{"x":"#)]);
    let other = asks(&[("a", r#"{"y":"#)]);
    let script = model([broken(), other, broken(), text("done")]).tool("a", Behaviour::ok("A", 1));
    let mut world = go(guarded(2), script);
    let bad = "[a] | a error(badjson)";
    assert_eq!(rest(&mut world), format!("go | {bad} | {bad} | [a] | a not started(repeat) | done"));
}

#[test]
fn c_t19_memory_is_bounded() {
    let one = |n: usize| asks(&[("a", &format!("{{\"n\":{n}}}"))]);
    let script = model((0..1_200).map(one).chain([one(1_199), one(0), text("done")]));
    let mut world = go(guarded(2), script.tool("a", Behaviour::ok("A", 1)));
    world.run().unwrap();
    let end = "[a] | a ok | [a] | a not started(repeat) | [a] | a ok | done";
    assert!(told(&world).ends_with(end), "the oldest are forgotten");
}
