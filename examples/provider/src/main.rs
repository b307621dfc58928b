//! A model of a provider and the tools of an MCP server: what a real agent is made of.
//!
//! `ANTHROPIC_API_KEY=… cargo run -p machine-example-provider -- anthropic:claude-sonnet-4-6 'mcp-server-filesystem .' 'What is in README.md?'`
//!
//! The key is in the provider's usual variable. `BASE_URL` is for a model that is elsewhere, such as
//! `http://127.0.0.1:8080/v1`. Every call of a tool is allowed or not at the terminal.
#![forbid(unsafe_code)]

use std::error::Error;
use std::io::{BufRead, Write};
use std::process::Command;

use agent_machine::genai::Genai;
use agent_machine::mcp::Server;
use agent_machine::prelude::*;

fn model(name: &str) -> Result<Genai, Box<dyn Error>> {
    let model = Genai::named(name)?;
    Ok(match std::env::var("BASE_URL") {
        Ok(url) => model.base_url(url).build()?,
        Err(_) => model.build()?,
    })
}

async fn tools(command: &str) -> Result<Server, Box<dyn Error>> {
    let mut words = command.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    // What a server says of its tools is a hint, and no reason to let them run unasked.
    let server = Server::child(command).plan(|call| Some(Plan { approval: true, ..call.plan() }));
    Ok(server.open().await?)
}

/// Asks at the terminal, where it may block.
async fn may(call: ApproveQuestion) -> Approval {
    let asked = tokio::task::spawn_blocking(move || {
        // Calls of one batch ask side by side: each has the terminal from its question to its answer.
        let mut terminal = std::io::stdin().lock();
        eprint!("may {} run with {}? [y/n] ", call.tool, call.args);
        let _ = std::io::stderr().flush();
        let mut answer = String::new();
        match terminal.read_line(&mut answer) {
            Ok(_) if answer.trim() == "y" => Approval::Granted,
            _ => Approval::Denied("the user said no".into()),
        }
    });
    asked.await.unwrap_or(Approval::Expired)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [name, command, prompt] = &args[..] else {
        return Err("give a model, the command of an MCP server, and a prompt".into());
    };
    let server = tools(command).await?;
    let agent = Agent::builder()
        .system("Answer in one sentence.")
        .settings(Settings { extra: Some(r#"{"max_tokens": 1000}"#.into()), ..Settings::default() })
        .model(model(name)?)
        .tools_from(server.clone())
        .approve(may)
        .open()
        .await?;
    println!("{}", agent.answer(prompt.as_str()).await?);
    agent.close().await?;
    server.close().await;
    Ok(())
}
