//! An answer as it comes: text is printed piece by piece while its turn runs.
//!
//! `cargo run -p machine-examples --bin streaming`
#![forbid(unsafe_code)]

use std::io::Write;

use agent_machine::prelude::*;

/// Stands for a provider: the connection breaks in the middle of its first try.
async fn model(request: Request, out: ModelOut) -> Result<Finished, ModelError> {
    for word in ["Rome ", "was ", "not ", "built ", "in ", "a ", "day."] {
        out.text(word).await;
        if request.attempt.serial == 1 && word == "not " {
            return Err(ModelError::new(Failure::Connection, "the connection broke"));
        }
    }
    Ok(Finished::new(Finish::EndTurn))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let builder = Agent::builder().model(model).config(|config| config.retry.base_ms = 1);
    let (agent, mut events) = builder.open_watched().await?;
    agent.submit("How long did it take?").await?;
    // A watcher holds nothing up. One that reads too slowly misses events, and is told how many.
    while let Some(seen) = events.next().await {
        match &*seen?.event {
            Event::Delta { delta: ModelEvent::Text(text), .. } => {
                print!("{text}");
                std::io::stdout().flush()?;
            }
            // What a failed try said is not in history: the next one begins anew.
            Event::Retrying { error, .. } => println!("\n[{}; again]", error.message),
            Event::TurnEnded(end) => {
                println!("\n[{}]", end.reason);
                break;
            }
            _ => {}
        }
    }
    agent.close().await?;
    Ok(())
}
