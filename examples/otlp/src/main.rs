//! A host whose traces go to an OpenTelemetry collector, by OTLP with HTTP and protobuf.
//!
//! `cargo run -p machine-example-otlp -- FILE`. The collector is at `OTEL_EXPORTER_OTLP_ENDPOINT`, else at
//! `http://localhost:4318`; the session is kept in the file, which must be new.
#![forbid(unsafe_code)]

use std::error::Error;
use std::time::Duration;

use agent_machine::core::config::Settings;
use agent_machine::prelude::*;

mod export;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Place {
    city: String,
}

/// Stands for a provider: too busy at first, then asks for the weather in three places at once. To the second prompt it has
/// something that takes long.
struct Provider;

impl Model for Provider {
    fn call(&self, request: Request, out: ModelOut) -> BoxFuture<'_, Result<Finished, ModelError>> {
        Box::pin(async move {
            let usage = Some(Usage { input: 120, output: 12, cached: 100 });
            let finished = |finish| Ok(Finished { usage, ..Finished::new(finish) });
            let prompts =
                request.history.iter().filter(|entry| matches!(entry.message, Message::User { .. })).count();
            out.event(ModelEvent::MessageId(format!("msg-{}", request.history.len()).into())).await;
            match (prompts, request.history.len()) {
                (1, 1) if request.attempt.serial == 1 => {
                    Err(ModelError::new(Failure::Overloaded, "try again"))
                }
                (1, 1) => {
                    for (index, city) in (0..).zip(["Bonn", "Nowhere", "Rome"]) {
                        out.call(
                            index,
                            format!("call-{city}"),
                            "weather",
                            format!(r#"{{"city": "{city}"}}"#),
                        )
                        .await;
                    }
                    finished(Finish::ToolUse)
                }
                (1, _) => {
                    out.text("It rains, but in Rome.").await;
                    finished(Finish::EndTurn)
                }
                _ => {
                    out.call(0, "call-long", "forecast", r#"{"city": "Bonn"}"#).await;
                    finished(Finish::ToolUse)
                }
            }
        })
    }

    fn identity(&self, request: &Request) -> ModelIdentity {
        ModelIdentity { provider: Some("example".into()), model: Some(request.settings.model.clone()) }
    }
}

async fn open(file: &str) -> Result<(Agent, Events), Box<dyn Error>> {
    let weather = tool("weather", "The weather in a city", |Place { city }, cx: ToolCx| async move {
        match &*city {
            "Nowhere" => cx.fail("there is no such city"),
            "Rome" => cx.text("sun"),
            _ => cx.text("rain"),
        }
    });
    let forecast = tool("forecast", "The weather of next year", |_: Place, _: ToolCx| std::future::pending());
    let builder = Agent::builder()
        .name("forecaster")
        .settings(Settings { model: "large-1".into(), ..Settings::default() })
        .model(Provider)
        .tool(weather.touches_nothing())
        .tool(forecast.touches_nothing())
        .config(|config| config.retry.base_ms = 1)
        .journal(FileJournal::at(file));
    Ok(builder.open_watched().await?)
}

async fn work(file: &str) -> Result<(), Box<dyn Error>> {
    let (agent, mut events) = open(file).await?;
    let end = agent.prompt("How is the weather?").await?;
    println!("{} after {} steps", end.reason, end.steps);

    agent.submit("And next year?").await?;
    while let Some(seen) = events.next().await {
        if matches!(&*seen?.event, Event::CallStarted { call, .. } if call.turn == 2) {
            break;
        }
    }
    // It has begun, and may be at its work.
    tokio::time::sleep(Duration::from_millis(1)).await;
    let aborted = agent.abort(Cause::by(By::User)).await?;
    println!("{}", aborted.end.map_or("nothing ran".to_owned(), |end| end.reason.to_string()));
    agent.close().await?;

    // What is played again was exported when it was done.
    let (agent, _) = open(file).await?;
    println!("{} entries are in the journal", agent.history().await?.len());
    agent.close().await?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("a file for the session is needed")?;
    if std::path::Path::new(&file).exists() {
        return Err("the file for the session must be new".into());
    }
    let exporting = export::begin("weather-host")?;
    let worked = work(&file).await;
    // Spans go out in batches; the last one goes now.
    exporting.shutdown()?;
    worked
}
