//! The model that is asked for.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod common;

use common::answers::{chat_text, gemini_text, messages_text, responses_text};
use common::raw::Raw;
use common::{ANTHROPIC, GEMINI, OPENAI, RESPONSES, Shape, play};
use machine_core::config::{Config, Settings};
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
            assert_eq!(thinking, json!({"includeThoughts": true}));
        }
    }
}
