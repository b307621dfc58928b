//! The model that is asked for, and the tools.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod common;

use common::answers::{
    chat, chat_text, completed, gemini_text, messages, messages_text, named, plain, responses_text,
};
use common::raw::Raw;
use common::{ANTHROPIC, GEMINI, OPENAI, RESPONSES, SHAPES, Shape, line, play};
use machine_core::config::{Config, Settings, ToolChoice};
use machine_host::{Agent, ToolCx, tool};
use serde_json::{Value, json};

#[tokio::test]
async fn the_model_that_is_asked_for_is_the_one_that_was_named() {
    let body = |asked: &str| serde_json::from_str::<Value>(asked.split_once("\r\n\r\n").unwrap().1).unwrap();
    let efforts = ["zero", "none", "minimal", "low", "medium", "high", "xhigh", "max"];
    let names = efforts.map(|effort| format!("some-{effort}"));
    for name in names.iter().map(|name| &**name).chain(["deepseek-r1-zero", "a::b", "a::b-max", "openai::b"])
    {
        let fireworks = Shape { provider: "fireworks", base: "/v1" };
        let ollama = Shape { provider: "ollama", base: "" };
        for (shape, answer) in [
            (OPENAI, chat_text()),
            (Shape { provider: "aliyun", base: "/v1" }, chat_text()),
            (fireworks, chat_text()),
            (RESPONSES, responses_text()),
            (ANTHROPIC, messages_text()),
            (ollama, String::new()),
        ] {
            let server = Raw::events(vec![answer]).await;
            let once = |config: &mut Config| config.retry.attempts = 1;
            play(shape.model(name, &server.at), once).await;
            let sent = body(&server.asked.lock().unwrap()[0]);
            let prefix = if shape == fireworks { "accounts/fireworks/models/" } else { "" };
            assert_eq!(sent["model"], format!("{prefix}{name}"), "{shape:?}");
            for effort in ["/reasoning_effort", "/reasoning/effort", "/thinking", "/output_config"] {
                assert_eq!(sent.pointer(effort), None, "{shape:?} {name}");
            }
        }
    }
    // There it stands in the path, and what would be cut is refused.
    for (name, asked) in [("a-b", 1), ("a::b", 0), ("some-high", 0)] {
        let server = Raw::events(vec![gemini_text()]).await;
        let settings = Settings { model: name.into(), ..Settings::default() };
        let set = |config: &mut Config| config.request.settings = settings.into();
        let played = play(GEMINI.model("some-model", &server.at), set).await;
        let seen = server.asked.lock().unwrap().clone();
        assert_eq!((seen.len(), played.failures().len()), (asked, 1 - asked), "{name}");
        for request in seen {
            assert!(request.starts_with("POST /v1beta/models/a-b:streamGenerateContent"), "{request}");
            let thinking = body(&request)["generationConfig"]["thinkingConfig"].clone();
            assert_eq!(thinking, Value::Null);
        }
    }
}

/// In some shapes the library takes these for tools of the provider, and leaves out what the host's own says.
#[tokio::test]
async fn a_tool_may_have_any_name() {
    let called = |name: &str, args: &Value| {
        let call = json!({"index": 0, "id": "x", "function": {"name": name, "arguments": args.to_string()}});
        let item =
            json!({"type": "function_call", "call_id": "x", "name": name, "arguments": args.to_string()});
        let block = json!({"type": "tool_use", "id": "x", "name": name, "input": args});
        let part = json!({"functionCall": {"name": name, "args": args}});
        [
            (OPENAI, chat(&[json!({"tool_calls": [call]})], "tool_calls"), chat_text()),
            (RESPONSES, named(&[completed(json!([item]))]), responses_text()),
            (
                ANTHROPIC,
                messages(
                    &[json!({"type": "content_block_start", "index": 0, "content_block": block})],
                    "tool_use",
                ),
                messages_text(),
            ),
            (
                GEMINI,
                plain(&[json!({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]})]),
                gemini_text(),
            ),
        ]
    };
    for (name, changed) in [
        ("web_search", vec![RESPONSES, ANTHROPIC]),
        ("googleSearch", vec![GEMINI]),
        ("urlContext", vec![GEMINI]),
    ] {
        for (at, shape) in SHAPES.into_iter().enumerate() {
            let sent = if changed.contains(&shape) { format!("{name}_") } else { name.to_owned() };
            let (of, call, answer) = called(&sent, &json!({})).into_iter().nth(at).unwrap();
            assert_eq!(of, shape);
            let server = Raw::events(vec![call, answer]).await;
            let own = tool(name, "of the host", |_: serde_json::Map<String, Value>, cx: ToolCx| async move {
                cx.text("found")
            });
            let agent =
                Agent::builder().model(shape.model("some-model", &server.at)).tool(own.touches_nothing());
            let choice = Settings { tool_choice: ToolChoice::Tool(name.into()), ..Settings::default() };
            let agent = agent.settings(choice).open().await.unwrap();
            assert_eq!(agent.answer("go").await.unwrap(), "well", "{name} {shape:?}");
            let history = agent.history().await.unwrap();
            assert!(
                history.iter().any(|entry| line(entry) == format!("{name} ok: found")),
                "{name} {shape:?}"
            );
            // What is offered, asked for, called and answered has one name.
            for (asked, times) in server.asked.lock().unwrap().iter().zip([2, 2]) {
                let asked = asked.split_once("\r\n\r\n").unwrap().1;
                let found = asked.matches(&format!("\"{sent}\"")).count();
                assert!(found >= times, "{name} {shape:?}: {found} in {asked}");
                assert!(sent == name || !asked.contains(&format!("\"{name}\"")), "{name} {shape:?}: {asked}");
            }
        }
    }
}
