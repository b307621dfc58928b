//! Calls of each shape: whose each piece is, in which order they stand, and what came of them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod common;

use common::answers::{
    calls, chat, chat_text, completed, gemini_text, messages, more, named, plain, responses_text, start, told,
};
use common::raw::Raw;
use common::{ANTHROPIC, GEMINI, OPENAI, Played, RESPONSES, Shape, agent, line};
use machine_core::event::Event;
use machine_core::response::ModelEvent;
use serde_json::{Value, json};

#[tokio::test]
async fn c_v03_pieces_find_their_call_by_its_position() {
    let same = [
        // One id for two calls, and their pieces mixed.
        calls(&[start(Some(0), Some("x"), ""), start(Some(1), Some("x"), "")]),
        more(1, r#"{"text":"#),
        more(0, r#"{"text":"a"}"#),
        more(1, r#""b"}"#),
    ];
    let reused = [
        // One position for two calls, each with an id of its own.
        calls(&[start(Some(0), Some("x"), r#"{"text":"a"}"#)]),
        calls(&[start(Some(0), Some("y"), r#"{"text":"b"}"#)]),
    ];
    let nameless = [
        // No ids at all.
        calls(&[start(Some(0), None, r#"{"text":"a"}"#), start(Some(1), None, "")]),
        more(1, r#"{"text":"b"}"#),
    ];
    let from_one = [
        // Positions that begin with one.
        calls(&[start(Some(1), Some("x"), "")]),
        more(1, r#"{"text":"a"}"#),
        calls(&[start(Some(2), Some("y"), r#"{"text":"b"}"#)]),
    ];
    let object = |index, id, text| json!({"index": index, "id": id, "function": {"name": "get", "arguments": {"text": text}}});
    let objects = [
        // Arguments that are no text.
        calls(&[object(0, "x", "a"), object(1, "y", "b")]),
    ];
    let objects_reused = [calls(&[object(0, "x", "a")]), calls(&[object(0, "y", "b")])];
    for deltas in [&same[..], &reused, &nameless, &from_one, &objects, &objects_reused] {
        let (played, _) = told(OPENAI, vec![chat(deltas, "tool_calls"), chat_text()]).await;
        let called = r#"assistant: get{"text":"a"} | get{"text":"b"}"#;
        assert_eq!(played.history[1..4], [called, "get ok: a!", "get ok: b!"], "{deltas:?}");
        assert_eq!((played.reason(), played.failures().len()), ("completed".into(), 0), "{deltas:?}");
    }
}

#[tokio::test]
async fn a_piece_that_the_library_would_drop_is_a_failure() {
    let deltas = [calls(&[start(None, Some("x"), r#"{"text":"a"}"#)])];
    let without = chat(&deltas, "tool_calls");
    // The whole input in the head of a call: without it the call would run with nothing.
    let head = json!({"type": "tool_use", "id": "t", "name": "get", "input": {"text": "a"}});
    let head = json!({"type": "content_block_start", "index": 0, "content_block": head});
    let whole = messages(&[head, json!({"type": "content_block_stop", "index": 0})], "tool_use");
    let delta = json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{"});
    let early = named(&[delta, completed(json!([]))]);
    for (shape, answer) in [(OPENAI, without), (ANTHROPIC, whole), (RESPONSES, early)] {
        let (played, _) = told(shape, vec![answer]).await;
        assert_eq!((played.failures(), &*played.reason()), (vec!["Unknown".into()], "failed Unknown"));
        assert_eq!(played.history, ["user: go"], "{shape:?}");
    }
}

#[tokio::test]
async fn c_v09_arguments_that_are_no_object_reach_the_engine_as_they_came() {
    for (args, quoted) in [("5", "5"), ("[]", "[]"), ("null", "null"), (r#"{"text": "#, r#"{"text": "#)] {
        let deltas = [calls(&[start(Some(0), Some("x"), args)])];
        let (played, asked) = told(OPENAI, vec![chat(&deltas, "tool_calls"), chat_text()]).await;
        assert_eq!(played.history[1], "assistant: get{}", "{args}");
        assert!(played.history[2].starts_with("get error bad_json: "), "{args}: {}", played.history[2]);
        assert!(played.history[2].ends_with(quoted), "{args}: {}", played.history[2]);
        // The call is told to the model as it stands in history.
        assert!(asked[1].contains(r#""arguments":"{}""#), "{}", asked[1]);
        let part = json!({"functionCall": {"name": "get", "args": serde_json::from_str::<Value>(args).unwrap_or(json!(args))}});
        let call = json!({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]});
        let (played, _) = told(GEMINI, vec![plain(&[call]), gemini_text()]).await;
        // There `null` cannot be told from nothing.
        let wanted = if args == "null" { "get error invalid_arguments: " } else { "get error bad_json: " };
        assert!(played.history[2].starts_with(wanted), "{args}: {}", played.history[2]);
    }
}

#[tokio::test]
async fn calls_that_come_with_the_end_alone_run_once() {
    let item = |id: &str, text: &str| json!({"type": "function_call", "call_id": id, "name": "get", "arguments": json!({"text": text}).to_string()});
    let added = json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "call_id": "x", "name": "get", "arguments": ""}});
    let delta = |args: &str| json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": args});
    let done = |index: u32, item: Value| json!({"type": "response.output_item.done", "output_index": index, "item": item});
    let late = [
        // Nothing but the end.
        vec![completed(json!([item("x", "a"), item("x", "b")]))],
        // Nothing but whole items.
        vec![done(0, item("x", "a")), done(1, item("x", "b")), completed(json!([]))],
        // One in pieces, one whole.
        vec![
            added.clone(),
            delta(r#"{"text":"#),
            delta(r#""a"}"#),
            done(0, item("x", "a")),
            done(1, item("x", "b")),
            completed(json!([item("x", "a"), item("x", "b")])),
        ],
        // One without pieces.
        vec![added.clone(), done(0, item("x", "a")), done(1, item("x", "b")), completed(json!([]))],
    ];
    for frames in late {
        let (played, _) = told(RESPONSES, vec![named(&frames), responses_text()]).await;
        assert_eq!(played.history[2..4], ["get ok: a!", "get ok: b!"], "{frames:?}");
        assert_eq!(played.history.len(), 5, "{frames:?}");
    }
    // Pieces that say something else than the whole: nothing runs.
    let twice = [added, delta(r#"{"text":"a"}"#), done(0, item("x", "b")), completed(json!([]))];
    let (played, _) = told(RESPONSES, vec![named(&twice), responses_text()]).await;
    assert_eq!((played.failures(), played.history.len()), (vec!["StreamCut".into()], 2));
}

#[tokio::test]
async fn a_position_is_no_number_of_calls() {
    let early = [
        calls(&[start(Some(1), Some("y"), r#"{"text":"a"}"#)]),
        calls(&[start(Some(0), Some("x"), r#"{"text":"#)]),
        more(0, r#""b"}"#),
    ];
    let far = [
        calls(&[start(Some(4_000_000_000), Some("x"), r#"{"text":"a"}"#)]),
        calls(&[start(Some(u32::MAX), Some("y"), r#"{"text":"b"}"#)]),
    ];
    for deltas in [&early[..], &far] {
        let (played, _) = told(OPENAI, vec![chat(deltas, "tool_calls"), chat_text()]).await;
        let called = r#"assistant: get{"text":"a"} | get{"text":"b"}"#;
        assert_eq!(played.history[1..4], [called, "get ok: a!", "get ok: b!"], "{deltas:?}");
    }
    let mut beyond = start(None, Some("x"), r#"{"text":"a"}"#);
    beyond["index"] = json!(u64::MAX);
    let (played, _) = told(OPENAI, vec![chat(&[calls(&[beyond])], "tool_calls")]).await;
    assert_eq!((played.failures(), played.history.len()), (vec!["Unknown".into()], 1));
}

#[tokio::test]
async fn ten_thousand_pieces_are_passed_on_as_they_came() {
    let head = calls(&[start(Some(0), Some("x"), r#"{"text":""#)]);
    let pieces = std::iter::repeat_n(more(0, "ab"), 10_000);
    let deltas: Vec<Value> = [head].into_iter().chain(pieces).chain([more(0, r#""}"#)]).collect();
    let server = Raw::events(vec![chat(&deltas, "tool_calls"), chat_text()]).await;
    let (agent, mut events) = agent(OPENAI.model("some-model", &server.at), |_| {}).await;
    let mut lengths = Vec::new();
    let mut prompt = std::pin::pin!(agent.prompt("go"));
    loop {
        tokio::select! {
            biased;
            Some(seen) = events.next() => {
                if let Event::Delta { delta: ModelEvent::CallArgs { piece, .. }, .. } = &*seen.unwrap().event {
                    lengths.push(piece.len());
                }
            }
            end = &mut prompt => {
                end.unwrap();
                break;
            }
        }
    }
    let history = agent.history().await.unwrap();
    assert!(history.iter().any(|entry| line(entry) == format!("get ok: {}!", "ab".repeat(10_000))));
    assert_eq!((lengths.len(), lengths.iter().sum::<usize>()), (10_002, 20_000 + r#"{"text":""}"#.len()));
}

#[tokio::test]
async fn c_b04_a_call_without_pieces_stands_where_its_head_was() {
    let item = |id: &str, text: &str| json!({"type": "function_call", "call_id": id, "name": "get", "arguments": text});
    let frame = |kind: &str, index: u32, item: Value| json!({"type": format!("response.output_item.{kind}"), "output_index": index, "item": item});
    let (first, second) = (r#"{"text":"a"}"#, r#"{"text":"b"}"#);
    let delta = json!({"type": "response.function_call_arguments.delta", "output_index": 1, "delta": second});
    let frames = [
        frame("added", 0, item("x", "")),
        frame("added", 1, item("y", "")),
        delta,
        frame("done", 0, item("x", first)),
        frame("done", 1, item("y", second)),
        completed(json!([item("x", first), item("y", second)])),
    ];
    let (played, _) = told(RESPONSES, vec![named(&frames), responses_text()]).await;
    let called = r#"assistant: get{"text":"a"} | get{"text":"b"}"#;
    assert_eq!(played.history[1..4], [called, "get ok: a!", "get ok: b!"]);
}

#[tokio::test]
async fn c_v03_an_id_that_the_library_makes_up_is_none() {
    let ids = |played: &Played| -> Vec<String> {
        let of = |event: &Event| match event {
            Event::Delta { delta: ModelEvent::CallStart { id, .. }, .. } => Some(id.to_string()),
            _ => None,
        };
        played.events.iter().filter_map(of).collect()
    };
    // With an id, and without. One that looks like the library's own is the provider's, if it stands there.
    for (given, wanted) in
        [(Some("call_12345678"), "call_12345678"), (Some("call#get#0"), "call#get#0"), (None, "")]
    {
        let mut call = json!({"function": {"name": "get", "arguments": {"text": "a"}}});
        let mut part = json!({"functionCall": {"name": "get", "args": {"text": "a"}}});
        if let Some(given) = given {
            (call["id"], part["functionCall"]["id"]) = (given.into(), given.into());
        }
        let line = |message: Value, done: bool| {
            json!({"message": message, "done": done, "done_reason": done.then_some("stop")}).to_string()
                + "\n"
        };
        let first = line(json!({"role": "assistant", "content": "", "tool_calls": [call]}), true);
        let last = line(json!({"role": "assistant", "content": "well"}), true);
        let (played, _) = told(Shape { provider: "ollama", base: "" }, vec![first, last]).await;
        assert_eq!(ids(&played), [wanted], "{:?}", played.history);
        let part = json!({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]});
        let (played, _) = told(GEMINI, vec![plain(&[part]), gemini_text()]).await;
        assert_eq!(ids(&played), [wanted], "{:?}", played.history);
    }
}
