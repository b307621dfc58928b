//! Scripts: what they play, and how a bad one is refused.
use std::path::Path;
use std::time::Duration;

use machine_cli::models::script::{Script, ScriptReply};
use machine_core::response::{Failure, Finish, ModelError, ModelEvent};
use machine_core::usage::Usage;

const DOC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/script-model.md");
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");

fn parse(text: &str) -> Result<Script, String> {
    Script::parse(Path::new("s.yaml"), text).map_err(|error| error.to_string())
}

#[track_caller]
fn reply(text: &str) -> ScriptReply {
    parse(text).expect("a script").respond(0).expect("a response")
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let error = parse(text).expect_err(text);
    assert!(error.starts_with(expected), "{text}\n{error}");
    assert!(!error.contains('\n'), "{error}");
}

/// The arguments of the only call.
#[track_caller]
fn args(text: &str) -> String {
    let pieces = reply(text).events.into_iter().filter_map(|event| match event {
        ModelEvent::CallArgs { piece, .. } => Some(piece.to_string()),
        _ => None,
    });
    pieces.collect()
}

#[test]
fn the_example_in_the_manual_has_every_key() {
    let doc = std::fs::read_to_string(DOC).unwrap();
    let example = doc.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let script = parse(example).unwrap();
    assert_eq!(script.len(), 5);
    for key in [
        "delay_ms",
        "piece_delay_ms",
        "thinking",
        "text",
        "calls",
        "tool",
        "args",
        "id",
        "usage",
        "input",
        "output",
        "cached",
        "finish",
        "fail",
        "kind",
        "message",
        "retry_after_ms",
        "cut",
    ] {
        assert!(example.contains(&format!("{key}:")), "{key}");
        assert!(doc.split("## Keys").nth(1).is_some_and(|keys| keys.contains(&format!("`{key}`"))), "{key}");
    }
    let first = script.respond(0).unwrap();
    assert_eq!((first.delay, first.piece_delay), (Duration::from_millis(20), Duration::from_millis(5)));
    assert_eq!(first.end, Ok(Finish::ToolUse));
    let kinds: Vec<_> = first.events.iter().map(ModelEvent::kind).collect();
    let calls = ["CallStart", "CallArgs", "CallArgs", "CallStart", "CallArgs", "CallArgs"];
    let expected =
        [&["Started", "Thinking", "Thinking", "Text", "Text"][..], &calls[..], &["Usage"][..]].concat();
    assert_eq!(kinds, expected);
    assert_eq!(script.respond(4).unwrap().end, Ok(Finish::EndTurn));
}

#[test]
fn a_file_is_played_response_by_response() {
    let script = Script::load(&Path::new(FIXTURES).join("script.yaml")).unwrap();
    let ends: Vec<_> = (0..3).map(|n| script.respond(n).unwrap().end.map_err(|error| error.kind)).collect();
    assert_eq!(ends, [Ok(Finish::ToolUse), Err(Failure::Overloaded), Ok(Finish::EndTurn)]);
    assert_eq!(script.respond(3), None);
    let expected = ModelError::new(Failure::InvalidRequest, "the script has only 3 responses");
    assert_eq!(script.exhausted(), expected);
    assert_eq!(&*parse("- {}").unwrap().exhausted().message, "the script has only 1 response");
    assert!(parse("[]").unwrap().is_empty());
}

#[test]
fn pieces_and_usage() {
    let events = reply("- thinking: hm\n  text: [a, \"2\"]\n  usage: {output: 3}").events;
    let expected = [
        ModelEvent::Started { request_id: None },
        ModelEvent::Thinking { text: "hm".into(), signature: None },
        ModelEvent::Text("a".into()),
        ModelEvent::Text("2".into()),
        ModelEvent::Usage(Usage { input: 0, output: 3, cached: 0 }),
    ];
    assert_eq!(events, expected);
}

#[test]
fn calls_have_ids_of_their_own_or_the_given_ones() {
    let script =
        parse("- calls: [{tool: a}, {tool: b, id: x}, {tool: '', id: ''}]\n- calls: [{tool: a}]").unwrap();
    let ids: Vec<String> = (0..2)
        .flat_map(|n| script.respond(n).unwrap().events)
        .filter_map(|event| match event {
            ModelEvent::CallStart { id, .. } => Some(id.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["call_1_0", "x", "", "call_2_0"]);
}

#[test]
fn arguments_become_sorted_json() {
    assert_eq!(args("- calls: [{tool: t}]"), "{}");
    assert_eq!(args("- calls: [{tool: t, args: {}}]"), "{}");
    let yaml = "- calls:\n  - tool: t\n    args:\n      b: [1, -2, 0.5, true, null, \"3\", yes]\n      a: {z: \"é\\n\", y: 1}";
    assert_eq!(args(yaml), r#"{"a":{"y":1,"z":"é\n"},"b":[1,-2,0.5,true,null,"3","yes"]}"#);
    assert_eq!(args("- calls: [{tool: t, args: '{\"a\": '}]"), "{\"a\": ");
    assert_eq!(args("- calls: [{tool: t, args: ''}]"), "");
}

#[test]
fn failures() {
    let kinds = [
        ("connection", Failure::Connection),
        ("timeout", Failure::Timeout),
        ("rate_limit", Failure::RateLimit),
        ("overloaded", Failure::Overloaded),
        ("server_error", Failure::ServerError),
        ("stream_cut", Failure::StreamCut),
        ("context_overflow", Failure::ContextOverflow),
        ("invalid_request", Failure::InvalidRequest),
        ("auth", Failure::Auth),
        ("quota", Failure::Quota),
        ("too_large", Failure::TooLarge),
        ("empty", Failure::Empty),
        ("panicked", Failure::Panicked),
        ("unknown", Failure::Unknown),
    ];
    for (name, kind) in kinds {
        let reply = reply(&format!("- fail: {{kind: {name}, message: no, retry_after_ms: 7}}"));
        let error = reply.end.unwrap_err();
        assert_eq!((error.kind, &*error.message, error.retry_after_ms), (kind, "no", Some(7)));
        assert!(reply.events.is_empty(), "what fails at once was never answered");
    }
    let cut = reply("- text: a\n  cut: true");
    assert_eq!(cut.end.unwrap_err().kind, Failure::StreamCut);
    assert_eq!(cut.events.len(), 2);
    let late = reply("- text: a\n  fail: {kind: server_error}");
    assert_eq!((late.end.unwrap_err().kind, late.events.len()), (Failure::ServerError, 2));
}

#[test]
fn finishes() {
    for (name, finish) in [
        ("end_turn", Finish::EndTurn),
        ("tool_use", Finish::ToolUse),
        ("max_tokens", Finish::MaxTokens),
        ("filtered", Finish::Filtered),
        ("suspended", Finish::Suspended),
        ("other", Finish::Other),
    ] {
        assert_eq!(reply(&format!("- finish: {name}")).end, Ok(finish));
    }
}

#[test]
fn errors_name_the_place() {
    refused("- text: a\n  foo: 1", "s.yaml:2:3: unknown field `foo`, expected one of delay_ms");
    refused("- calls:\n  - tool: a\n    arg: {}", "s.yaml:3:5: unknown field `arg`");
    refused("- fail: {kind: boom}", "s.yaml:1:16: unknown variant `boom`");
    refused("- fail: {message: x}", "s.yaml:1:10: missing field `kind`");
    refused("- usage: {in: 1}", "s.yaml:1:11: unknown field `in`");
    refused("- finish: done", "s.yaml:1:11: unknown variant `done`");
    refused("- text: a\n  text: b", "s.yaml:2:3: duplicate mapping key `text`");
    refused("- calls: [{tool: t, args: {a: 1, a: 2}}]", "s.yaml:1:34: duplicate");
    refused("- calls: [{tool: t, args: [1]}]", "s.yaml:1:21: invalid type: sequence");
    refused("- delay_ms: soon", "s.yaml:1:13: ");
    refused("- cut: maybe", "s.yaml:1:8: ");
    refused("text: a", "s.yaml:1:1: ");
    refused("- {", "s.yaml:1:3: ");
    refused(
        "- text: a\n- cut: true\n  fail: {kind: auth}",
        "s.yaml:2:3: `cut` and `fail` exclude each other",
    );
    refused("- text: a\n- cut: true\n  finish: other", "s.yaml:2:3: `finish` fits neither");
    refused("- fail: {kind: auth}\n  finish: other", "s.yaml:1:3: `finish` fits neither");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let load = |name: &str| Script::load(&Path::new(FIXTURES).join(name)).unwrap_err().to_string();
    assert_eq!(
        load("nowhere.yaml"),
        format!("{FIXTURES}/nowhere.yaml: No such file or directory (os error 2)")
    );
    assert!(
        load("unknown-key.yaml")
            .starts_with(&format!("{FIXTURES}/unknown-key.yaml:3:3: unknown field `txt`"))
    );
    let directory = tempfile::tempdir().unwrap();
    assert!(Script::load(directory.path()).unwrap_err().to_string().contains("directory"));
    let binary = directory.path().join("b.yaml");
    std::fs::write(&binary, b"- text: \xff").unwrap();
    assert!(Script::load(&binary).unwrap_err().to_string().ends_with("b.yaml: not UTF-8"));
}
