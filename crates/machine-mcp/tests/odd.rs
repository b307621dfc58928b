//! Answers over pipes that are not written as the protocol wants them: read where their meaning is beyond doubt, and told at once
//! where it is not.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
mod common;
mod fake;

use std::time::Duration;

use common::{Script, agent, call, progress, prompted, seen, told, wait_for};
use fake::Fake;
use machine_core::event::{EndReason, Event};
use machine_core::outcome::{ErrorCode, Outcome};
use machine_mcp::Server;
use tokio::time::Instant;

/// One call for which this is written; `ID` stands for the id of its request. Then what came of it, and whether it was waited
/// for in vain.
async fn answered(written: impl AsRef<[u8]>) -> (Outcome, String, bool) {
    let (mut fake, server) = Fake::open(&["work"]).await;
    let (agent, _events) = agent(Script::of([call("work")]), &server).await;
    let turn = prompted(&agent);
    let request = fake.asked("tools/call").await;
    let id = request["id"].to_string();
    let mut line = Vec::new();
    for (index, piece) in split(written.as_ref(), b"ID").into_iter().enumerate() {
        line.extend(if index == 0 { &[][..] } else { id.as_bytes() });
        line.extend(piece);
    }
    let begun = Instant::now();
    fake.line(line).await;
    assert_eq!(turn.await.unwrap().unwrap().reason, EndReason::DONE);
    let (outcome, text) = told(&agent).await.remove(0);
    (outcome, text, begun.elapsed() > Duration::from_secs(1))
}

fn split<'t>(text: &'t [u8], at: &[u8]) -> Vec<&'t [u8]> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(next) = rest.windows(at.len()).position(|window| window == at) {
        pieces.push(&rest[..next]);
        rest = &rest[next + at.len()..];
    }
    pieces.push(rest);
    pieces
}

/// A whole answer with this text, as JSON.
fn answer(text: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#)
}

#[tokio::test(start_paused = true)]
async fn an_answer_whose_meaning_is_beyond_doubt_is_read() {
    let result = r#""result":{"content":[{"type":"text","text":"fine"}]}"#;
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
    let fine = answer("fine");
    for written in [
        format!(r#"{{"id":ID,{result}}}"#),
        format!(r#"{{"jsonrpc":"1.0","id":ID,{result}}}"#),
        format!(r#"{{"jsonrpc":2.0,"id":ID,{result}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":ID,{result},"error":null}}"#),
        format!(r#"{{"id":ID,"method":null,"params":null,{result},"error":null}}"#),
        format!("[{log},{fine}]"),
        format!("[{fine}]"),
        format!("{log}{fine}"),
        format!("{fine} {log}"),
        format!("{fine} and some words"),
        format!("\u{feff}  {fine}  \r"),
        fine.replace('{', "{\n  ").replace(',', ",\r\n  "),
        format!("[\n{}\n]", fine.replace(',', ",\n")),
        format!("{{\n{fine}"),
        format!(r#"{{"jsonrpc":"2.0","id":"other","result":{{"x":NaN}}}}{fine}"#),
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"x":NaN}}}} {fine}"#),
    ] {
        let (outcome, text, in_vain) = answered(&written).await;
        assert_eq!((outcome, &*text, in_vain), (Outcome::Ok, "fine", false), "{written}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_text_that_is_no_unicode_is_read_with_marks() {
    for (written, read) in [
        (answer("caf#").replace('#', "\u{1}").into_bytes(), "caf\u{fffd}"),
        (answer(r"caf\ud83d!").into_bytes(), "caf\u{fffd}!"),
        (answer(r"\udc00\ud83d\ude00\ud83d").into_bytes(), "\u{fffd}\u{1f600}\u{fffd}"),
        (answer(r"\ud83d\ud83d\ude00").into_bytes(), "\u{fffd}\u{1f600}"),
        (answer(r"\\ud83d \ud83d").into_bytes(), "\\ud83d \u{fffd}"),
    ] {
        let written: Vec<u8> = written.into_iter().map(|byte| if byte == 1 { 0xe9 } else { byte }).collect();
        let (outcome, text, in_vain) = answered(&written).await;
        assert_eq!((outcome, &*text, in_vain), (Outcome::Ok, read, false), "{}", written.escape_ascii());
    }
}

/// What stands on a line of its own within an answer is no message.
#[tokio::test(start_paused = true)]
async fn an_answer_within_an_answer_is_a_part_of_it() {
    let inner = r#"{"id":ID,"result":{"content":[{"type":"text","text":"not this"}]}}"#;
    let content = r#"[{"type":"text","text":"a.txt"}]"#;
    let structured = format!("{{\"runs\":[\n{inner}\n]}}");
    let written = format!(
        r#"{{"jsonrpc":"2.0","id":ID,"result":{{"content":{content},"structuredContent":{structured}}}}}"#
    );
    let (outcome, text, in_vain) = answered(&written).await;
    assert_eq!((outcome, in_vain), (Outcome::Ok, false));
    assert!(text.starts_with("a.txt") && text.contains(r#"{"runs":["#), "{text}");
    // Its fields say more than the text does, though their values are the same.
    let structured = r#"{"missing":"a.txt","deleted":"a.txt"}"#;
    let written = format!(
        r#"{{"jsonrpc":"2.0","id":ID,"result":{{"content":{content},"structuredContent":{structured}}}}}"#
    );
    let (outcome, text, _) = answered(&written).await;
    assert!(outcome == Outcome::Ok && text.contains(r#""deleted":"a.txt""#), "{text}");
}

#[tokio::test(start_paused = true)]
async fn an_error_beside_an_empty_result_is_an_error() {
    let written =
        r#"{"jsonrpc":"2.0","id":ID,"result":null,"error":{"code":-32602,"message":"no such page"}}"#;
    let (outcome, text, in_vain) = answered(written).await;
    assert_eq!((outcome, in_vain), (Outcome::error(ErrorCode::Failed), false));
    assert_eq!(text, "no such page (-32602)");
}

/// What it wrote stands in the error, cut short.
#[tokio::test(start_paused = true)]
async fn an_answer_that_can_be_read_in_no_way_fails_its_call_at_once() {
    let long = "x".repeat(17 << 20);
    for (written, quoted) in [
        (r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32603}}"#.to_owned(), "-32603"),
        (r#"{"jsonrpc":"2.0","id":ID,"error":{"code":"E_IO","message":"no page"}}"#.into(), "E_IO"),
        (r#"{"jsonrpc":"2.0","id":ID,"error":"no page"}"#.into(), "no page"),
        (r#"{"jsonrpc":"2.0","id":ID,"error":null}"#.into(), r#""error":null"#),
        (r#"{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"half"}}"#.into(), "half"),
        (r#"{"jsonrpc":"2.0","id":ID}"#.into(), r#""jsonrpc":"2.0""#),
        (r#"[{"jsonrpc":"2.0","id":ID,"error":{"code":1}}]"#.into(), r#""code":1"#),
        (r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":{"x":NaN}}}"#.into(), "NaN"),
        (r#"{"result":{"content":[],"structuredContent":{"id":NaN}},"jsonrpc":"2.0","id":ID}"#.into(), "NaN"),
        (answer("two\nlines"), "two"),
        (answer(r"C:\path"), r"C:\path"),
        (answer("fine").replace("}]}}", "}]}"), "fine\"}]}"),
        (answer(&"[".repeat(200)).replace("\"[", "[").replace("[\"", &"]".repeat(200)), "[[["),
        (answer(&long), r#""text":"xxx"#),
        // Behind a bracket that is never closed, and beside another message.
        ("{\n".to_owned() + r#"{"jsonrpc":"2.0","id":ID,"result":{"x":NaN}}"#, "NaN"),
        (
            r#"{"jsonrpc":"2.0","id":ID,"result":{"x":NaN}}{"jsonrpc":"2.0","id":"other","result":{}}"#
                .into(),
            "NaN",
        ),
        (format!("{{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":\n{{\"text\":\"{long}\"}}\n}}"), r#""jsonrpc""#),
        (format!(r#"{{"result":{{"content":[{{"text":"{long}"}}]}},"id":ID}}"#), r#""text":"xxx"#),
    ] {
        let shown: String = written.chars().take(120).collect();
        // One that goes on over lines is over where another message begins.
        let log =
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
        let (outcome, text, in_vain) = answered(format!("{written}\n{log}")).await;
        assert_eq!(
            (outcome, in_vain),
            (Outcome::error(ErrorCode::MalformedResult), false),
            "{shown}: {text}"
        );
        assert!(text.contains("the server `fake` answered a call with something else: "), "{text}");
        assert!(text.contains(quoted), "{shown}: {text}");
        assert!(text.ends_with("; whether the call had an effect is not known"), "{shown}: {text}");
        assert!(text.len() < 1000, "{}", text.len());
    }
}

/// It may be for anybody; so it is waited for, and what was written is told.
#[tokio::test(start_paused = true)]
async fn a_line_that_names_no_request_is_told_where_no_answer_came() {
    for (written, quoted) in [
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#, "Parse error"),
        (r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}"#, "Parse error"),
        (r#"{"jsonrpc":"2.0","id":null,"result":{"content":[]}}"#, r#""id":null"#),
        (r#"{"jsonrpc":"2.0","id":1.5,"result":{"content":[]}}"#, "1.5"),
        (r#"{"result":{"content":[]}}"#, r#"{"result""#),
        ("Traceback (most recent call last):", "Traceback (most recent call last):"),
        (r#"{"level":"error","message":"no page"}"#, "no page"),
        (r#"{"level":"info","id":ID,"message":"a call"}"#, "a call"),
        (r#"{"level":50,"id":ID,"error":"ECONNRESET","msg":"try again"}"#, "ECONNRESET"),
        (r#"{"ts":1,"id":ID,"result":{},"msg":"query done"}"#, "query done"),
        ("[]", "[]"),
        ("{", "{"),
        (r#"{"jsonrpc":"2.0","id":ID,"#, r#"{"jsonrpc":"2.0","id":"#),
        // It is a question of the server, and its ids are its own.
        (r#"{"jsonrpc":"2.0","id":ID,"method":"ping","params":NaN}"#, "NaN"),
    ] {
        let (outcome, text, in_vain) = answered(written).await;
        assert_eq!((outcome, in_vain), (Outcome::error(ErrorCode::Failed), true), "{written}: {text}");
        let words = "whether it had an effect is not known; the last line that it wrote and that is no message of MCP: ";
        assert!(text.contains(words) && text.contains(quoted), "{written}: {text}");
    }
}

/// What was written before the call says nothing of it.
#[tokio::test(start_paused = true)]
async fn a_line_from_before_the_call_is_not_told() {
    let (mut fake, server) = Fake::open(&["work"]).await;
    let (agent, _events) = agent(Script::of([call("work")]), &server).await;
    fake.line("a greeting").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    let text = told(&agent).await.remove(0).1;
    assert!(text.ends_with("whether it had an effect is not known"), "{text}");
}

/// As some write notifications, all of whose messages have an id.
#[tokio::test(start_paused = true)]
async fn progress_with_an_empty_id_is_progress() {
    let (mut fake, server) = Fake::open(&["work"]).await;
    let (agent, mut events) = agent(Script::of([call("work")]), &server).await;
    let turn = prompted(&agent);
    let request = fake.asked("tools/call").await;
    let token = &request["params"]["_meta"]["progressToken"];
    let params = format!(r#"{{"progressToken":{token},"progress":1,"message":"half"}}"#);
    fake.line(format!(r#"{{"id":null,"method":"notifications/progress","params":{params}}}"#)).await;
    let Event::Progress { text, .. } =
        wait_for(&mut events, |event| matches!(event, Event::Progress { .. })).await
    else {
        unreachable!()
    };
    assert_eq!(&*text, "half");
    fake.answer_text(&request, "fine").await;
    turn.await.unwrap().unwrap();
    assert_eq!(progress(&seen(&mut events)), Vec::<String>::new());
}

/// The last line of a server that ends may have no end.
#[tokio::test]
async fn an_answer_without_a_line_end_is_read_where_the_pipe_ends() {
    let hello = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"it","version":"1"}}}"#;
    let tools =
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}}"#;
    let last = answer("last words").replace("ID", "2");
    let script =
        format!("read a; echo '{hello}'; read a; read a; echo '{tools}'; read a; printf %s '{last}'");
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", &script]);
    let server = Server::child(command).open().await.unwrap();
    let (agent, _events) = agent(Script::of([call("work")]), &server).await;
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    assert_eq!(told(&agent).await, [(Outcome::Ok, "last words".to_owned())]);
}
