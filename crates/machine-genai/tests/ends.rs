//! How streams end, and what is told whole, or once more, with the end.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod common;

use common::answers::{
    chat, chat_text, completed, gemini_text, messages, messages_text, named, plain, responses_text, told,
};
use common::{ANTHROPIC, GEMINI, OPENAI, Played, RESPONSES};
use machine_core::event::{AttemptEnd, Event};
use machine_core::response::{Finish, ModelEvent};
use serde_json::{Value, json};

/// Whether the time of the first token is known, of each attempt.
fn first_tokens(played: &Played) -> Vec<bool> {
    let of = |event: &Event| match event {
        Event::AttemptEnded { end: AttemptEnd::Finished { first_token_ms, .. }, .. } => {
            Some(first_token_ms.is_some())
        }
        _ => None,
    };
    played.events.iter().filter_map(of).collect()
}

/// A stream that breaks off is no success, whatever it had said by then.
#[tokio::test]
async fn c_t08_a_cut_stream_is_tried_again_whatever_it_said() {
    let refusal = plain(&[json!({"choices": [{"delta": {"refusal": "I"}}]})]);
    let without_done = chat_text().replace("data: [DONE]\n\n", "");
    let refused = named(&[json!({"type": "response.refusal.delta", "delta": "I"})]);
    let whole = messages_text();
    let without_stop = whole[..whole.find("event: message_stop").unwrap()].to_owned();
    for (shape, cut, answer) in [
        (OPENAI, refusal, chat_text()),
        (OPENAI, without_done, chat_text()),
        (RESPONSES, refused, responses_text()),
        (ANTHROPIC, without_stop, messages_text()),
    ] {
        let (played, _) = told(shape, vec![cut.clone(), answer]).await;
        assert_eq!((played.failures(), &*played.reason()), (vec!["StreamCut".into()], "completed"), "{cut}");
        assert_eq!(played.history, ["user: go", "assistant: well"], "{cut}");
    }
    let blocked = plain(&[json!({"promptFeedback": {"blockReason": "SAFETY"}})]);
    let (played, _) = told(GEMINI, vec![blocked]).await;
    assert_eq!(played.finishes(), [(Finish::Filtered, "SAFETY".to_owned())], "there it is the end");
    assert_eq!(first_tokens(&played), [false], "nothing was said");
    let (played, _) = told(OPENAI, vec![chat_text()]).await;
    assert_eq!(first_tokens(&played), [true]);
}

#[tokio::test]
async fn c_t08_a_response_that_failed_is_no_answer() {
    let half = json!({"type": "response.output_text.delta", "output_index": 0, "delta": "half"});
    for error in [Value::Null, json!({"code": "server_error", "message": "it broke"})] {
        let failed = json!({"type": "response.failed", "response": {"id": "r", "status": "failed", "model": "m", "error": error}});
        let (played, _) = told(RESPONSES, vec![named(&[half.clone(), failed])]).await;
        assert!(played.reason().starts_with("failed "), "{}: {:?}", played.reason(), played.history);
        assert_eq!(played.finishes(), [], "{error}");
    }
}

/// Another attempt would lose the same.
#[tokio::test]
async fn the_first_loss_counts() {
    let unknown =
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "server_tool_use"}});
    let (played, asked) =
        told(ANTHROPIC, vec![named(&[unknown]) + "event: ping\ndata: {{\n\n", messages_text()]).await;
    assert_eq!((played.failures(), asked.len()), (vec!["Unknown".into()], 1));
}

#[tokio::test]
async fn c_u01_what_was_spent_before_an_error_is_booked() {
    let start = json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 3, "output_tokens": 1}}});
    let error = json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}});
    let (played, _) = told(ANTHROPIC, vec![named(&[start, error])]).await;
    let usage = played.end.usage;
    assert_eq!((usage.known.input, usage.known.output, usage.unknown_attempts), (3, 1, 0));
}

/// Some servers of responses tell each item in pieces, some when it is done, and some with the end of all.
#[tokio::test]
async fn every_item_of_a_response_counts_once() {
    let text = |text: &str| json!({"type": "message", "content": [{"type": "output_text", "text": text}]});
    let thought = |text: &str, proof: &str| json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": text}], "encrypted_content": proof});
    let delta = |index: u32, text: &str| json!({"type": "response.output_text.delta", "output_index": index, "delta": text});
    let think = |kind: &str, text: &str| json!({"type": format!("response.{kind}.delta"), "output_index": 0, "delta": text});
    let done = |index: u32, item: Value| json!({"type": "response.output_item.done", "output_index": index, "item": item});
    let all = json!([thought("hm", "E1"), text("one "), thought("so", "E2"), text("two")]);
    let wanted = "assistant: (hm openai_resp:e1) | one  | (so openai_resp:e2) | two";
    for frames in [
        vec![completed(all.clone())],
        vec![done(0, all[0].clone()), done(1, all[1].clone()), completed(all.clone())],
        vec![
            think("reasoning_summary_text", "hm"),
            done(0, all[0].clone()),
            delta(1, "one "),
            completed(all.clone()),
        ],
        vec![
            think("reasoning_text", "h"),
            think("reasoning_text", "m"),
            done(0, all[0].clone()),
            delta(1, "one"),
            delta(1, " "),
            done(1, all[1].clone()),
            done(2, all[2].clone()),
            done(3, all[3].clone()),
            completed(json!([])),
        ],
    ] {
        let (played, _) = told(RESPONSES, vec![named(&frames)]).await;
        assert_eq!(played.history, ["user: go", wanted], "{frames:?}");
    }
    // A server that counts positions otherwise, one that ends a text otherwise, and parts that say the same.
    let unplaced = json!({"type": "response.output_text.delta", "delta": "one "});
    let once = json!([{"type": "reasoning", "encrypted_content": "E1"}, text("one ")]);
    let longer = json!([text("one ... ")]);
    for (frames, wanted) in [
        (vec![unplaced, completed(once)], "assistant: one  | ( openai_resp:e1)"),
        (vec![delta(0, "one "), completed(longer)], "assistant: one "),
        (
            vec![completed(json!([thought("one", "E1"), text("one")]))],
            "assistant: (one openai_resp:e1) | one",
        ),
    ] {
        let (played, _) = told(RESPONSES, vec![named(&frames)]).await;
        assert_eq!(played.history, ["user: go", wanted], "{frames:?}");
    }
    // Thinking in its own words, in pieces and whole.
    let own = json!({"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]});
    let bare = json!({"type": "reasoning"});
    for frames in [
        vec![think("reasoning_text", "hm"), done(0, bare), delta(1, "one"), completed(json!([]))],
        vec![completed(json!([own, text("one")]))],
    ] {
        let (played, _) = told(RESPONSES, vec![named(&frames)]).await;
        assert_eq!(played.history, ["user: go", "assistant: (hm) | one"], "{frames:?}");
    }
    // Its id, wherever it stands.
    let created = json!({"type": "response.created", "response": {"id": "resp_0"}});
    let mut nameless = completed(json!([]));
    nameless["response"]["id"].take();
    for (frames, wanted) in [
        (vec![created, delta(0, "one"), nameless], "resp_0"),
        (vec![completed(json!([text("one")]))], "resp_1"),
    ] {
        let (played, _) = told(RESPONSES, vec![named(&frames)]).await;
        let is_id = |event: &Event| matches!(event, Event::Delta { delta: ModelEvent::MessageId(id), .. } if **id == *wanted);
        assert!(played.events.iter().any(is_id), "{frames:?}");
    }
    // An image, once.
    let image = json!({"type": "image_generation_call", "result": "AAAA", "output_format": "webp"});
    let (played, _) =
        told(RESPONSES, vec![named(&[done(0, image.clone()), completed(json!([image]))])]).await;
    assert_eq!(played.history[1], "assistant: [image/webp data:image/webp;base64,aaaa]");
    // A refusal, in pieces and whole.
    let refused = json!([{"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}]);
    let piece = json!({"type": "response.refusal.delta", "output_index": 0, "delta": "no"});
    for frames in [vec![completed(refused)], vec![piece, completed(json!([]))]] {
        let (played, _) = told(RESPONSES, vec![named(&frames)]).await;
        assert_eq!(played.finishes(), [(Finish::Filtered, "refusal".to_owned())], "{frames:?}");
    }
}

#[tokio::test]
async fn what_has_no_place_or_no_name_is_told() {
    let added = json!({"type": "response.output_item.added", "output_index": "first", "item": {"type": "function_call", "call_id": "x", "name": "get"}});
    let text = json!({"type": "content_block_start", "content_block": {"type": "text", "text": "well"}});
    let odd = json!({"candidates": [{"content": {"parts": [{"hologram": {}}]}, "finishReason": "STOP"}]});
    for (shape, answer, what) in [
        (RESPONSES, named(&[added, completed(json!([]))]), "an item without its position"),
        (ANTHROPIC, messages(&[text], "end_turn"), "a block without its position"),
        (GEMINI, plain(&[odd]), "a part of the type `hologram`"),
    ] {
        let (played, _) = told(shape, vec![answer]).await;
        assert_eq!(played.failures(), ["Unknown"], "{what}");
        let reason = format!("{:?}", played.end.reason);
        assert!(reason.contains(what), "{reason}");
    }
}

/// What a frame of one wire would mean in another one does not matter.
#[tokio::test]
async fn a_frame_is_read_as_its_provider_speaks() {
    for more in [json!({"done": true}), json!({"type": "chat"}), json!({"message": {"content": "x"}})] {
        let mut frame = json!({"choices": [{"index": 0, "delta": {"content": "well"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 5, "completion_tokens": 7}});
        frame.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (played, _) = told(OPENAI, vec![plain(&[frame]) + "data: [DONE]\n\n"]).await;
        assert_eq!(played.history, ["user: go", "assistant: well"], "{more}");
        assert_eq!(played.end.usage.known.input, 5, "{more}");
    }
    let signed = json!({"candidates": [{"content": {"parts": [{"thoughtSignature": "S"}]}}]});
    let (played, _) = told(GEMINI, vec![plain(&[signed]) + &gemini_text()]).await;
    assert_eq!(played.history[1], "assistant: ( gemini:s) | well", "a part may be a signature alone");
    let (played, _) = told(OPENAI, vec![chat(&[json!({"content": "well"})], "stop")]).await;
    assert_eq!(played.history[1], "assistant: well");
}
