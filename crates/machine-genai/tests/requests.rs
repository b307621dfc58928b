//! What is sent back of an answer, where a provider has rules of its own.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod common;

use common::answers::{
    calls, chat, chat_text, completed, messages, messages_text, named, responses_text, start,
};
use common::raw::Raw;
use common::{ANTHROPIC, GEMINI, OPENAI, RESPONSES, Shape, agent, prompt};
use machine_core::config::Settings;
use serde_json::{Value, json};

fn body(asked: &str) -> Value {
    serde_json::from_str(asked.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// The bodies of the requests of two prompts that these answers are given to.
async fn sent(shape: Shape, answers: Vec<String>) -> Vec<Value> {
    let server = Raw::events(answers).await;
    let (agent, mut events) = agent(shape.model("some-model", &server.at), |_| {}).await;
    prompt(&agent, &mut events, "go").await;
    prompt(&agent, &mut events, "on").await;
    let asked = server.asked.lock().unwrap().clone();
    asked.iter().map(|asked| body(asked)).collect()
}

const MISTRAL: Shape = Shape { provider: "mistral", base: "/v1" };
const GROQ: Shape = Shape { provider: "groq", base: "/v1" };

/// Nine letters or digits.
#[tokio::test]
async fn mistral_gets_ids_as_it_wants_them() {
    let call = |id: Option<&str>, text: &str| start(Some(0), id, &json!({"text": text}).to_string());
    let answer = |id| chat(&[calls(&[call(id, "a")])], "tool_calls");
    let answers =
        vec![answer(Some("abcdefghi")), answer(Some("toolu123")), answer(None), chat_text(), chat_text()];
    let last = sent(MISTRAL, answers).await.pop().unwrap();
    let messages = last["messages"].as_array().unwrap();
    let called: Vec<_> = messages.iter().filter_map(|it| it["tool_calls"][0]["id"].as_str()).collect();
    let answered: Vec<_> = messages.iter().filter_map(|it| it["tool_call_id"].as_str()).collect();
    assert_eq!((&called, called[0], called.len()), (&answered, "abcdefghi", 3));
    for id in &called {
        assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{called:?}");
    }
    assert!(called[1] != called[2]);
}

/// A stopped turn ends with the result of a tool, and the next one begins with a prompt.
#[tokio::test]
async fn mistral_hears_no_user_right_after_a_tool() {
    for shape in [MISTRAL, OPENAI] {
        let call = calls(&[start(Some(0), Some("abcdefghi"), r#"{"text":"a"}"#)]);
        let server = Raw::events(vec![chat(&[call], "tool_calls"), chat_text()]).await;
        let model = shape.model("some-model", &server.at);
        let (agent, mut events) = agent(model, |config| config.turn.max_steps = Some(1)).await;
        prompt(&agent, &mut events, "go").await;
        prompt(&agent, &mut events, "on").await;
        let last = body(server.asked.lock().unwrap().last().unwrap());
        let roles: Vec<_> =
            last["messages"].as_array().unwrap().iter().map(|it| it["role"].as_str().unwrap()).collect();
        let after_tool: Vec<_> = roles.iter().skip_while(|role| **role != "tool").skip(1).take(1).collect();
        assert_eq!(roles[..3], ["system", "user", "assistant"], "{roles:?}");
        assert_eq!(after_tool, [if shape == MISTRAL { &"assistant" } else { &"user" }], "{roles:?}");
    }
}

/// It refuses a request that has any.
#[tokio::test]
async fn groq_gets_no_thinking_back() {
    let thought = chat(&[json!({"reasoning": "hm"}), json!({"content": "well"})], "stop");
    let bodies = sent(GROQ, vec![thought, chat_text()]).await;
    let said = &bodies[1]["messages"][2];
    assert_eq!(*said, json!({"role": "assistant", "content": "well"}));
}

/// Thinking stands where it stood: a provider may refuse what was moved.
#[tokio::test]
async fn thinking_between_other_parts_goes_back_in_its_place() {
    let block = |index: u32, block: Value| {
        [
            json!({"type": "content_block_start", "index": index, "content_block": block}),
            json!({"type": "content_block_stop", "index": index}),
        ]
    };
    let thinking =
        |text: &str, proof: &str| json!({"type": "thinking", "thinking": text, "signature": proof});
    let call = json!({"type": "tool_use", "id": "x", "name": "get", "input": {"text": "a"}});
    let blocks = [
        block(0, thinking("one", "S1")),
        block(1, json!({"type": "text", "text": "first"})),
        block(2, thinking("two", "S2")),
        block(3, call.clone()),
    ];
    let bodies =
        sent(ANTHROPIC, vec![messages(&blocks.concat(), "tool_use"), messages_text(), messages_text()]).await;
    let said: Vec<_> = bodies[1]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["role"] == "assistant")
        .flat_map(|it| it["content"].as_array().unwrap().clone())
        .collect();
    let wanted =
        [thinking("one", "S1"), json!({"type": "text", "text": "first"}), thinking("two", "S2"), call];
    assert_eq!(said, wanted, "several messages of one role are one for the provider");

    let reasoning = |proof: &str| json!({"type": "reasoning", "encrypted_content": proof, "summary": []});
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "get", "arguments": "{\"text\":\"a\"}"});
    let items = json!([reasoning("E1"), call("x"), reasoning("E2"), call("y")]);
    let bodies = sent(RESPONSES, vec![named(&[completed(items)]), responses_text(), responses_text()]).await;
    let items: Vec<_> = bodies[1]["input"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["encrypted_content"].as_str().or(it["name"].as_str().and(it["call_id"].as_str())))
        .collect();
    assert_eq!(items, ["E1", "x", "E2", "y"]);
}

/// A model that does not think refuses what asks it to show its thinking. Who sets an effort knows that it thinks.
#[tokio::test]
async fn thinking_is_asked_for_with_an_effort_alone() {
    for (shape, answer, path) in [
        (RESPONSES, responses_text(), "/reasoning/summary"),
        (RESPONSES, responses_text(), "/include"),
        (GEMINI, common::answers::gemini_text(), "/generationConfig/thinkingConfig/includeThoughts"),
    ] {
        for extra in [None, Some(r#"{"reasoning_effort": "low"}"#)] {
            let server = Raw::events(vec![answer.clone()]).await;
            let settings = Settings { extra: extra.map(Into::into), ..Settings::default() };
            let set = |config: &mut machine_core::config::Config| config.request.settings = settings.into();
            common::play(shape.model("some-model", &server.at), set).await;
            let sent = body(&server.asked.lock().unwrap()[0]);
            assert_eq!(sent.pointer(path).is_some(), extra.is_some(), "{shape:?} {path}: {sent}");
        }
    }
}

/// Thinking that nobody vouches for is left out, and leaves no message behind that says nothing.
#[tokio::test]
async fn a_message_without_anything_is_none() {
    let frames = [
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "well"}}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "thinking", "thinking": "hm", "signature": ""}}),
    ];
    let bodies = sent(ANTHROPIC, vec![messages(&frames, "end_turn"), messages_text()]).await;
    let said: Vec<_> =
        bodies[1]["messages"].as_array().unwrap().iter().filter(|it| it["role"] == "assistant").collect();
    assert_eq!(said, [&json!({"role": "assistant", "content": "well"})]);
}
