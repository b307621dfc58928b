//! What no server of others can be made to say: raw bytes, and what must come of them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod common;

use common::answers::{
    calls, chat, chat_text, completed, gemini_text, messages_text, named, plain, responses_text, start, told,
};
use common::raw::Raw;
use common::{ANTHROPIC, GEMINI, OPENAI, RESPONSES, SHAPES, Shape, play};
use machine_core::config::{Settings, ToolChoice};
use machine_core::event::Event;
use machine_core::response::{Finish, ModelEvent};
use machine_genai::Genai;
use serde_json::{Value, json};

#[tokio::test]
async fn the_first_error_ends_it_whatever_comes_after() {
    let error = json!({"error": {"message": "slow down", "code": "rate_limit_exceeded"}});
    let rest = chat(&[calls(&[start(Some(0), Some("x"), r#"{"text":"a"}"#)])], "tool_calls");
    let broken = plain(&[error]) + &rest;
    let (played, asked) = told(OPENAI, vec![broken, chat_text()]).await;
    assert_eq!((played.failures(), asked.len()), (vec!["RateLimit".into()], 2));
    assert_eq!(played.history, ["user: go", "assistant: well"]);

    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let (played, _) = told(ANTHROPIC, vec![named(&[error]) + &messages_text(), messages_text()]).await;
    assert_eq!((played.failures(), played.history.len()), (vec!["Overloaded".into()], 2));

    let error = json!({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}});
    let (played, _) = told(GEMINI, vec![plain(&[error]) + &gemini_text(), gemini_text()]).await;
    assert_eq!((played.failures(), played.history.len()), (vec!["Overloaded 503".into()], 2));

    // The library tells the text of this one alone.
    let error = json!({"code": "rate_limit_exceeded", "message": "slow down"});
    let failed = json!({"id": "r", "status": "failed", "model": "m", "error": error});
    let failed = named(&[json!({"type": "response.failed", "response": failed})]);
    let (played, _) = told(RESPONSES, vec![failed, responses_text()]).await;
    assert_eq!((played.failures(), played.history.len()), (vec!["RateLimit".into()], 2));
}

#[tokio::test]
async fn c_t08_an_end_without_a_reason_is_no_success() {
    let done = "data: [DONE]\n\n".to_owned();
    let open = plain(&[json!({"choices": [{"delta": {"content": "half"}}]})]);
    let (played, _) = told(OPENAI, vec![open.clone() + &done, open, chat_text()]).await;
    assert_eq!(played.failures(), ["StreamCut", "StreamCut"]);
    assert_eq!(played.history, ["user: go", "assistant: well"]);
    // A frame that is cut in two, at its end.
    let whole = chat_text();
    let (played, _) = told(OPENAI, vec![whole[..whole.len() / 2].to_owned(), chat_text()]).await;
    assert_eq!(played.failures(), ["StreamCut"]);
    // Nothing at all.
    for (shape, text) in [
        (OPENAI, chat_text()),
        (RESPONSES, responses_text()),
        (ANTHROPIC, messages_text()),
        (GEMINI, gemini_text()),
    ] {
        let (played, _) = told(shape, vec![String::new(), text]).await;
        assert_eq!((played.failures(), played.history.len()), (vec!["StreamCut".into()], 2), "{shape:?}");
    }
}

#[tokio::test]
async fn a_frame_that_the_library_passes_over_is_a_failure() {
    let broken = responses_text().replacen("data: {", "data: {{", 1);
    let (played, _) = told(RESPONSES, vec![broken, responses_text()]).await;
    assert_eq!((played.failures(), played.history.len()), (vec!["StreamCut".into()], 2));
}

#[tokio::test]
async fn c_t08_what_is_withheld_is_no_answer() {
    let refusal = chat(&[json!({"refusal": "I cannot"})], "stop");
    let blocked = plain(&[json!({"promptFeedback": {"blockReason": "SAFETY"}})]);
    let details = json!({"id": "r", "status": "incomplete", "model": "m", "incomplete_details": {"reason": "content_filter"}});
    let filtered = named(&[
        json!({"type": "response.output_text.delta", "output_index": 0, "delta": "half"}),
        json!({"type": "response.incomplete", "response": details}),
    ]);
    for (shape, answer, raw) in
        [(OPENAI, refusal, "refusal"), (GEMINI, blocked, "SAFETY"), (RESPONSES, filtered, "content_filter")]
    {
        let (played, _) = told(shape, vec![answer]).await;
        assert_eq!(played.reason(), "filtered", "{shape:?}");
        assert_eq!(played.finishes(), [(Finish::Filtered, raw.to_owned())]);
    }
    let paused = messages_text().replace("end_turn", "pause_turn");
    let (played, _) = told(ANTHROPIC, vec![paused]).await;
    assert_eq!(played.finishes(), [(Finish::Suspended, "pause_turn".to_owned())]);
}

#[tokio::test]
async fn c_m04_nobody_there_is_a_lost_connection() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    drop(listener);
    let played = play(OPENAI.model("some-model", &format!("http://me:hush@{host}/hush")), |_| {}).await;
    assert_eq!(played.failures(), ["Connection", "Connection", "Connection"]);
    // The host is told, as a port may be mistyped; what else stands in an address may be a key.
    let told = format!("{:?}", played.end.reason);
    assert!(told.contains(&format!("{host}: ")) && !told.contains("hush"), "{told}");
    // A server that hangs up before it answers.
    let server = Raw::bytes(vec![
        String::new(),
        format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}", chat_text()),
    ])
    .await;
    let played = play(OPENAI.model("some-model", &server.at), |_| {}).await;
    assert_eq!((played.failures(), &*played.reason()), (vec!["Connection".into()], "completed"));
}

/// A base URL that leads to a page, and a server that does not stream.
#[tokio::test]
async fn c_t08_what_is_no_stream_is_told_as_such() {
    let whole = json!({"choices": [{"message": {"content": "well"}, "finish_reason": "stop"}]}).to_string();
    for (kind, body) in
        [("text/html", "<html>Sign in</html>"), ("application/json", &*whole), ("text/plain", "")]
    {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n");
        for shape in [OPENAI, RESPONSES, ANTHROPIC, GEMINI] {
            let server = Raw::bytes(vec![format!("{head}{body}")]).await;
            let model = shape.model("some-model", &server.at);
            let played = play(model, |config| config.retry.attempts = 1).await;
            let told = format!("{:?}", played.end.reason);
            assert!(told.contains("no stream of events"), "{shape:?} {kind}: {told}");
        }
    }
}

#[tokio::test]
async fn no_redirect_is_followed() {
    let other = Raw::events(vec![chat_text()]).await;
    let moved = format!(
        "HTTP/1.1 307 Moved\r\nLocation: {}/v1/chat/completions\r\nContent-Length: 0\r\n\r\n",
        other.at
    );
    let server = Raw::bytes(vec![moved]).await;
    let played = play(OPENAI.model("some-model", &server.at), |_| {}).await;
    assert_eq!(
        (played.failures(), &*played.reason()),
        (vec!["InvalidRequest 307".into()], "failed InvalidRequest")
    );
    assert!(other.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn c_u01_what_a_cut_stream_told_is_booked() {
    let whole = messages_text();
    let before = |name: &str| whole[..whole.find(name).unwrap()].to_owned();
    // Once before anything was said, and once in the middle.
    let cut = vec![before("event: content_block_start"), before("event: message_delta"), whole.clone()];
    let (played, _) = told(ANTHROPIC, cut).await;
    assert_eq!(played.failures(), ["StreamCut", "StreamCut"]);
    let usage = played.end.usage;
    assert_eq!((usage.unknown_attempts, usage.known.input, usage.known.cached), (0, 21, 12));
    assert_eq!(usage.known.output, 1 + 1 + 9);
}

#[tokio::test]
async fn what_is_set_is_sent() {
    let server = Raw::events(vec![chat_text()]).await;
    let settings = Settings {
        model: "another".into(),
        tool_choice: ToolChoice::Required,
        extra: Some(r#"{"temperature": 0.5, "max_tokens": 7, "body": {"user": "u"}}"#.into()),
    };
    play(OPENAI.model("some-model", &server.at), |config| config.request.settings = settings.into()).await;
    let asked = server.asked.lock().unwrap()[0].clone();
    let (head, body) = asked.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v1/chat/completions "), "{head}");
    assert!(head.to_ascii_lowercase().contains("authorization: bearer test-key"), "{head}");
    let body: Value = serde_json::from_str(body).unwrap();
    for (name, value) in [
        ("model", json!("another")),
        ("tool_choice", json!("required")),
        ("temperature", json!(0.5)),
        ("user", json!("u")),
        ("stream_options", json!({"include_usage": true})),
    ] {
        assert_eq!(body[name], value, "{body}");
    }
    assert_eq!(body["messages"][0], json!({"role": "system", "content": "be brief"}));
    assert_eq!(body["tools"][0]["function"]["name"], "get");
}

#[tokio::test]
async fn media_that_a_model_makes_are_kept() {
    let part = json!({"inlineData": {"mimeType": "image/png", "data": "AAAA"}});
    let image = plain(&[json!({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]})]);
    let (played, _) = told(GEMINI, vec![image]).await;
    assert_eq!((played.reason(), played.failures().len()), ("completed".into(), 0));
    assert_eq!(played.history[1], "assistant: [image/png data:image/png;base64,aaaa]");
}

#[tokio::test]
async fn c_m13_a_server_that_says_nothing_is_waited_for_by_the_engine() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = format!("http://{}", silent.local_addr().unwrap());
    let played = play(OPENAI.model("some-model", &at), |config| {
        (config.turn.stream_idle_ms, config.retry.attempts) = (100, 2);
    });
    let played = played.await;
    assert_eq!((played.failures(), &*played.reason()), (vec!["Timeout".into(); 2], "failed Timeout"));
}

#[tokio::test]
async fn an_error_that_the_library_passes_over_is_told() {
    let half = json!({"message": {"role": "assistant", "content": "half"}, "done": false});
    let answer = format!("{half}\n{}\n", json!({"error": "the runner stopped"}));
    let (played, _) = told(Shape { provider: "ollama", base: "" }, vec![answer]).await;
    assert_eq!((played.failures(), played.history.len()), (vec!["Unknown".into()], 1));
    assert!(format!("{:?}", played.end.reason).contains("the runner stopped"));
}

#[tokio::test]
async fn a_key_that_comes_back_is_not_told() {
    let said = "Incorrect API key provided: test-key. Ask for another.";
    // Once in the middle, and once where what is said is cut.
    let long = "x".repeat(500 - "401 Unauthorized: Incorrect API key provided: test".len());
    for before in ["", &long] {
        let body = json!({"error": {"message": format!("{before}{said}")}}).to_string();
        let head = format!("HTTP/1.1 401 Unauthorized\r\nContent-Length: {}\r\n\r\n", body.len());
        for shape in SHAPES {
            let server = Raw::bytes(vec![format!("{head}{body}")]).await;
            let played = play(shape.model("some-model", &server.at), |_| {}).await;
            let told = format!("{:?} {:?}", played.end.reason, played.events);
            assert!(
                told.contains("key provided: …") && !told.contains("provided: test"),
                "{shape:?}: {told}"
            );
            assert!(!told.contains("for another") || before.is_empty(), "{shape:?}: {told}");
        }
    }
}

/// The library tells what a frame of Anthropic's is by the line before it, which may be missing or come apart from it.
#[tokio::test]
async fn no_frame_is_lost_without_its_name() {
    let whole = messages_text();
    let names = whole.lines().filter(|line| line.starts_with("event: "));
    let apart = names.clone().map(|name| whole.replace(&format!("{name}\n"), &format!("{name}\n\n")));
    let without = whole.lines().filter(|line| !line.starts_with("event: ")).map(|line| format!("{line}\n"));
    for answer in apart.chain([without.collect()]) {
        let (played, _) = told(ANTHROPIC, vec![answer.clone()]).await;
        assert_eq!(played.history, ["user: go", "assistant: well"], "{answer}");
        assert_eq!((played.end.usage.known.input, played.end.usage.known.output), (7, 9), "{answer}");
    }
    let error =
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": "too many blocks"}});
    let (played, _) = told(ANTHROPIC, vec![plain(&[error])]).await;
    assert_eq!(played.failures(), ["InvalidRequest"]);
}

#[tokio::test]
async fn an_error_is_one_wherever_it_stands() {
    let choice =
        json!({"choices": [{"error": {"code": 429, "message": "slow down"}, "finish_reason": "error"}]});
    let flat = json!({"object": "error", "message": "slow down", "code": "429"});
    for error in [choice, flat] {
        let (played, _) = told(OPENAI, vec![plain(&[error]), chat_text()]).await;
        assert_eq!((played.failures(), played.history.len()), (vec!["RateLimit 429".into()], 2));
    }
    // The first one counts.
    let twice = [
        json!({"error": {"code": 429, "message": "slow down"}}),
        json!({"error": {"code": 401, "message": "who?"}}),
    ];
    let (played, _) = told(OPENAI, vec![plain(&twice), chat_text()]).await;
    assert_eq!((played.failures(), played.history.len()), (vec!["RateLimit 429".into()], 2));
    let flat = json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow down"});
    let (played, _) = told(RESPONSES, vec![named(&[flat]), responses_text()]).await;
    assert_eq!((played.failures(), played.history.len()), (vec!["RateLimit".into()], 2));
    // Some say with each frame that there is none.
    let none = chat_text().replace(r#""choices":"#, r#""error":null,"choices":"#);
    let (played, _) = told(OPENAI, vec![none]).await;
    assert_eq!((played.failures().len(), &*played.history[1]), (0, "assistant: well"));
}

#[tokio::test]
async fn every_part_is_told_in_its_place() {
    let parts = json!([
        {"text": "one", "thought": true}, {"text": "two", "thought": true}, {"text": "A", "thoughtSignature": "S1"},
        {"functionCall": {"name": "get", "args": {"text": "a"}}, "thoughtSignature": "S2"}, {"text": "B"},
    ]);
    let answer = plain(&[json!({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})]);
    let (played, _) = told(GEMINI, vec![answer, gemini_text()]).await;
    let wanted = r#"assistant: (onetwo gemini:s1) | a | ( gemini:s2) | get{"text":"a"} | b"#;
    assert_eq!((&*played.history[1], &*played.history[2]), (wanted, "get ok: a!"));

    let thinking = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]);
    let listed =
        chat(&[json!({"content": thinking}), json!({"content": [{"type": "text", "text": "well"}]})], "stop");
    let (played, _) = told(OPENAI, vec![listed]).await;
    assert_eq!(played.history[1], "assistant: (hm) | well");
    let both =
        chat(&[json!({"reasoning_content": "", "reasoning": "hm"}), json!({"content": "well"})], "stop");
    let (played, _) = told(OPENAI, vec![both]).await;
    assert_eq!(played.history[1], "assistant: (hm) | well");

    // With the end alone, also where that has not all fields.
    let said = json!([{"type": "message", "content": [{"type": "output_text", "text": "well"}]}]);
    for missing in ["", "model", "status", "id"] {
        let mut end = completed(said.clone());
        end["response"].as_object_mut().unwrap().retain(|name, _| name != missing);
        let (played, _) = told(RESPONSES, vec![named(&[end.clone()])]).await;
        assert_eq!(played.history, ["user: go", "assistant: well"], "{missing}");
        // And once where it was told before.
        let delta = json!({"type": "response.output_text.delta", "output_index": 0, "delta": "well"});
        let (played, _) = told(RESPONSES, vec![named(&[delta, end])]).await;
        assert_eq!(played.history, ["user: go", "assistant: well"], "{missing}");
    }
}

#[tokio::test]
async fn what_nobody_can_keep_is_told_and_not_tried_again() {
    let images = json!({"images": [{"type": "image_url"}]});
    let reference = json!({"content": [{"type": "reference", "reference_ids": [1]}]});
    let code = json!({"candidates": [{"content": {"parts": [{"executableCode": {"code": "1"}}]}, "finishReason": "STOP"}]});
    for (shape, answer, what) in [
        (OPENAI, chat(&[images], "stop"), "the stream has images"),
        (OPENAI, chat(&[reference], "stop"), "a part of the type `reference`"),
        (
            OPENAI,
            chat(&[json!({"content": {"text": "x"}})], "stop"),
            "content that is neither text nor a list",
        ),
        (GEMINI, plain(&[code]), "a part of the type `executableCode`"),
    ] {
        let (played, _) = told(shape, vec![answer]).await;
        assert_eq!(played.failures(), ["Unknown"], "{what}");
        let told = format!("{:?}", played.end.reason);
        assert!(told.contains(what), "{told}");
    }
}

/// `OpenRouter` tells tokens in a frame with a choice, which says nothing.
#[tokio::test]
async fn c_u01_tokens_are_booked_wherever_they_stand() {
    let usage = json!({"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": null}], "usage": {"prompt_tokens": 5, "completion_tokens": 7}});
    let answer = chat_text().replace("data: [DONE]", &format!("data: {usage}\n\ndata: [DONE]"));
    let (played, _) = told(OPENAI, vec![answer]).await;
    let usage = played.end.usage;
    assert_eq!((usage.known.input, usage.known.output, usage.unknown_attempts), (5, 7, 0));
    // All went into thinking.
    let end = json!({"candidates": [{"content": {"parts": [{"text": "well"}]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 5, "thoughtsTokenCount": 7}});
    let (played, _) = told(GEMINI, vec![plain(&[end])]).await;
    assert_eq!((played.end.usage.known.input, played.end.usage.known.output), (5, 7));
}

#[tokio::test]
async fn what_does_not_change_is_told_once() {
    let part = |text: &str| json!({"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {"content": text}}], "usage": {"prompt_tokens": 5, "completion_tokens": 7}});
    let answer = plain(&[part("we"), part("ll")]) + &chat(&[], "stop");
    let (played, _) = told(OPENAI, vec![answer]).await;
    let count = |is: fn(&ModelEvent) -> bool| {
        played.events.iter().filter(|event| matches!(event, Event::Delta { delta, .. } if is(delta))).count()
    };
    assert_eq!(played.history[1], "assistant: well");
    assert_eq!(count(|delta| matches!(delta, ModelEvent::Text(_))), 2);
    for is in [
        (|delta| matches!(delta, ModelEvent::MessageId(_))) as fn(&ModelEvent) -> bool,
        |delta| matches!(delta, ModelEvent::Usage(_)),
        |delta| matches!(delta, ModelEvent::Started { .. }),
    ] {
        assert_eq!(count(is), 1);
    }
}

/// Anthropic may tell tokens after the reason, and a signature at the very end.
#[tokio::test]
async fn the_end_comes_in_any_order() {
    let frames = [
        json!({"type": "message_start", "message": {"id": "msg_1"}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "well"}}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "thinking", "thinking": "hm"}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "signature_delta", "signature": "S"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        json!({"type": "message_delta", "delta": {}, "usage": {"input_tokens": 5, "output_tokens": 7}}),
        json!({"type": "message_stop"}),
    ];
    let (played, _) = told(ANTHROPIC, vec![named(&frames)]).await;
    assert_eq!(played.history[1], "assistant: well | (hm anthropic:s)");
    assert_eq!((played.end.usage.known.input, played.end.usage.known.output), (5, 7));
}

/// A server on this machine may want just any key, which may be a word.
#[tokio::test]
async fn a_short_key_is_no_secret() {
    let body = json!({"error": {"message": "none of these models is here"}}).to_string();
    let answer = format!("HTTP/1.1 404 Not Found\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let server = Raw::bytes(vec![answer]).await;
    let model = Genai::named("openai:any").unwrap().key("none").base_url(&server.at).build().unwrap();
    let played = play(model, |_| {}).await;
    assert!(format!("{:?}", played.end.reason).contains("none of these models"));
}
