//! Calls of each shape: whose each piece is, in which order they stand, and what came of them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod common;

use common::answers::{
    calls, chat, chat_text, completed, gemini_text, messages, messages_text, more, named, plain,
    responses_text, start, told,
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
    let renamed =
        |index, id, args| calls(&[json!({"index": index, "id": id, "function": {"arguments": args}})]);
    let ids_of_pieces = [
        // Each piece has an id of its own. A call begins with a name.
        calls(&[start(Some(0), Some("x1"), r#"{"text":"#)]),
        renamed(0, "x2", r#""a"}"#),
        calls(&[start(Some(1), Some("y1"), "")]),
        renamed(1, "y2", r#"{"text":"b"}"#),
    ];
    let late_ids = [
        // The id comes with a later piece.
        calls(&[start(Some(0), None, "")]),
        renamed(0, "x", r#"{"text":"a"}"#),
        calls(&[start(Some(1), None, r#"{"text":"#)]),
        renamed(1, "y", r#""b"}"#),
    ];
    for deltas in
        [&same[..], &reused, &nameless, &from_one, &objects, &objects_reused, &ids_of_pieces, &late_ids]
    {
        let (played, _) = told(OPENAI, vec![chat(deltas, "tool_calls"), chat_text()]).await;
        let called = r#"assistant: get{"text":"a"} | get{"text":"b"}"#;
        assert_eq!(played.history[1..4], [called, "get ok: a!", "get ok: b!"], "{deltas:?}");
        assert_eq!((played.reason(), played.failures().len()), ("completed".into(), 0), "{deltas:?}");
    }
}

#[tokio::test]
async fn what_the_library_would_drop_is_a_failure() {
    let deltas = [calls(&[start(None, Some("x"), r#"{"text":"a"}"#)])];
    let without = chat(&deltas, "tool_calls");
    // A tool of the provider's own: what it did would be lost.
    let head = json!({"type": "server_tool_use", "id": "t", "name": "web_search", "input": {}});
    let theirs = messages(&[block(0, head)], "tool_use");
    let cited = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": {}}});
    let cited = messages(&[block(0, json!({"type": "text", "text": ""})), cited], "end_turn");
    let delta =
        json!({"type": "response.function_call_arguments.delta", "output_index": "first", "delta": "{"});
    let early = named(&[delta, completed(json!([]))]);
    let text = |index: u32| json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": "x"}});
    let head = |index: u32| block(index, json!({"type": "text", "text": ""}));
    let mixed = messages(&[head(0), head(1), text(0), text(1)], "end_turn");
    let old = chat(&[json!({"function_call": {"name": "get", "arguments": "{}"}})], "function_call");
    let second = chat_text().replace(r#""index":0"#, r#""index":1"#);
    for (shape, answer, what) in [
        (OPENAI, without, "a piece of a call without its position"),
        (OPENAI, old, "a call in the old shape, `function_call`"),
        (OPENAI, second, "a second answer"),
        (ANTHROPIC, theirs, "a block of the type `server_tool_use`"),
        (ANTHROPIC, cited, "a piece of the type `citations_delta`"),
        (RESPONSES, early, "a piece of a call without its position"),
        (ANTHROPIC, mixed, "the block of a piece: blocks are mixed"),
    ] {
        let (played, _) = told(shape, vec![answer]).await;
        assert_eq!((played.failures(), &*played.reason()), (vec!["Unknown".into()], "failed Unknown"));
        assert_eq!(played.history, ["user: go"], "{shape:?}");
        let reason = format!("{:?}", played.end.reason);
        assert!(reason.contains(what), "{reason}");
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
        // A tool of free text, which nobody offered.
        let item = json!({"type": "custom_tool_call", "call_id": "x", "name": "get", "input": args});
        let (played, _) = told(RESPONSES, vec![named(&[completed(json!([item]))]), responses_text()]).await;
        assert!(played.history[2].starts_with("get error bad_json: "), "{args}: {}", played.history[2]);
    }
}

#[tokio::test]
async fn calls_that_come_with_the_end_alone_run_once() {
    let item = |id: &str, text: &str| json!({"type": "function_call", "call_id": id, "name": "get", "arguments": json!({"text": text}).to_string()});
    let added = json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "call_id": "x", "name": "get", "arguments": ""}});
    let delta = |args: &str| json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": args});
    let args_done = |args: &str| json!({"type": "response.function_call_arguments.done", "output_index": 0, "arguments": args});
    let done = |index: u32, item: Value| json!({"type": "response.output_item.done", "output_index": index, "item": item});
    let object = |text: &str| json!({"type": "function_call", "call_id": "x", "name": "get", "arguments": {"text": text}});
    let custom = |text: &str| json!({"type": "custom_tool_call", "call_id": "x", "name": "get", "input": json!({"text": text}).to_string()});
    let late = [
        // Nothing but the end.
        vec![completed(json!([item("x", "a"), item("x", "b")]))],
        // Arguments that are no text.
        vec![completed(json!([object("a"), object("b")]))],
        vec![done(0, object("a")), done(1, object("b")), completed(json!([object("a"), object("b")]))],
        vec![completed(json!([custom("a"), custom("b")]))],
        // A head, and the arguments with the end of all.
        vec![added.clone(), completed(json!([item("x", "a"), item("x", "b")]))],
        // The arguments with their own end.
        vec![added.clone(), args_done(r#"{"text":"a"}"#), done(1, item("y", "b")), completed(json!([]))],
        // Pieces before their head.
        vec![
            delta(r#"{"text":"a"}"#),
            done(0, item("x", "a")),
            done(1, item("x", "b")),
            completed(json!([])),
        ],
        // The second one with the end of all alone, at its position and at another one.
        vec![added.clone(), delta(r#"{"text":"a"}"#), completed(json!([item("x", "a"), item("y", "b")]))],
        vec![added.clone(), delta(r#"{"text":"a"}"#), completed(json!([item("y", "b")]))],
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
    // What is said again and differs: nothing runs.
    for again in [done(0, item("x", "b")), args_done(r#"{"text":"b"}"#), completed(json!([item("x", "b")]))] {
        let twice = [added.clone(), delta(r#"{"text":"a"}"#), again, completed(json!([]))];
        let (played, _) = told(RESPONSES, vec![named(&twice), responses_text()]).await;
        assert_eq!((played.failures(), played.history.len()), (vec!["StreamCut".into()], 2));
    }
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

/// The head of a block of Anthropic's, with all that it has.
fn block(index: u32, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

#[tokio::test]
async fn what_stands_in_the_head_of_a_block_is_not_lost() {
    let stop = |index: u32| json!({"type": "content_block_stop", "index": index});
    let more =
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "no"}});
    let blocks = [
        block(0, json!({"type": "thinking", "thinking": "hm", "signature": "S"})),
        stop(0),
        block(1, json!({"type": "text", "text": "I k"})),
        more,
        stop(1),
        block(2, json!({"type": "text", "text": "w it"})),
        stop(2),
        block(3, json!({"type": "tool_use", "id": "t", "name": "get", "input": {"text": "a"}})),
        stop(3),
    ];
    let (played, _) = told(ANTHROPIC, vec![messages(&blocks, "tool_use"), messages_text()]).await;
    let said = r#"assistant: (hm anthropic:S) | I know it | get{"text":"a"}"#.to_lowercase();
    assert_eq!(played.history[1..3], [&*said, "get ok: a!"]);
}

/// Of several results in one message the library sends the last one alone there.
#[tokio::test]
async fn c_v05_every_result_reaches_ollama() {
    let call = |text: &str| json!({"function": {"name": "get", "arguments": {"text": text}}});
    let line =
        |message: Value| json!({"message": message, "done": true, "done_reason": "stop"}).to_string() + "\n";
    let first =
        line(json!({"role": "assistant", "content": "", "tool_calls": [call("a"), call("b"), call("c")]}));
    let last = line(json!({"role": "assistant", "content": "well"}));
    let (played, asked) = told(Shape { provider: "ollama", base: "" }, vec![first, last]).await;
    assert_eq!(played.history[2..5], ["get ok: a!", "get ok: b!", "get ok: c!"]);
    let body: Value = serde_json::from_str(asked[1].split_once("\r\n\r\n").unwrap().1).unwrap();
    let results: Vec<_> =
        body["messages"].as_array().unwrap().iter().filter(|it| it["role"] == "tool").collect();
    let contents: Vec<_> = results.iter().map(|it| it["content"].as_str().unwrap()).collect();
    assert_eq!(contents, ["a!", "b!", "c!"]);
}

#[tokio::test]
async fn c_m01_a_call_is_told_by_its_name_and_not_by_a_guess() {
    let piece = |id: &str, name: &str, args: &str| {
        calls(&[json!({"index": 0, "id": id, "function": {"name": name, "arguments": args}})])
    };
    // A name that comes late, also behind arguments.
    for late in [
        vec![piece("x", "", ""), piece("", "get", ""), piece("", "", r#"{"text":"a"}"#)],
        vec![piece("x", "", r#"{"text":"#), piece("", "get", r#""a"}"#)],
        vec![piece("x", "get", r#"{"text":"#), piece("x", "get", r#""a"}"#)],
    ] {
        let (played, _) = told(OPENAI, vec![chat(&late, "tool_calls"), chat_text()]).await;
        assert_eq!(played.history[1..3], [r#"assistant: get{"text":"a"}"#, "get ok: a!"], "{late:?}");
    }
    // None at all: the model reads that there is no such tool.
    let none = [piece("x", "", r#"{"text":"a"}"#)];
    let (played, _) = told(OPENAI, vec![chat(&none, "tool_calls"), chat_text()]).await;
    assert_eq!((played.history.len(), played.failures().len()), (4, 0), "{:?}", played.history);
    // A name in pieces may be a tool's own name by then. Pieces of a call that lost its position may be another's.
    let broken = [piece("x", "get", ""), piece("x", "_all", r#"{"text":"a"}"#)];
    let mixed = [piece("x", "get", ""), piece("y", "get", ""), piece("x", "", r#"{"text":"a"}"#)];
    for (deltas, what) in [
        (&broken[..], "the name of a call in pieces, `get` and `_all`"),
        (&mixed, "pieces of two calls at the position 0"),
    ] {
        let (played, _) = told(OPENAI, vec![chat(deltas, "tool_calls")]).await;
        assert_eq!(played.history, ["user: go"]);
        let told = format!("{:?}", played.end.reason);
        assert!(told.contains(what), "{told}");
    }
}
