//! The server `@modelcontextprotocol/server-everything`, over streamable HTTP.
#![expect(clippy::unwrap_used, reason = "a test may also fail in a helper")]
mod common;

use common::{Script, agent, node, progress, prompted, seen, told, wait_for};
use machine_core::ask::{By, Cause};
use machine_core::event::{EndReason, Event};
use machine_core::outcome::{ErrorCode, Outcome};
use machine_host::ToolSource;
use machine_mcp::{OpenError, Server};

fn serve() -> Option<machine_servers::Server> {
    node("mcp-server-everything")?;
    Some(machine_servers::Server::start(command))
}

fn command(port: u16) -> std::process::Command {
    let mut command = node("mcp-server-everything").unwrap();
    command.arg("streamableHttp").env("PORT", port.to_string());
    command
}

fn address(server: &machine_servers::Server) -> String {
    format!("http://127.0.0.1:{}/mcp", server.port())
}

/// The same as over pipes: calls, progress, an abort, and a server that is gone.
#[tokio::test]
async fn a_server_behind_an_address() {
    let Some(process) = serve() else { return };
    let server = Server::http(&address(&process)).open().await.unwrap();
    assert_eq!(server.pid(), None);
    let long = |duration: f32, steps: u32| {
        let args = serde_json::json!({ "duration": duration, "steps": steps }).to_string();
        ("trigger-long-running-operation", args)
    };
    let echo = || ("echo", r#"{"message": "hello"}"#.to_owned());
    let script = Script::of([
        vec![echo(), long(0.2, 2)],
        vec![],
        vec![long(60.0, 600)],
        vec![echo()],
        vec![],
        vec![echo()],
    ]);
    let (agent, mut events) = agent(script, &server).await;
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    assert_eq!(told(&agent).await[0], (Outcome::Ok, "Echo: hello".to_owned()));
    assert_eq!(progress(&seen(&mut events)), ["1/2", "2/2"]);

    let prompt = prompted(&agent);
    wait_for(&mut events, |event| matches!(event, Event::Progress { .. })).await;
    agent.abort(Cause::by(By::User)).await.unwrap();
    prompt.await.unwrap().unwrap();
    assert_eq!(agent.prompt("again").await.unwrap().reason, EndReason::DONE);
    assert_eq!(told(&agent).await[3], (Outcome::Ok, "Echo: hello".to_owned()));

    drop(process);
    assert_eq!(agent.prompt("and without it").await.unwrap().reason, EndReason::DONE);
    let (outcome, text) = told(&agent).await.remove(4);
    assert_eq!(outcome, Outcome::error(ErrorCode::Failed));
    assert!(text.starts_with("the server `127.0.0.1:"), "{text}");
}

/// It knows no session of its predecessor, and says so with an error that names no request.
#[tokio::test]
async fn c_t04_a_server_that_is_restarted_brings_its_tools_back() {
    let Some(process) = serve() else { return };
    let port = process.port();
    let server = Server::http(&address(&process)).open().await.unwrap();
    let script = Script::of([vec![("echo", r#"{"message": "back"}"#.to_owned())]]);
    let (agent, _events) = agent(script, &server).await;
    drop(process);
    common::gone(async || server.tools().await.is_empty()).await;
    let _process = machine_servers::Server::start_at(port, command);
    assert_eq!(agent.prompt("go").await.unwrap().reason, EndReason::DONE);
    assert_eq!(told(&agent).await, [(Outcome::Ok, "Echo: back".to_owned())]);
}

#[tokio::test]
async fn nobody_at_the_address() {
    let address = format!("http://127.0.0.1:{}/mcp", machine_servers::free_port());
    let Err(error) = Server::http(&address).open().await else { unreachable!("nobody listens") };
    assert!(matches!(error, OpenError::Handshake { .. }), "{error:?}");
    let why = "cannot be talked to: no connection to its address: Connection refused";
    assert!(error.to_string().contains(why), "{error}");
}

/// An address may hold a secret, and messages go to a model, a journal and logs.
#[tokio::test]
async fn an_error_does_not_say_what_is_secret_in_an_address() {
    let at = format!("127.0.0.1:{}/mcp", machine_servers::free_port());
    for address in [format!("http://me:secret@{at}?key=secret"), "me:secret@host".to_owned()] {
        let Err(error) = Server::http(&address).open().await else { unreachable!("nobody listens") };
        assert!(matches!(error, OpenError::Handshake { .. }), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
    }
}

/// Answers every request so, and says what is made of it.
async fn refused(answer: &'static str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 4096]).await;
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    let Err(error) = Server::http(&address).name("it").open().await else { unreachable!("it is no MCP") };
    serving.abort();
    error.to_string()
}

#[tokio::test]
async fn what_is_no_server_of_mcp_is_told_with_what_it_answered() {
    for (answer, why) in [
        (
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\nhtml",
            "it answered with text/html, which is no MCP: is the path of the address right?",
        ),
        (
            "HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot found",
            "it answered HTTP 404 Not Found: not found",
        ),
        (
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n\r\n",
            "it wants an authorization: give a token that it takes (`http_with_token`)",
        ),
        ("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", "it answered HTTP 503"),
        (
            "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
            "it closed the connection and answered nothing",
        ),
        ("no HTTP\r\n\r\n", "the connection broke: "),
    ] {
        let said = refused(answer).await;
        assert!(said.starts_with(&format!("the server `it` cannot be talked to: {why}")), "{said}");
    }
}

/// Another crate of the build may have given the HTTP client TLS, and nobody its cryptography yet.
#[cfg(feature = "rustls")]
#[tokio::test]
async fn nobody_behind_https_is_an_error_in_plain_words() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = format!("https://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let Err(error) = Server::http(&address).name("it").open().await else { unreachable!("nobody is there") };
    let said = error.to_string();
    assert!(
        said.starts_with("the server `it` cannot be talked to: no connection to its address: "),
        "{said}"
    );
}
