//! The smallest host: a model, a tool, a prompt.
//!
//! `cargo run -p machine-examples --bin minimal`
#![forbid(unsafe_code)]

use agent_machine::prelude::*;

/// What the tool takes. The model is shown its schema.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

/// Stands for a provider: it streams into `out` and returns how the response ended.
async fn model(request: Request, out: ModelOut) -> Result<Finished, ModelError> {
    match request.history.last().map(|entry| entry.message.text()) {
        Some(sum) if request.history.len() > 1 => {
            out.text(format!("It is {sum}.")).await;
            Ok(Finished::new(Finish::EndTurn))
        }
        _ => {
            out.call(0, "call-1", "add", r#"{"a": 19, "b": 23}"#).await;
            Ok(Finished::new(Finish::ToolUse))
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let add = tool("add", "Adds two numbers", |Add { a, b }, cx: ToolCx| async move {
        match a.checked_add(b) {
            Some(sum) => cx.text(sum.to_string()),
            None => cx.fail("the sum is too large"),
        }
    });
    let agent = Agent::builder().model(model).tool(add.touches_nothing()).open().await?;
    let end = agent.prompt("What is 19 + 23?").await?;
    for entry in agent.history().await?.iter() {
        println!("{:?}: {}", entry.message.role(), entry.message.text());
    }
    println!("{} after {} steps", end.reason, end.steps);
    agent.close().await?;
    Ok(())
}
