//! Models of providers: what is wrong is said before anything is touched, and a turn against a server that is not ours.
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use machine_servers::{Program, Server, find};
use serde_json::json;
use tempfile::TempDir;

use crate::running::World;

/// With these keys in its environment, and no others.
fn run(dir: &Path, args: &[&str], keys: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_agent-machine"))
        .args(["run", "--dir", dir.to_str().expect("UTF-8")])
        .args(args)
        .env_clear()
        .envs(keys.iter().copied())
        .stdin(Stdio::null())
        .output()
        .expect("the program runs")
}

#[track_caller]
fn refuses(args: &[&str], keys: &[(&str, &str)], why: &str) {
    let top = tempfile::tempdir().expect("a temporary directory");
    let journal = top.path().join("journal.jsonl");
    let journal = journal.to_str().expect("UTF-8");
    // The directory is not there: what is wrong with the model is said first.
    let done = run(&top.path().join("none"), &[args, &["hello", "--journal", journal]].concat(), keys);
    assert_eq!((done.status.code(), &*done.stdout), (Some(2), &b""[..]), "{done:?}");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(said.contains(why) && said.lines().count() == 1, "{said}");
    assert_eq!(fs::read_dir(top.path()).expect("a directory").count(), 0);
}

#[test]
fn a_key_must_be_there() {
    for (model, variable) in [
        ("openai:x", "OpenAI needs a key: set OPENAI_API_KEY"),
        ("openai_resp:x", "set OPENAI_API_KEY"),
        ("anthropic:x", "Anthropic needs a key: set ANTHROPIC_API_KEY"),
        ("gemini:x", "set GEMINI_API_KEY"),
        ("deepseek:x", "set DEEPSEEK_API_KEY"),
    ] {
        refuses(&["--model", model], &[], &format!("--model {model}: "));
        refuses(&["--model", model], &[("OTHER_API_KEY", "k")], variable);
    }
    refuses(&["--model", "openai:x"], &[("OPENAI_API_KEY", "")], "set OPENAI_API_KEY");
}

#[test]
fn a_provider_and_its_address_must_be_known() {
    let key = [("OPENAI_API_KEY", "k")];
    refuses(
        &["--model", "nobody:x"],
        &key,
        "--model nobody:x: there is no provider `nobody`; there are openai, ",
    );
    refuses(
        &["--model", "rules:x"],
        &key,
        "--model rules:x: there is no provider `rules`; there are openai, ",
    );
    refuses(&["--model", "openai:"], &key, "which model of `openai`? use PROVIDER:NAME");
    refuses(&["--model", "openai:x", "--base-url", "localhost"], &key, "`localhost` is no address of HTTP");
    refuses(&["--base-url", "http://127.0.0.1:1"], &key, "--base-url: `rules` needs none");
}

/// aimock, which lists the directory and then tells what it saw.
fn server() -> Option<(Server, TempDir)> {
    let program = find(Program::Node("aimock"))?;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let write = |name: &str, content: serde_json::Value| {
        let path = dir.path().join(name);
        fs::write(&path, content.to_string()).expect("a file");
        path
    };
    let call = json!({"toolCalls": [{"name": "list", "arguments": "{}"}]});
    let fixtures = write(
        "fixtures.json",
        json!({"fixtures": [
            {"match": {"userMessage": "what is here", "hasToolResult": false}, "response": call},
            {"match": {"userMessage": "what is here", "hasToolResult": true}, "response": {"content": "One file."}},
        ]}),
    );
    let config = write("aimock.json", json!({"llm": {"fixtures": fixtures}}));
    let server = Server::start(|port| {
        let mut command = Command::new(&program);
        command.arg("--config").arg(&config).args(["--port", &port.to_string()]);
        command
    });
    Some((server, dir))
}

#[test]
fn a_turn_with_a_model_of_a_provider() {
    let Some((server, _dir)) = server() else { return };
    let world = World::with(&[("a.md", "x\n")]);
    let at = format!("http://127.0.0.1:{}", server.port());
    for (model, base) in
        [("openai:some-model", "/v1"), ("anthropic:some-model", "/v1"), ("ollama:some-model", "")]
    {
        let url = format!("{at}{base}");
        let keys = [("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")];
        let done = run(&world.dir(), &["what is here", "--model", model, "--base-url", &url], &keys);
        let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert_eq!(done.status.code(), Some(0), "{model}: {out}{err}");
        assert!(out.contains("ok    list") && out.contains("One file."), "{model}: {out}{err}");
    }
}

/// What the program starts does not see them: not a command of the model, nor a server of tools.
#[test]
fn a_key_is_for_the_program_alone() {
    let world = World::new();
    let command = "echo hush $OPENAI_API_KEY$ANTHROPIC_API_KEY; echo token $GITHUB_TOKEN";
    let model = world.script(
        &json!([{"calls": [{"tool": "shell", "args": {"command": format!("({command}) > shell")}}]}])
            .to_string(),
    );
    let server = format!("sh -c '({command}) > {}; exit 7'", world.dir().join("server").display());
    let path = std::env::var("PATH").expect("a path");
    let keys = [("OPENAI_API_KEY", "a"), ("ANTHROPIC_API_KEY", "b"), ("GITHUB_TOKEN", "c"), ("PATH", &*path)];
    run(&world.dir(), &["go", "--model", &model, "--approve", "all"], &keys);
    run(&world.dir(), &["go", "--model", &model, "--mcp", &server], &keys);
    for place in ["shell", "server"] {
        assert_eq!(world.text(place), "hush\ntoken c\n", "{place}");
    }
}
