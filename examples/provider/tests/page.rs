//! The page, run as its reader would run it: against `aimock`, a model that answers by fixtures, and `server-filesystem`.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]

use std::io::Write;
use std::process::{Command, Output, Stdio};

use machine_servers::{Program, Server, find};
use serde_json::json;

fn page(args: &[&str], base_url: &str, typed: &str) -> Output {
    let mut page = Command::new(env!("CARGO_BIN_EXE_machine-example-provider"))
        .args(args)
        .env("BASE_URL", base_url)
        .env("OPENAI_API_KEY", "none")
        .env_remove("ANTHROPIC_API_KEY")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    page.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    page.wait_with_output().unwrap()
}

#[test]
fn a_model_of_a_provider_reads_a_file_by_a_tool_of_a_server() {
    let (aimock, files) = (Program::Node("aimock"), Program::Node("mcp-server-filesystem"));
    let (Some(aimock), Some(files)) = (find(aimock), find(files)) else { return };
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().canonicalize().unwrap();
    std::fs::write(at.join("note.txt"), "the cat is in the garden").unwrap();
    let args = json!({"path": at.join("note.txt")}).to_string();
    let fixtures = json!({"fixtures": [
        {"match": {"toolName": "read_text_file", "hasToolResult": false},
         "response": {"toolCalls": [{"name": "read_text_file", "arguments": args}]}},
        {"match": {"toolName": "read_text_file", "hasToolResult": true}, "response": {"content": "In the garden."}},
    ]});
    let (config, said) = (dir.path().join("aimock.json"), dir.path().join("fixtures.json"));
    std::fs::write(&said, fixtures.to_string()).unwrap();
    std::fs::write(&config, json!({"llm": {"fixtures": said}}).to_string()).unwrap();
    let server = Server::start(|port| {
        let mut command = Command::new(&aimock);
        command.arg("--config").arg(&config).args(["--port", &port.to_string()]);
        command
    });
    let url = format!("http://127.0.0.1:{}/v1", server.port());
    let command = format!("{} {}", files.display(), at.display());
    let ran = page(&["openai:some-model", &command, "Where is the cat?"], &url, "y\n");
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert_eq!(out, "In the garden.\n", "{err}");
    assert!(err.contains("may read_text_file run with ") && err.contains("note.txt"), "{err}");
    assert!(ran.status.success());
}

#[test]
fn without_a_key_it_says_which() {
    let Some(files) = find(Program::Node("mcp-server-filesystem")) else { return };
    let command = format!("{} /", files.display());
    let ran = page(&["anthropic:some-model", &command, "x"], "http://127.0.0.1:1", "");
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success() && err.contains("ANTHROPIC_API_KEY"), "{err}");
}
