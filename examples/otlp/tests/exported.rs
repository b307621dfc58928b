//! What a collector gets of the page: the spans of its two turns, as the conventions say, and nothing of what is played again.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]

use std::collections::BTreeMap;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use agent_machine::host::names;
use expect_test::expect;
use machine_servers::{Program, Server, find};
use serde_json::Value;

/// A span as the collector printed it.
#[derive(Debug)]
struct Span {
    id: String,
    parent: String,
    begins: u64,
    ends: u64,
    line: String,
    attributes: BTreeMap<String, Value>,
}

impl Span {
    fn of(span: &Value) -> Self {
        let text = |name: &str| span[name].as_str().unwrap_or_default().to_owned();
        let kind = ["unspecified", "internal", "server", "client"]
            [usize::try_from(span["kind"].as_u64().unwrap()).unwrap()];
        let status =
            ["unset", "ok", "error"][usize::try_from(span["status"]["code"].as_u64().unwrap_or(0)).unwrap()];
        let attributes = span["attributes"].as_array().unwrap().iter();
        Self {
            id: text("spanId"),
            parent: text("parentSpanId"),
            begins: text("startTimeUnixNano").parse().unwrap(),
            ends: text("endTimeUnixNano").parse().unwrap(),
            line: format!("{} ({kind}, {status})", text("name")),
            attributes: attributes
                .map(|attribute| (attribute["key"].as_str().unwrap().to_owned(), attribute["value"].clone()))
                .collect(),
        }
    }
}

/// The spans that came, in the order in which they began. They are told line by line, when they come.
fn spans(collector: &Server, at_least: usize) -> Vec<Span> {
    let begun = Instant::now();
    loop {
        let said = collector.said();
        let mut spans: Vec<Span> = said
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .map(|span| Span::of(&span))
            .collect();
        if spans.len() >= at_least {
            spans.sort_by_key(|span| span.begins);
            return spans;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "it got {}: {said}", spans.len());
        thread::sleep(Duration::from_millis(20));
    }
}

fn lines(spans: &[Span], parent: &str, depth: usize, tree: &mut String) {
    for span in spans.iter().filter(|span| span.parent == parent) {
        *tree += &format!("{:depth$}{}\n", "", span.line, depth = depth * 4);
        for (name, value) in &span.attributes {
            *tree += &format!("{:depth$}| {name} = {value}\n", "", depth = depth * 4);
        }
        lines(spans, &span.id, depth + 1, tree);
    }
}

#[test]
fn a_collector_gets_what_the_conventions_say() {
    let Some(oteltap) = find(Program::Python("oteltap")) else { return };
    let collector = Server::start(|port| {
        let mut command = Command::new(&oteltap);
        command.args(["--port", &port.to_string()]);
        command
    });
    let dir = tempfile::tempdir().unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_machine-example-otlp"))
        .arg(dir.path().join("session.jsonl"))
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://127.0.0.1:{}", collector.port()))
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    expect![[r#"
        completed after 2 steps
        aborted by the user
        10 entries are in the journal
    "#]]
    .assert_eq(&String::from_utf8(ran.stdout).unwrap());

    // Two turns; four requests; three calls and one.
    let spans = spans(&collector, 10);
    let session = spans[0].attributes[names::CONVERSATION_ID]["stringValue"].as_str().unwrap().to_owned();
    let mut tree = String::new();
    lines(&spans, "", 0, &mut tree);
    // The id of the session is drawn at random.
    expect![[r#"
        invoke_agent forecaster (internal, unset)
        | agent_machine.end = {"stringValue":"completed"}
        | agent_machine.steps = {"intValue":"2"}
        | agent_machine.turn = {"stringValue":"B.1"}
        | gen_ai.agent.name = {"stringValue":"forecaster"}
        | gen_ai.conversation.id = {"stringValue":"B"}
        | gen_ai.operation.name = {"stringValue":"invoke_agent"}
        | gen_ai.provider.name = {"stringValue":"example"}
        | gen_ai.request.model = {"stringValue":"large-1"}
        | gen_ai.usage.cache_read.input_tokens = {"intValue":"200"}
        | gen_ai.usage.input_tokens = {"intValue":"240"}
        | gen_ai.usage.output_tokens = {"intValue":"24"}
            chat large-1 (client, error)
            | agent_machine.attempt = {"stringValue":"B.1.1.1"}
            | agent_machine.end = {"stringValue":"failed"}
            | agent_machine.step = {"stringValue":"B.1.1"}
            | error.type = {"stringValue":"overloaded"}
            | gen_ai.conversation.id = {"stringValue":"B"}
            | gen_ai.operation.name = {"stringValue":"chat"}
            | gen_ai.provider.name = {"stringValue":"example"}
            | gen_ai.request.model = {"stringValue":"large-1"}
            | gen_ai.response.id = {"stringValue":"msg-1"}
            chat large-1 (client, unset)
            | agent_machine.attempt = {"stringValue":"B.1.1.2"}
            | agent_machine.end = {"stringValue":"finished"}
            | agent_machine.step = {"stringValue":"B.1.1"}
            | gen_ai.conversation.id = {"stringValue":"B"}
            | gen_ai.operation.name = {"stringValue":"chat"}
            | gen_ai.provider.name = {"stringValue":"example"}
            | gen_ai.request.model = {"stringValue":"large-1"}
            | gen_ai.response.finish_reasons = {"arrayValue":{"values":[{"stringValue":"tool_call"}]}}
            | gen_ai.response.id = {"stringValue":"msg-1"}
            | gen_ai.usage.cache_read.input_tokens = {"intValue":"100"}
            | gen_ai.usage.input_tokens = {"intValue":"120"}
            | gen_ai.usage.output_tokens = {"intValue":"12"}
            execute_tool weather (internal, unset)
            | agent_machine.call = {"stringValue":"B.1.1.0"}
            | agent_machine.end = {"stringValue":"ok"}
            | agent_machine.step = {"stringValue":"B.1.1"}
            | gen_ai.operation.name = {"stringValue":"execute_tool"}
            | gen_ai.tool.call.id = {"stringValue":"call-Bonn"}
            | gen_ai.tool.name = {"stringValue":"weather"}
            | gen_ai.tool.type = {"stringValue":"function"}
            execute_tool weather (internal, error)
            | agent_machine.call = {"stringValue":"B.1.1.1"}
            | agent_machine.end = {"stringValue":"error"}
            | agent_machine.step = {"stringValue":"B.1.1"}
            | error.type = {"stringValue":"failed"}
            | gen_ai.operation.name = {"stringValue":"execute_tool"}
            | gen_ai.tool.call.id = {"stringValue":"call-Nowhere"}
            | gen_ai.tool.name = {"stringValue":"weather"}
            | gen_ai.tool.type = {"stringValue":"function"}
            execute_tool weather (internal, unset)
            | agent_machine.call = {"stringValue":"B.1.1.2"}
            | agent_machine.end = {"stringValue":"ok"}
            | agent_machine.step = {"stringValue":"B.1.1"}
            | gen_ai.operation.name = {"stringValue":"execute_tool"}
            | gen_ai.tool.call.id = {"stringValue":"call-Rome"}
            | gen_ai.tool.name = {"stringValue":"weather"}
            | gen_ai.tool.type = {"stringValue":"function"}
            chat large-1 (client, unset)
            | agent_machine.attempt = {"stringValue":"B.1.2.1"}
            | agent_machine.end = {"stringValue":"finished"}
            | agent_machine.step = {"stringValue":"B.1.2"}
            | gen_ai.conversation.id = {"stringValue":"B"}
            | gen_ai.operation.name = {"stringValue":"chat"}
            | gen_ai.provider.name = {"stringValue":"example"}
            | gen_ai.request.model = {"stringValue":"large-1"}
            | gen_ai.response.finish_reasons = {"arrayValue":{"values":[{"stringValue":"stop"}]}}
            | gen_ai.response.id = {"stringValue":"msg-5"}
            | gen_ai.usage.cache_read.input_tokens = {"intValue":"100"}
            | gen_ai.usage.input_tokens = {"intValue":"120"}
            | gen_ai.usage.output_tokens = {"intValue":"12"}
        invoke_agent forecaster (internal, unset)
        | agent_machine.end = {"stringValue":"aborted"}
        | agent_machine.steps = {"intValue":"1"}
        | agent_machine.turn = {"stringValue":"B.2"}
        | gen_ai.agent.name = {"stringValue":"forecaster"}
        | gen_ai.conversation.id = {"stringValue":"B"}
        | gen_ai.operation.name = {"stringValue":"invoke_agent"}
        | gen_ai.provider.name = {"stringValue":"example"}
        | gen_ai.request.model = {"stringValue":"large-1"}
        | gen_ai.usage.cache_read.input_tokens = {"intValue":"100"}
        | gen_ai.usage.input_tokens = {"intValue":"120"}
        | gen_ai.usage.output_tokens = {"intValue":"12"}
            chat large-1 (client, unset)
            | agent_machine.attempt = {"stringValue":"B.2.1.1"}
            | agent_machine.end = {"stringValue":"finished"}
            | agent_machine.step = {"stringValue":"B.2.1"}
            | gen_ai.conversation.id = {"stringValue":"B"}
            | gen_ai.operation.name = {"stringValue":"chat"}
            | gen_ai.provider.name = {"stringValue":"example"}
            | gen_ai.request.model = {"stringValue":"large-1"}
            | gen_ai.response.finish_reasons = {"arrayValue":{"values":[{"stringValue":"tool_call"}]}}
            | gen_ai.response.id = {"stringValue":"msg-7"}
            | gen_ai.usage.cache_read.input_tokens = {"intValue":"100"}
            | gen_ai.usage.input_tokens = {"intValue":"120"}
            | gen_ai.usage.output_tokens = {"intValue":"12"}
            execute_tool forecast (internal, unset)
            | agent_machine.call = {"stringValue":"B.2.1.0"}
            | agent_machine.end = {"stringValue":"cancelled"}
            | agent_machine.step = {"stringValue":"B.2.1"}
            | gen_ai.operation.name = {"stringValue":"execute_tool"}
            | gen_ai.tool.call.id = {"stringValue":"call-long"}
            | gen_ai.tool.name = {"stringValue":"forecast"}
            | gen_ai.tool.type = {"stringValue":"function"}
    "#]]
    .assert_eq(&tree.replace(&session, "B"));
    for span in &spans {
        let parent = spans.iter().find(|parent| parent.id == span.parent);
        let within = parent.is_none_or(|parent| parent.begins <= span.begins && span.ends <= parent.ends);
        assert!(within && span.begins <= span.ends, "{span:?} is not within {parent:?}");
    }
}

/// The names are those of the published conventions, and so is their version.
#[test]
#[expect(deprecated, reason = "their crate says so of names that are kept in another repository now")]
fn names_are_those_of_the_conventions() {
    use opentelemetry_semantic_conventions::{SCHEMA_URL, attribute};
    for (ours, theirs) in [
        (names::CONVENTIONS, SCHEMA_URL),
        (names::ERROR_TYPE, attribute::ERROR_TYPE),
        (names::OPERATION, attribute::GEN_AI_OPERATION_NAME),
        (names::PROVIDER, attribute::GEN_AI_PROVIDER_NAME),
        (names::CONVERSATION_ID, attribute::GEN_AI_CONVERSATION_ID),
        (names::AGENT_NAME, attribute::GEN_AI_AGENT_NAME),
        (names::REQUEST_MODEL, attribute::GEN_AI_REQUEST_MODEL),
        (names::RESPONSE_ID, attribute::GEN_AI_RESPONSE_ID),
        (names::FINISH_REASONS, attribute::GEN_AI_RESPONSE_FINISH_REASONS),
        (names::FIRST_CHUNK, attribute::GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK),
        (names::INPUT_TOKENS, attribute::GEN_AI_USAGE_INPUT_TOKENS),
        (names::OUTPUT_TOKENS, attribute::GEN_AI_USAGE_OUTPUT_TOKENS),
        (names::CACHED_TOKENS, attribute::GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS),
        (names::TOOL_NAME, attribute::GEN_AI_TOOL_NAME),
        (names::TOOL_CALL_ID, attribute::GEN_AI_TOOL_CALL_ID),
        (names::TOOL_TYPE, attribute::GEN_AI_TOOL_TYPE),
    ] {
        assert_eq!(ours, theirs);
    }
}

/// The host works on all the same, and says once that its spans are lost.
#[test]
fn without_a_collector_it_says_so() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let dir = tempfile::tempdir().unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_machine-example-otlp"))
        .arg(dir.path().join("session.jsonl"))
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", nobody)
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert_eq!(out.lines().count(), 3, "{out}");
    assert_eq!(err.matches("warning: ").count(), 1, "{err}");
    assert!(err.contains("spans did not reach the collector"), "{err}");
}
