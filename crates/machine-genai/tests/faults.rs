//! The fault matrix: what a provider does, in the words of llmock, and what comes of it in each shape.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod common;

use common::{
    ANTHROPIC, GEMINI, Played, RESPONSES, SHAPES, Shape, address, agent, line, llmock, play, reason,
};
use machine_core::ask::{By, Cause};
use machine_core::event::Event;
use machine_core::response::ModelEvent;
use machine_servers::Server;
use serde_json::{Value, json};

/// A row: what the server is told, and what must come of it.
struct Row {
    name: &'static str,
    /// Behaviours of llmock.
    told: Value,
    /// The shapes in which it cannot be told.
    not: &'static [Shape],
    end: &'static str,
    failures: &'static [&'static str],
    history: &'static [&'static str],
    requests: usize,
    /// The shapes in which the tokens of a failed attempt are known.
    knows_lost: &'static [Shape],
}

const WORDS: &str = "one two three four";
const ANSWERED: &[&str] = &["user: go", "assistant: one two three four"];

/// A row that ends well after one failed attempt.
const AGAIN: Row = Row {
    name: "",
    told: Value::Null,
    not: &[],
    end: "completed",
    failures: &[],
    history: ANSWERED,
    requests: 2,
    knows_lost: &[],
};

/// A row that ends with its first failure.
const NEVER: Row = Row { history: &["user: go"], requests: 1, ..AGAIN };

fn says(more: Value) -> Value {
    json!([more, {"type": "reply", "text": WORDS}])
}

/// Stands for a number of frames after which some text has come, and not all of it.
const SOME: u32 = 1_000;

/// It is cut in the middle of the first answer, and the next is whole.
fn broken(kind: &str) -> Value {
    let fault = json!({"type": "stream_fault", "kind": kind, "after_chunks": SOME, "stall_seconds": 30});
    json!([fault, {"type": "reply", "text": WORDS, "times": 2}])
}

fn rows() -> Vec<Row> {
    let calls = json!({"type": "reply", "tool_calls": [
        {"name": "get", "arguments": {"text": "a long text that comes in pieces"}},
        {"name": "get", "arguments": {"text": "b"}},
    ]});
    vec![
        Row { name: "a text", told: json!([{"type": "reply", "text": WORDS}]), requests: 1, ..AGAIN },
        Row {
            name: "parallel calls",
            told: says(calls),
            history: &[
                "user: go",
                r#"assistant: get{"text":"a long text that comes in pieces"} | get{"text":"b"}"#,
                "get ok: a long text that comes in pieces!",
                "get ok: b!",
                "assistant: one two three four",
            ],
            ..AGAIN
        },
        Row {
            name: "429 with a wait",
            told: says(json!({"type": "fail", "status": 429, "retry_after": 0.025})),
            failures: &["RateLimit 429 wait 25"],
            ..AGAIN
        },
        Row {
            name: "429 with a wait that is too long",
            told: json!([{"type": "fail", "status": 429, "retry_after": 3600}]),
            end: "failed RateLimit",
            failures: &["RateLimit 429 wait 3600000"],
            ..NEVER
        },
        Row {
            name: "500",
            told: says(json!({"type": "fail", "status": 500, "times": 2})),
            failures: &["ServerError 500", "ServerError 500"],
            requests: 3,
            ..AGAIN
        },
        Row {
            name: "500 again and again",
            told: json!([{"type": "fail", "status": 500, "times": 3}]),
            end: "failed ServerError",
            failures: &["ServerError 500", "ServerError 500", "ServerError 500"],
            requests: 3,
            ..NEVER
        },
        Row {
            name: "529",
            told: says(json!({"type": "fail", "status": 529, "retry_after": 0.001})),
            failures: &["Overloaded 529 wait 1"],
            ..AGAIN
        },
        Row {
            name: "401",
            told: json!([{"type": "fail", "status": 401}]),
            end: "failed Auth",
            failures: &["Auth 401"],
            ..NEVER
        },
        Row {
            name: "400",
            told: json!([{"type": "fail", "status": 400}]),
            end: "failed InvalidRequest",
            failures: &["InvalidRequest 400"],
            ..NEVER
        },
        Row {
            name: "a prompt that does not fit",
            told: json!([{"type": "fail", "status": 400, "message": "prompt is too long: 9 tokens > 8 maximum"}]),
            end: "failed ContextOverflow",
            failures: &["ContextOverflow 400"],
            ..NEVER
        },
        Row {
            name: "disconnect",
            told: broken("disconnect"),
            failures: &["StreamCut"],
            knows_lost: &[ANTHROPIC],
            ..AGAIN
        },
        Row {
            name: "truncate",
            told: broken("truncate"),
            failures: &["StreamCut"],
            knows_lost: &[ANTHROPIC],
            ..AGAIN
        },
        // The stream goes on after it.
        Row {
            name: "malformed",
            told: broken("malformed"),
            failures: &["StreamCut"],
            knows_lost: &[ANTHROPIC],
            ..AGAIN
        },
        Row {
            name: "stall",
            told: broken("stall"),
            failures: &["Timeout"],
            knows_lost: &[ANTHROPIC],
            ..AGAIN
        },
        Row {
            name: "an unknown tool",
            told: json!([{"type": "tool_fault", "kind": "unknown_tool"}, {"type": "reply", "tool_calls": [{"name": "get"}]}, {"type": "reply", "text": WORDS}]),
            history: &[
                "user: go",
                "assistant: llmock_unknown_tool{}",
                "llmock_unknown_tool error unknown_tool: There is no tool",
                "assistant: one two three four",
            ],
            ..AGAIN
        },
        Row {
            name: "arguments that are no JSON",
            told: json!([
                {"type": "tool_fault", "kind": "malformed_arguments"},
                {"type": "reply", "tool_calls": [{"name": "get", "arguments": {"text": "a long text"}}]},
                {"type": "reply", "text": WORDS},
            ]),
            // There they are always an object; what is not: `wires.rs`.
            not: &[GEMINI],
            history: &[
                "user: go",
                "assistant: get{}",
                r#"get error bad_json: The arguments are not a JSON object; the call did not run.The arguments were: {"text": "a"#,
                "assistant: one two three four",
            ],
            ..AGAIN
        },
        Row {
            name: "cut at the limit",
            told: json!([{"type": "reply", "text": WORDS, "finish_reason": "length"}]),
            end: "max_tokens",
            requests: 1,
            ..AGAIN
        },
        Row {
            name: "filtered",
            told: json!([{"type": "reply", "text": WORDS, "finish_reason": "content_filter"}]),
            // llmock does not say it there.
            not: &[RESPONSES],
            end: "filtered",
            requests: 1,
            ..AGAIN
        },
    ]
}

/// llmock's paths.
fn at(server: &Server, shape: Shape) -> String {
    let before = match shape {
        ANTHROPIC => "/anthropic",
        GEMINI => "/gemini",
        _ => "",
    };
    address(server) + before
}

fn tell(server: &Server, shape: Shape, behaviours: &Value) {
    let some = match shape {
        RESPONSES => "6",
        ANTHROPIC => "5",
        _ => "3",
    };
    let told = json!({"behaviors": behaviours}).to_string().replace(&SOME.to_string(), some);
    server.ask("POST", "/_llmock/reset", "");
    server.ask("POST", "/_llmock/scenario", &told);
}

fn requests(server: &Server) -> Vec<Value> {
    let told: Value = serde_json::from_str(&server.ask("GET", "/_llmock/requests", "")).unwrap();
    told["requests"].as_array().unwrap().clone()
}

fn check(row: &Row, shape: Shape, played: &Played, requests: &[Value]) {
    let cell = format!("{} in {}", row.name, shape.provider);
    assert_eq!(played.failures(), row.failures, "{cell}");
    assert_eq!(played.reason(), row.end, "{cell}");
    assert_eq!(requests.len(), row.requests, "{cell}: {requests:?}");
    assert_eq!(played.history.len(), row.history.len(), "{cell}: {:#?}", played.history);
    for (is, wanted) in played.history.iter().zip(row.history) {
        assert!(is.starts_with(wanted), "{cell}: {is}\nis not\n{wanted}");
    }
    // U02: what was not told is counted as unknown.
    let lost = row.failures.len() - row.knows_lost.iter().filter(|knows| **knows == shape).count();
    assert_eq!(played.end.usage.unknown_attempts as usize, lost, "{cell}");
    let answered = row.requests > row.failures.len();
    assert_eq!(played.end.usage.known.output > 0 && played.end.usage.known.input > 0, answered, "{cell}");
    if row.name == "stall" {
        assert_eq!(requests[0]["completed"], false, "{cell}: the server sees the disconnect");
    }
}

#[tokio::test]
async fn every_fault_in_every_shape() {
    let Some(server) = llmock() else { return };
    for row in rows() {
        for shape in SHAPES.into_iter().filter(|shape| !row.not.contains(shape)) {
            tell(&server, shape, &row.told);
            let model = shape.model("some-model", &at(&server, shape));
            let idle = if row.name == "stall" { 300 } else { 30_000 };
            let played = play(model, |config| config.turn.stream_idle_ms = idle).await;
            check(&row, shape, &played, &requests(&server));
        }
    }
}

#[tokio::test]
async fn c_m11_an_abort_in_the_middle_of_a_stream_reaches_the_server() {
    let Some(server) = llmock() else { return };
    for shape in SHAPES {
        tell(&server, shape, &broken("stall"));
        let (agent, mut events) = agent(shape.model("some-model", &at(&server, shape)), |_| {}).await;
        agent.submit("go").await.unwrap();
        loop {
            let event = events.next().await.expect("the agent lives").unwrap().event;
            if matches!(&*event, Event::Delta { delta: ModelEvent::Text(_), .. }) {
                break;
            }
        }
        let aborted = agent.abort(Cause::by(By::User)).await.unwrap();
        let end = aborted.end.expect("a turn ran");
        assert_eq!(reason(&end.reason), "aborted", "{shape:?}");
        let history = agent.history().await.unwrap();
        let history: Vec<_> = history.iter().map(|entry| line(entry)).collect();
        assert!(
            history.get(1).is_some_and(|line| line.starts_with("assistant: one")),
            "{shape:?}: {history:?}"
        );
        // It tells of a request when that is over, and it would have stalled for thirty seconds: it saw the disconnect.
        let asked = requests(&server);
        assert_eq!((asked.len(), &asked[0]["completed"]), (1, &json!(false)), "{shape:?}: {asked:?}");
    }
}
