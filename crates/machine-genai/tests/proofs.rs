//! Thinking goes back to the provider that gave it, with its proof, in the place where it stood.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod common;

use common::raw::Raw;
use common::{ANTHROPIC, GEMINI, RESPONSES, Shape, agent, prompt};
use serde_json::{Value, json};

fn frames(frames: &[Value]) -> String {
    let name =
        |frame: &Value| frame["type"].as_str().map(|name| format!("event: {name}\n")).unwrap_or_default();
    frames.iter().map(|frame| format!("{}data: {frame}\n\n", name(frame))).collect()
}

fn block(index: u32, head: Value, deltas: &[Value]) -> Vec<Value> {
    let start = json!({"type": "content_block_start", "index": index, "content_block": head});
    let delta = |delta: &Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = json!({"type": "content_block_stop", "index": index});
    [start].into_iter().chain(deltas.iter().map(delta)).chain([stop]).collect()
}

/// Two blocks of thinking of which one shows no text, one that is kept secret, and two calls.
fn anthropic() -> String {
    let thinking = |text: &str| json!({"type": "thinking", "thinking": text, "signature": ""});
    let tool_use = |id: &str| json!({"type": "tool_use", "id": id, "name": "get", "input": {}});
    let args =
        |text: &str| json!({"type": "input_json_delta", "partial_json": json!({"text": text}).to_string()});
    let proof = |piece: &str| json!({"type": "signature_delta", "signature": piece});
    let all = [
        vec![json!({"type": "message_start", "message": {"id": "msg_1"}})],
        block(
            0,
            thinking(""),
            &[json!({"type": "thinking_delta", "thinking": "hm"}), proof("S1"), proof("a==")],
        ),
        block(1, thinking(""), &[proof("S2")]),
        block(2, json!({"type": "redacted_thinking", "data": "SECRET"}), &[]),
        block(3, tool_use("toolu_1"), &[args("a")]),
        block(4, tool_use("toolu_2"), &[args("b")]),
        vec![
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
            json!({"type": "message_stop"}),
        ],
    ];
    frames(&all.concat())
}

fn responses() -> String {
    let reasoning = json!({"type": "reasoning", "encrypted_content": "BLOB", "summary": []});
    let call =
        json!({"type": "function_call", "call_id": "call_1", "name": "get", "arguments": "{\"text\":\"a\"}"});
    let done = json!({"id": "resp_1", "status": "completed", "model": "m", "output": [reasoning.clone(), call.clone()]});
    frames(&[
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "hm"}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": reasoning}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": call}),
        json!({"type": "response.completed", "response": done}),
    ])
}

/// A signed text and two signed calls in one frame.
fn gemini() -> String {
    let call = |text: &str, proof: &str| json!({"functionCall": {"name": "get", "args": {"text": text}}, "thoughtSignature": proof});
    let parts = json!([{"text": "so", "thoughtSignature": "S0"}, call("a", "S1"), call("b", "S2")]);
    frames(&[json!({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})])
}

/// The body of the second request, with what stands in history of the first response.
async fn second(shape: Shape, first: String) -> (Value, String) {
    let server = Raw::events(vec![first, String::new()]).await;
    let (agent, mut events) =
        agent(shape.model("some-model", &server.at), |config| config.retry.attempts = 1).await;
    let played = prompt(&agent, &mut events, "go").await;
    let asked = server.asked.lock().unwrap();
    let body = asked[1].split_once("\r\n\r\n").unwrap().1;
    (serde_json::from_str(body).unwrap(), played.history[1].clone())
}

#[tokio::test]
async fn anthropic_gets_its_blocks_back() {
    let (body, history) = second(ANTHROPIC, anthropic()).await;
    let wanted = r#"assistant: (hm anthropic:s1a==) | ( anthropic:s2) | ( anthropic:redacted:secret) | get{"text":"a"} | get{"text":"b"}"#;
    assert_eq!(history, wanted);
    let blocks = json!([
        {"type": "thinking", "thinking": "hm", "signature": "S1a=="},
        {"type": "thinking", "thinking": "", "signature": "S2"},
        {"type": "redacted_thinking", "data": "SECRET"},
        {"type": "tool_use", "id": "toolu_1", "name": "get", "input": {"text": "a"}},
        {"type": "tool_use", "id": "toolu_2", "name": "get", "input": {"text": "b"}},
    ]);
    assert_eq!(body["messages"][1], json!({"role": "assistant", "content": blocks}));
    // Both results stand in one message.
    let result = |id: &str, text: &str| json!({"type": "tool_result", "content": text, "tool_use_id": id});
    let results = [result("toolu_1", "a!"), result("toolu_2", "b!")];
    assert_eq!(body["messages"][2], json!({"role": "user", "content": results}));
}

#[tokio::test]
async fn responses_get_their_blob_back() {
    let (body, history) = second(RESPONSES, responses()).await;
    assert_eq!(history, r#"assistant: (hm openai_resp:blob) | get{"text":"a"}"#);
    let input = body["input"].as_array().unwrap();
    let at = input.iter().position(|item| item["type"] == "reasoning").unwrap();
    assert_eq!(input[at]["encrypted_content"], "BLOB");
    assert_eq!(
        (&input[at + 1]["type"], &input[at + 1]["call_id"]),
        (&json!("function_call"), &json!("call_1"))
    );
    assert_eq!(input[at + 2]["output"], "a!");
}

#[tokio::test]
async fn gemini_gets_each_proof_with_its_part() {
    let (body, history) = second(GEMINI, gemini()).await;
    let wanted =
        r#"assistant: ( gemini:s0) | so | ( gemini:s1) | get{"text":"a"} | ( gemini:s2) | get{"text":"b"}"#;
    assert_eq!(history, wanted);
    let parts = body["contents"][1]["parts"].as_array().unwrap();
    let proofs: Vec<_> = parts.iter().map(|part| part["thoughtSignature"].as_str().unwrap()).collect();
    assert_eq!(proofs, ["S0", "S1", "S2"]);
    assert_eq!((&parts[0]["text"], &parts[2]["functionCall"]["args"]["text"]), (&json!("so"), &json!("b")));
    // Both results stand in one message.
    assert_eq!(body["contents"][2]["parts"].as_array().unwrap().len(), 2);
}
