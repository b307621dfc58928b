//! The server `@modelcontextprotocol/server-filesystem`, and a server that is gone in the middle of its work.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
mod common;

use std::path::Path;

use common::{Script, agent, call, everything, files, gone, prompted, told, wait_for};
use machine_core::event::{EndReason, Event};
use machine_core::outcome::{ErrorCode, Outcome};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tempfile::TempDir;

/// A directory by its real name: that is how the server knows it.
fn dir() -> (TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap();
    (dir, path)
}

fn path(path: &Path) -> String {
    serde_json::json!({ "path": path }).to_string()
}

#[tokio::test]
async fn the_allowed_directories_are_listed() {
    let (_dir, at) = dir();
    let Some(builder) = files(&at) else { return };
    let server = builder.open().await.unwrap();
    let (agent, _events) = agent(Script::of([call("list_allowed_directories")]), &server).await;
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    let told = told(&agent).await;
    assert!(told[0].0 == Outcome::Ok && told[0].1.contains(at.to_str().unwrap()), "{told:?}");
}

/// Reading says that it only reads, and waits for the write all the same (B05). Reads are one after the other in the history,
/// and side by side on their way.
#[tokio::test]
async fn c_b05_a_file_is_written_then_read_in_one_batch_in_call_order() {
    let (_dir, at) = dir();
    let Some(builder) = files(&at) else { return };
    let server = builder.open().await.unwrap();
    let file = at.join("note.txt");
    let write = |text: &str| serde_json::json!({ "path": file, "content": text }).to_string();
    let script = Script::of([vec![
        ("write_file", write("first")),
        ("read_text_file", path(&file)),
        ("read_text_file", path(&file)),
        ("write_file", write("second")),
        ("read_text_file", path(&file)),
    ]]);
    let (agent, mut events) = agent(script, &server).await;
    agent.prompt("go").await.unwrap();
    let told = told(&agent).await;
    assert!(told.iter().all(|(outcome, _)| *outcome == Outcome::Ok), "{told:?}");
    assert_eq!([&told[1].1, &told[2].1, &told[4].1], ["first", "first", "second"]);
    let order = common::seen(&mut events);
    let place = |wanted: &dyn Fn(&Event) -> bool| order.iter().position(wanted).unwrap();
    let started =
        |n: u32| place(&|event| matches!(event, Event::CallStarted { call, .. } if call.index == n));
    let settled =
        |n: u32| place(&|event| matches!(event, Event::CallSettled { call, .. } if call.index == n));
    assert!(settled(0) < started(1) && settled(3) < started(4));
    assert!(started(2) < settled(1), "reads run side by side");
}

#[tokio::test]
async fn a_file_outside_of_the_directory_is_an_error_result() {
    let (_dir, at) = dir();
    let Some(builder) = files(&at) else { return };
    let server = builder.open().await.unwrap();
    let script = Script::of([vec![("read_text_file", path(Path::new("/etc/hostname")))]]);
    let (agent, _events) = agent(script, &server).await;
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    let told = told(&agent).await;
    assert_eq!(told[0].0, Outcome::error(ErrorCode::Failed));
    assert!(told[0].1.contains("Access denied"), "{told:?}");
}

fn pid(server: &machine_mcp::Server) -> Pid {
    Pid::from_raw(server.pid().unwrap().cast_signed()).unwrap()
}

/// The tools of the other server stay.
#[tokio::test]
async fn c_t04_a_server_that_is_killed_fails_its_call_and_takes_its_tools_with_it() {
    let (_dir, at) = dir();
    let (Some(long), Some(other)) = (everything(), files(&at)) else { return };
    let (server, other) = (long.open().await.unwrap(), other.open().await.unwrap());
    let long = ("trigger-long-running-operation", r#"{"duration": 60, "steps": 600}"#.to_owned());
    let script = Script::of([vec![long], call("list_allowed_directories")]);
    let builder = machine_host::Agent::builder().model(script.clone());
    let builder = builder.tools_from(server.clone()).tools_from(other);
    let (agent, mut events) = builder.open_watched().await.unwrap();
    let prompt = prompted(&agent);
    wait_for(&mut events, |event| matches!(event, Event::Progress { .. })).await;
    kill_process(pid(&server), Signal::KILL).unwrap();
    assert_eq!(prompt.await.unwrap().unwrap().reason, EndReason::DONE);
    let told = told(&agent).await;
    assert_eq!(told[0].0, Outcome::error(ErrorCode::Failed));
    assert!(
        told[0].1.starts_with("the server `mcp-server-everything` is gone (it was ended by signal 9)"),
        "{told:?}"
    );
    assert_eq!(told[1].0, Outcome::Ok);
    let offers = script.offers();
    assert!(offers[0].iter().any(|name| name == "echo"), "{offers:?}");
    assert!(!offers[1].iter().any(|name| name == "echo"), "{offers:?}");
    assert!(offers[1].iter().any(|name| name == "read_text_file"), "{offers:?}");
    assert!(server.is_gone());
}

/// Its launcher would go on without it for a while.
#[tokio::test]
async fn the_process_is_ended_with_the_last_handle() {
    let (_dir, at) = dir();
    let Some(program) = common::node("mcp-server-filesystem") else { return };
    let mut launcher = std::process::Command::new("/bin/sh");
    launcher.args(["-c", r#""$0" "$1"; sleep 600"#]).arg(program.get_program()).arg(&at);
    let server = machine_mcp::Server::child(launcher).open().await.unwrap();
    let pid = pid(&server);
    let (agent, _events) = agent(Script::of([call("list_allowed_directories")]), &server).await;
    drop(server);
    agent.prompt("go").await.unwrap();
    assert_eq!(told(&agent).await[0].0, Outcome::Ok);
    assert!(test_kill_process(pid).is_ok(), "the agent's tools need it");
    drop(agent);
    gone(async || test_kill_process(pid).is_err()).await;
}

#[tokio::test]
async fn a_server_that_is_closed_has_no_tools_and_no_process() {
    let (_dir, at) = dir();
    let Some(builder) = files(&at) else { return };
    let server = builder.open().await.unwrap();
    let pid = pid(&server);
    let script = Script::of([call("list_allowed_directories")]);
    let (agent, _events) = agent(script.clone(), &server).await;
    server.close().await;
    gone(async || test_kill_process(pid).is_err()).await;
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    assert_eq!(told(&agent).await[0].0, Outcome::error(ErrorCode::UnknownTool));
    assert_eq!(script.offers(), [[""; 0], [""; 0]]);
}

/// What a launcher started is ended with the session, also where the server went in peace.
#[cfg(unix)]
#[tokio::test]
async fn a_launcher_that_is_closed_leaves_nobody() {
    let (_dir, at) = dir();
    let Some(program) = machine_servers::find(machine_servers::Program::Node("mcp-server-filesystem")) else {
        return;
    };
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", r#"sleep 600 & exec "$0" "$1""#]).arg(program).arg(&at);
    let server = machine_mcp::Server::child(command).open().await.unwrap();
    let group = pid(&server);
    server.close().await;
    gone(async || rustix::process::test_kill_process_group(group).is_err()).await;
}
