//! What a provider answers, byte for byte, in each shape.
use serde_json::{Value, json};

use super::raw::Raw;
use super::{Played, Shape, play};

/// Frames without names, as OpenAI's chat and Gemini send them.
pub fn plain(frames: &[Value]) -> String {
    frames.iter().map(|frame| format!("data: {frame}\n\n")).collect()
}

pub fn chat(deltas: &[Value], finish: &str) -> String {
    let delta = |delta: &Value| json!({"id": "chatcmpl-1", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]});
    let frames: Vec<Value> = deltas.iter().map(delta).chain([end]).collect();
    plain(&frames) + "data: [DONE]\n\n"
}

/// Frames with the name of their type, as Anthropic and OpenAI's responses send them.
pub fn named(frames: &[Value]) -> String {
    let frame = |frame: &Value| format!("event: {}\ndata: {frame}\n\n", frame["type"].as_str().unwrap());
    frames.iter().map(frame).collect()
}

pub fn chat_text() -> String {
    chat(&[json!({"content": "well"})], "stop")
}

pub fn gemini_text() -> String {
    plain(&[json!({"candidates": [{"content": {"parts": [{"text": "well"}]}, "finishReason": "STOP"}]})])
}

pub fn messages(blocks: &[Value], stop: &str) -> String {
    let begin = json!({"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 1}}});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 9}});
    let stop = json!({"type": "message_stop"});
    named(&[&[begin], blocks, &[end, stop]].concat())
}

pub fn messages_text() -> String {
    let block =
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}});
    let text =
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "well"}});
    messages(&[block, text, json!({"type": "content_block_stop", "index": 0})], "end_turn")
}

pub fn completed(output: Value) -> Value {
    json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "model": "m", "output": output}})
}

pub fn responses_text() -> String {
    named(&[
        json!({"type": "response.output_text.delta", "output_index": 0, "delta": "well"}),
        completed(json!([])),
    ])
}

pub async fn told(shape: Shape, answers: Vec<String>) -> (Played, Vec<String>) {
    let server = Raw::events(answers).await;
    let played = play(shape.model("some-model", &server.at), |_| {}).await;
    let asked = server.asked.lock().unwrap().clone();
    (played, asked)
}

pub fn start(index: Option<u32>, id: Option<&str>, args: &str) -> Value {
    let mut call = json!({"type": "function", "function": {"name": "get", "arguments": args}});
    if let Some(index) = index {
        call["index"] = json!(index);
    }
    if let Some(id) = id {
        call["id"] = json!(id);
    }
    call
}

pub fn calls(calls: &[Value]) -> Value {
    json!({"tool_calls": calls})
}

pub fn more(index: u32, args: &str) -> Value {
    calls(&[json!({"index": index, "function": {"arguments": args}})])
}
