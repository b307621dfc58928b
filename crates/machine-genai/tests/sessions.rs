//! Sessions of several turns, against aimock: what one turn leaves in history is what the next request is built from.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod common;

use common::{ANTHROPIC, GEMINI, OPENAI, RESPONSES, Shape, address, agent, aimock, prompt};
use serde_json::{Value, json};

const OLLAMA: Shape = Shape { provider: "ollama", base: "" };
const DEEPSEEK: Shape = Shape { provider: "deepseek", base: "/v1" };

fn fixtures() -> Value {
    let call =
        |text: &str| json!({"name": "get", "id": "same", "arguments": json!({"text": text}).to_string()});
    // In the words of each provider.
    let usage = json!({
        "prompt_tokens": 11, "completion_tokens": 3, "input_tokens": 11, "output_tokens": 3,
        "promptTokenCount": 11, "candidatesTokenCount": 3,
    });
    json!([
        {"match": {"userMessage": "compare", "hasToolResult": false}, "response": {"toolCalls": [call("a"), call("b")]}},
        {"match": {"userMessage": "compare", "hasToolResult": true}, "response": {"content": "They differ."}},
        {"match": {"userMessage": "count"}, "response": {"content": "Three.", "usage": usage}},
        {"match": {"userMessage": "think"}, "response": {"content": "So it is.", "reasoning": "Let me see."}},
    ])
}

#[tokio::test]
async fn three_turns_with_parallel_calls_between() {
    let Some((server, _dir)) = aimock(&fixtures()) else { return };
    for shape in [OPENAI, RESPONSES, ANTHROPIC, GEMINI, OLLAMA, DEEPSEEK] {
        let (agent, mut events) = agent(shape.model("some-model", &address(&server)), |_| {}).await;
        let first = prompt(&agent, &mut events, "count").await;
        let second = prompt(&agent, &mut events, "compare").await;
        let third = prompt(&agent, &mut events, "count").await;
        let reasons =
            [&first, &second, &third].map(|turn| (turn.reason(), turn.failures().len(), turn.end.steps));
        let one = ("completed".to_owned(), 0, 1);
        assert_eq!(reasons, [one.clone(), ("completed".to_owned(), 0, 2), one], "{shape:?}");
        let wanted = [
            "user: count",
            "assistant: three.",
            "user: compare",
            r#"assistant: get{"text":"a"} | get{"text":"b"}"#,
            "get ok: a!",
            "get ok: b!",
            "assistant: they differ.",
            "user: count",
            "assistant: three.",
        ];
        // Some providers give a proof of their thinking with every answer.
        let history: Vec<_> = third.history.iter().map(|line| without_proof(line)).collect();
        assert_eq!(history, wanted, "{shape:?}");
        for turn in [first, third].into_iter().filter(|_| shape != OLLAMA) {
            let usage = turn.end.usage;
            assert_eq!(
                (usage.known.input, usage.known.output, usage.unknown_attempts),
                (11, 3, 0),
                "{shape:?}"
            );
        }
    }
}

#[tokio::test]
async fn thinking_is_kept_apart_from_the_answer() {
    let Some((server, _dir)) = aimock(&fixtures()) else { return };
    for shape in [OPENAI, RESPONSES, ANTHROPIC, GEMINI, OLLAMA, DEEPSEEK] {
        let (agent, mut events) = agent(shape.model("some-model", &address(&server)), |_| {}).await;
        let played = prompt(&agent, &mut events, "think").await;
        let last = played.history.last().unwrap();
        assert!(
            last.starts_with("assistant: (let me see.") && last.ends_with(") | so it is."),
            "{shape:?}: {last}"
        );
        // And it does not get in the way of the next request.
        let next = prompt(&agent, &mut events, "count").await;
        assert_eq!(without_proof(next.history.last().unwrap()), "assistant: three.", "{shape:?}");
    }
}

fn without_proof(line: &str) -> String {
    match line.split_once("assistant: (").and_then(|(_, rest)| rest.split_once(") | ")) {
        Some((_, rest)) => format!("assistant: {rest}"),
        None => line.to_owned(),
    }
}
