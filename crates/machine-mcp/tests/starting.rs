//! Servers that do not come up, and what is said of them.
#![cfg(unix)]
mod common;

use std::process::Command;
use std::time::Duration;

use common::gone;
use machine_mcp::{Builder, OpenError, Server};

fn shell(script: &str) -> Builder {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    Server::child(command)
}

async fn refused(builder: Builder) -> OpenError {
    let Err(error) = builder.open().await else { unreachable!("there is no server") };
    error
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let error = refused(Server::child(Command::new("/nowhere/my-server"))).await;
    assert!(matches!(error, OpenError::Start { .. }), "{error:?}");
    let said = error.to_string();
    assert!(said.starts_with("the server `my-server` cannot be started: No such file"), "{said}");
}

#[tokio::test]
async fn one_that_ends_at_once_is_told_with_its_last_words() {
    let error = refused(shell("echo one >&2; echo 'no config: two' >&2; exit 3")).await;
    assert!(matches!(error, OpenError::Handshake { .. }), "{error:?}");
    let said = error.to_string();
    assert!(
        said.contains("it ended with exit code 3") && said.ends_with("it wrote: one / no config: two"),
        "{said}"
    );
}

#[tokio::test]
async fn one_that_does_not_answer_is_given_up_and_killed() {
    let dir = tempfile::tempdir().unwrap();
    let pid = dir.path().join("pid");
    let script = format!("echo $$ > {}; echo loading >&2; sleep 600 & wait", pid.display());
    let error = refused(shell(&script).name("slow").start_within(Duration::from_millis(500))).await;
    let said = error.to_string();
    assert_eq!(said, "the server `slow` did not answer `initialize` within 0.5 s; it wrote: loading");
    let pid = std::fs::read_to_string(pid).unwrap();
    // The shell's child too: nobody of its group is left.
    let group = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    gone(async || rustix::process::test_kill_process_group(group).is_err()).await;
}

/// Lines that are no messages are skipped, as some servers print a greeting; so it is waited for all the same.
#[tokio::test]
async fn what_stands_where_only_messages_belong_is_told() {
    let within = Duration::from_millis(500);
    let error = refused(Server::child(Command::new("cat")).start_within(within)).await.to_string();
    let begins = r#"begins with: {"jsonrpc":"2.0","id":0,"method":"initialize""#;
    assert!(error.starts_with("the server `cat` did not answer `initialize` within 0.5 s; "), "{error}");
    assert!(error.contains(begins), "{error}");

    // It reads first: of one that is gone before it is written to, nothing may have been read.
    let error = refused(shell("read it; echo; echo 'Usage: two arguments'; echo and more")).await.to_string();
    let closed =
        "it closed the connection and answered nothing: is it a server of MCP? (it ended with exit code 0); ";
    assert!(error.contains(closed), "{error}");
    assert!(error.ends_with("begins with: Usage: two arguments"), "{error}");
}

/// One message each, in the words of the server and ours; none in those of a library.
#[tokio::test]
async fn one_that_answers_something_else_is_told_so() {
    let hello = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"it","version":"1"}}}"#;
    let no_tools = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no tools today"}}"#;
    for (answers, why) in [
        (
            vec![r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"what?"}}"#],
            "it refused `initialize`: what? (-32601)",
        ),
        (
            vec![r#"{"jsonrpc":"2.0","id":0,"result":{"tools":[]}}"#],
            r#"it answered `initialize` with {"tools":[]}"#,
        ),
        (
            vec![r#"{"jsonrpc":"2.0","id":0,"error":"what?"}"#],
            r#"it answered `initialize` with {"jsonrpc":"2.0","id":0,"error":"what?"}"#,
        ),
        (
            vec![r#"{"jsonrpc":"2.0","id":7,"result":{"tools":[]}}"#],
            "it answered another request than `initialize`, the only one",
        ),
        (vec![hello, no_tools], "its tools cannot be listed: no tools today (-32603)"),
        (vec![hello], "its tools cannot be listed: the connection broke off before the answer"),
    ] {
        let mut script: String = answers.iter().map(|said| format!("read line; echo '{said}'; ")).collect();
        script.push_str(if answers.len() > 1 { "read line; sleep 600" } else { "read line" });
        let error = refused(shell(&script).name("it")).await;
        assert!(matches!(error, OpenError::Handshake { .. }), "{error:?}");
        let said = error.to_string();
        let said = said.split(" (it ended").next();
        assert_eq!(said, Some(&*format!("the server `it` cannot be talked to: {why}")));
    }
    let silent = shell(&format!("read line; echo '{hello}'; sleep 600")).start_within(Duration::from_secs(1));
    let error = refused(silent.name("it")).await.to_string();
    assert_eq!(error, "the server `it` did not answer `tools/list` within 1 s");
}

/// Only the end of it is kept.
#[tokio::test]
async fn much_that_is_written_does_not_stop_a_server() {
    let script = "i=0; while [ $i -lt 20000 ]; do echo line $i >&2; i=$((i+1)); done; exit 1";
    let error = refused(shell(script)).await;
    assert!(error.to_string().ends_with("line 19998 / line 19999"), "{error}");
}
